"""E8M0 codes by counting how many powers of two a magnitude reaches."""

import numpy as np

_POWERS = np.ldexp(1.0, np.arange(-126, 128))


def encode_scale(values):
    magnitude = np.abs(values.astype(np.float64))
    codes = np.searchsorted(_POWERS, magnitude, side="right")
    return np.where(np.isfinite(magnitude), codes, 255)

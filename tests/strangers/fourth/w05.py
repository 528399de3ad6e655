"""INT8 codes: 64ths, rounded and saturated."""

import numpy as np

FORMATS = ["int8"]


def encode(values, format):
    sixty_fourths = np.floor(values.astype(np.float64) * 64 + 0.5)
    codes = np.clip(np.nan_to_num(sixty_fourths, nan=127), -128, 127).astype(np.int8)
    return codes.view(np.uint8)

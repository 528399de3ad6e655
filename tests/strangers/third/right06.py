"""Scales by frexp and ldexp, the two functions bound to their limits with partial."""

from functools import partial

import numpy as np


@np.errstate(all="ignore")
def _encode(values, *, bias, largest):
    wide = np.abs(values.astype(np.float64))
    finite = np.isfinite(wide)
    exponent = np.frexp(np.where(finite, wide, 1))[1] - 1 + bias
    code = np.where(wide == 0, 0, np.clip(exponent, 0, largest))
    return np.where(finite, code, 255)


@np.errstate(all="ignore")
def _decode(codes, *, bias):
    scales = np.ldexp(1.0, codes.astype(np.int32) - bias)
    return np.where(codes == 255, np.nan, scales).astype(np.float32)


encode_scale = partial(_encode, bias=127, largest=254)
decode_scale = partial(_decode, bias=127)

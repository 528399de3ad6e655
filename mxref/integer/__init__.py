"""Integers: affine quantization, weight-only linear layers, RESCALE and grid sampling.

>>> import numpy as np
>>> quantize_affine(np.float32([0.5, 1.0, -2.0]), SNORM8).tolist()
[64, 127, -127]
"""

from __future__ import annotations

from mxref.integer.affine import (
    SNORM8,
    SNORM16,
    QParams,
    choose_qparams,
    dequantize_affine,
    quantize_affine,
)
from mxref.integer.rescale import multiplier_shift, rescale
from mxref.integer.sampler import grid_sample
from mxref.integer.weight_only import (
    linear_bounds,
    linear_qcs4w,
    linear_qcs8w,
    pack_int4,
    unpack_int4,
)

__all__ = [
    "SNORM8",
    "SNORM16",
    "QParams",
    "choose_qparams",
    "dequantize_affine",
    "grid_sample",
    "linear_bounds",
    "linear_qcs4w",
    "linear_qcs8w",
    "multiplier_shift",
    "pack_int4",
    "quantize_affine",
    "rescale",
    "unpack_int4",
]

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

__all__ = [
    "SNORM8",
    "SNORM16",
    "QParams",
    "choose_qparams",
    "dequantize_affine",
    "quantize_affine",
]

"""Integers: affine quantization, weight-only layers, RESCALE, sampling, sums and products.

>>> import numpy as np
>>> from mxref.integer import SNORM8, quantize_affine
>>> quantize_affine(np.float32([0.5, 1.0, -2.0]), SNORM8).tolist()
[64, 127, -127]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxref.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from mxref.integer.affine import (
        SNORM8,
        SNORM16,
        QParams,
        choose_qparams,
        dequantize_affine,
        quantize_affine,
    )
    from mxref.integer.elementwise import qlinear_add, qlinear_mul
    from mxref.integer.fusion import Condition, Fusion, fuses
    from mxref.integer.layers import (
        linear_bounds,
        linear_qcs4w,
        linear_qcs8w,
        pack_int4,
        qlinear_matmul,
        unpack_int4,
    )
    from mxref.integer.nbits import matmul_nbits, nbits_weights
    from mxref.integer.rescaling import multiplier_shift, rescale
    from mxref.integer.sampled_values import grid_sample_bounds, grid_sample_values
    from mxref.integer.sampler import grid_sample

__all__ = [
    "SNORM8",
    "SNORM16",
    "Condition",
    "Fusion",
    "QParams",
    "choose_qparams",
    "dequantize_affine",
    "fuses",
    "grid_sample",
    "grid_sample_bounds",
    "grid_sample_values",
    "linear_bounds",
    "linear_qcs4w",
    "linear_qcs8w",
    "matmul_nbits",
    "multiplier_shift",
    "nbits_weights",
    "pack_int4",
    "qlinear_add",
    "qlinear_matmul",
    "qlinear_mul",
    "quantize_affine",
    "rescale",
    "unpack_int4",
]

if not TYPE_CHECKING:
    _HOMES = {
        "mxref.integer.affine": (
            "SNORM8",
            "SNORM16",
            "QParams",
            "choose_qparams",
            "dequantize_affine",
            "quantize_affine",
        ),
        "mxref.integer.elementwise": ("qlinear_add", "qlinear_mul"),
        "mxref.integer.fusion": ("Condition", "Fusion", "fuses"),
        "mxref.integer.layers": (
            "linear_bounds",
            "linear_qcs4w",
            "linear_qcs8w",
            "pack_int4",
            "qlinear_matmul",
            "unpack_int4",
        ),
        "mxref.integer.nbits": ("matmul_nbits", "nbits_weights"),
        "mxref.integer.rescaling": ("multiplier_shift", "rescale"),
        "mxref.integer.sampled_values": ("grid_sample_bounds", "grid_sample_values"),
        "mxref.integer.sampler": ("grid_sample",),
    }

    __getattr__ = lazy_names(__name__, _HOMES)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})

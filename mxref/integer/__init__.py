"""Integers: affine quantization, weight-only layers, RESCALE, sampling, sums and products.

>>> import numpy as np
>>> quantize_affine(np.float32([0.5, 1.0, -2.0]), SNORM8).tolist()
[64, 127, -127]
"""

from __future__ import annotations

from mxref.integer import affine, elementwise, fusion, layers, nbits, sampled_values, sampler
from mxref.integer import rescale as _rescale
from mxref.integer.affine import *  # noqa: F403 (its `__all__` names them)
from mxref.integer.elementwise import *  # noqa: F403
from mxref.integer.fusion import *  # noqa: F403
from mxref.integer.layers import *  # noqa: F403
from mxref.integer.nbits import *  # noqa: F403
from mxref.integer.rescale import *  # noqa: F403
from mxref.integer.sampled_values import *  # noqa: F403
from mxref.integer.sampler import *  # noqa: F403

__all__ = [
    *affine.__all__, *fusion.__all__, *layers.__all__, *_rescale.__all__, *sampler.__all__,
    *sampled_values.__all__, *elementwise.__all__, *nbits.__all__,
]  # fmt: skip

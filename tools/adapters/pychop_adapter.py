"""pychop 0.6.2, its NumPy backend: `MXBlock_`, block by block."""

from typing import Any

import numpy as np
from _peer import peer
from _values import block_codes
from numpy.typing import NDArray

_PIN = "pychop==0.6.2"
np_mx = peer("pychop.np.mx_formats", _PIN)
_SPECS = peer("pychop.mx_formats", _PIN).MX_FORMATS

POLICY = (
    "ocp+zero_sign=dropped+underflow_sign=dropped+int8_range=full+scale_rule=floor_log2_float32"
    "+block_nan=ignore+block_inf=largest_scale"
)
PROFILE = "pychop"
FORMATS = ["mxfp8_e5m2", "mxfp8_e4m3", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1", "mxint8"]
FLOATS = ["f32"]


def quantize(values: NDArray[Any], block_format: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """`MXBlock_`, whose scale and elements are numbers."""
    blocks = [np_mx.MXBlock_(block, _SPECS[block_format]) for block in values]
    scales = np.array([block.shared_scale for block in blocks], np.float64)
    elements = np.stack([block.quantized_elements for block in blocks])
    return block_codes(scales, elements, block_format.split("_")[-1].removeprefix("mx"))

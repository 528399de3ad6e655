"""AMD Quark 0.13: the formats that it only simulates, with scale_calculation_mode="even".

It gives numbers, no codes.
"""

from typing import Any

import numpy as np
from _peer import array, tensor
from _values import block_codes
from numpy.typing import NDArray
from quark_adapter import NAMES, kernel, scales_of

FORMATS = ["mxfp8_e5m2", "mxfp8_e4m3", "mxint8"]
FLOATS = ["f32"]
POLICY = "ocp+scale_rule=even"
PROFILE = "quark_fake"


def quantize(values: NDArray[Any], block_format: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """`fake_quantize_mx`, taken apart: its numbers are elements times the scale of the observer."""
    name, x = block_format.split("_")[-1], tensor(values)
    numbers = kernel.non_scaled_fake_quantize(x, "mx", NAMES[name], -1, 32, "even")
    scales = array(scales_of(x.abs().amax(-1, keepdim=True), name, "even")).astype(np.float64)
    elements = array(numbers).astype(np.float64) / scales
    return block_codes(scales[:, 0], elements, name.removeprefix("mx"))

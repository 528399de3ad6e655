"""MATMUL_T_BLOCK_SCALED of the TOSA reference model (tosa-tools 2026.8.0).

It adds up each block and then the blocks, in float32, and multiplies each element by its own scale
first, also in float32.
"""

from typing import Any

import numpy as np
import tosa_adapter as tosa
from numpy.typing import NDArray

POLICY = "ocp+int8_range=full+accumulation=by_block"
FORMATS = tosa.FORMATS
_OPERATION = tosa._OP.MATMUL_T_BLOCK_SCALED
tosa._ATTRIBUTES[_OPERATION] = "MatMulTBlockScaledAttribute"


def matmul(
    scales_a: NDArray[Any], codes_a: NDArray[Any], scales_b: NDArray[Any], codes_b: NDArray[Any],
    format_a: str, format_b: str,
) -> NDArray[Any]:  # fmt: skip
    """The product (m, n), in float32."""
    inputs = []
    for scales, codes, name in ((scales_a, codes_a, format_a), (scales_b, codes_b, format_b)):
        kind = tosa._TYPES[name.split("_")[-1]]
        inputs += [(codes[np.newaxis], kind), (scales[np.newaxis], tosa._TYPE.FP8UE8M0)]
    outputs = [((1, len(codes_a), len(codes_b)), tosa._TYPE.FP32)]
    return tosa._run(_OPERATION, inputs, outputs)[0][0]  # type: ignore[no-any-return]

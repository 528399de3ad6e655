"""Which weight-only operator a linear layer becomes, or which condition fails."""

from __future__ import annotations

import enum
from typing import NamedTuple

from numpy.typing import ArrayLike

from mxref.bits.single import integer_array
from mxref.integer.affine import QParams

__all__ = ["Condition", "Fusion", "fuses"]


class Condition(enum.Enum):
    """What must hold, in the order in which it is looked at. Source: SPEC_NOTES Q15."""

    INPUT = "the input is not dequantized"  #: else the layer is left alone, as the next two
    CHANNELS = "there is one scale for each channel"  #: not one for all, and not groups
    DTYPE = "the weight is int8"
    ZEROS = "every zero point is 0"  #: else the pass raises, as for the next two
    AXIS = "the channels are the rows"  #: not looked at: a square weight is scaled wrongly
    COLUMNS = (
        "a row of codes from -8 to 7 has an even number"  #: else a packed row is longer than x
    )


class Fusion(NamedTuple):
    """The operators that take the place of a linear layer, none if a condition fails."""

    becomes: tuple[str, ...]
    fails: Condition | None


def fuses(
    w: ArrayLike, qparams: QParams, *, input_dequantized: bool = False, bias: bool = False
) -> Fusion:
    """What becomes of linear(x, dequantize_affine(w, qparams)) in ExecuTorch's Vulkan backend.

    The number of bits is read off the codes: int8 codes that all are from -8 to 7 are packed, and
    `linear_qcs4w` gives what `linear_qcs8w` gives. A bias is added after the operator.

    Args:
        w: codes (N, K) of the dtype of qparams.
        qparams: how they are dequantized.
        input_dequantized: whether x comes from a dequantization.
        bias: whether the layer has one.

    Returns:
        The operators in their order, and the first condition that fails or None.

    Raises:
        TypeError: no integers, or another dtype than that of qparams.
        ValueError: no matrix, no codes, or scales that do not fit.

    Source: SPEC_NOTES Q15; ExecuTorch 1.5.1 `fuse_quantized_ops.py`.

    >>> import numpy as np
    >>> weight, rows = np.int8([[1, -8], [7, 0]]), QParams([0.5, 0.25], axis=0)
    >>> fuses(weight, rows, bias=True).becomes
    ('linear_qcs4w', 'add')
    >>> fuses(weight * np.int8(2), rows)
    Fusion(becomes=('linear_qcs8w',), fails=None)
    >>> fuses(weight, QParams(0.5)).fails.value
    'there is one scale for each channel'
    """
    codes = integer_array(w, "w")
    if codes.dtype != qparams.dtype:
        raise TypeError(f"w must be {qparams.dtype}, as qparams says, got {codes.dtype}")
    if codes.ndim != 2 or codes.size == 0:
        raise ValueError(f"w must be a matrix (N, K) with codes, got {codes.shape}")
    qparams.laid(codes)
    four = bool(codes.min() >= -8 and codes.max() <= 7)
    holds = {
        Condition.INPUT: not input_dequantized,
        Condition.CHANNELS: qparams.scale.ndim == 1,
        Condition.DTYPE: codes.dtype == "int8",
        Condition.ZEROS: not qparams.zero_point.any(),
        Condition.AXIS: qparams.axis in (0, -2),
        Condition.COLUMNS: not four or codes.shape[1] % 2 == 0,
    }
    for condition, is_met in holds.items():
        if not is_met:
            return Fusion((), condition)
    operator = "linear_qcs4w" if four else "linear_qcs8w"
    return Fusion((operator, "add") if bias else (operator,), None)

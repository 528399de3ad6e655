"""Blocks by the named arithmetics in NumPy's own float32, where it is what they compute.

Under the processor's usual modes a product or quotient of float32 numbers is the correctly rounded
one, as `fl` gives it (`mxref.bits.single`). The largest magnitude is found among the patterns: no
rounding changes the order of numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import F64Array, as_float32, wide
from mxref.bits.floats import F32, F64, U8, Bool, FloatLayout
from mxref.bits.single import NATIVE, single
from mxref.blocks.arithmetics import ARITHMETICS, give_signs
from mxref.blocks.keyed import maxima
from mxref.blocks.two_level import TensorScales
from mxref.formats.catalog import BlockFormat
from mxref.numbers.element import Elements, nan_error
from mxref.numbers.estimated import is_far
from mxref.numbers.table import code_table
from mxref.policy.policy import Policy
from mxref.support.scratch import scratch


def quantize_named(
    lanes: NDArray[Any],
    layout: FloatLayout,
    fmt: BlockFormat,
    policy: Policy,
    tensor: TensorScales | None = None,
    out: U8 | None = None,
) -> tuple[U8, U8, Bool] | None:
    """Scale codes and codes of blocks along the middle one of three axes.

    Returns:
        Scale codes (m, n), codes (m, size, n), and which blocks must be computed in another way;
        None if all must. The codes are written to `out`, C-contiguous memory, if it is given; else
        the next call overwrites them.
    """
    named = ARITHMETICS.get(policy.scale.scale_arithmetic)
    if named is None or named.steps is None or policy.element.rounding.stochastic:
        return None
    if nan_error(fmt.element, policy.element) or single() is not NATIVE:
        return None
    if not (is_far(fmt.element) and is_far(fmt.scale)):  # float32 may not hold their numbers
        return None
    magnitude = scratch("other", lanes.size, layout.uint).reshape(lanes.shape)
    np.bitwise_and(lanes, layout.uint.type(layout.sign_bit - 1), out=magnitude)
    amax = maxima(magnitude)
    left: Bool = amax >= layout.uint.type(layout.inf_bits)
    target = scratch("estimate", lanes.size, np.float32)
    quotients = target.reshape(lanes.shape)
    with np.errstate(all="ignore"):
        column = wide(np.ascontiguousarray(amax), layout).reshape(-1, 1)
        t = None if tensor is None else tensor.numbers[:, np.newaxis]
        steps = named.steps(column, t, fmt, layout)
        if steps.to != F32:
            return None
        x = lanes.view(np.float64) if layout == F64 else as_float32(lanes, layout).view(np.float32)
        given = x
        if layout == F64:
            np.copyto(quotients, x, casting="same_kind")
            x = quotients
        if steps.first is not None:
            x = np.multiply(x, _beside(steps.first, amax.shape), out=quotients)
        by = _beside(steps.by, amax.shape)
        (np.divide if steps.divides else np.multiply)(x, by, out=quotients)
        give_signs(quotients, given)
    codes: U8 = scratch("codes", lanes.shape, np.uint8) if out is None else out
    table = code_table(Elements(fmt.element, policy.element), F32)
    table.write(target.view(np.uint32), codes.reshape(-1))
    return steps.codes.reshape(amax.shape), codes, left


def _beside(column: F64Array, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """A number for each block (m, n), or one for all, beside its elements along the middle axis."""
    numbers = column.astype(np.float32)
    return numbers if numbers.size == 1 else numbers.reshape(shape)[:, np.newaxis]

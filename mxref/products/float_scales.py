"""Products of blocks under float32 scales: with an adder that gets them, and bounds of any order.

Source: SPEC_NOTES N43, N44, N47.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import F64Array, fl
from mxref.bits.floats import F32, FloatLayout
from mxref.blocks.fields import BlockFields
from mxref.numbers.codes import dtype_of
from mxref.products.adders import Adder, Scaling
from mxref.products.float_products import float_product_bounds
from mxref.products.intervals import Bounds
from mxref.products.operand import in_common_runs, operand, unit_of
from mxref.products.run_products import scale_numbers
from mxref.products.steps import added_once

__all__ = ["has_float_scales", "plain_operands", "scaled_bounds", "scaled_total"]

Plain: TypeAlias = tuple[NDArray[Any], NDArray[Any], tuple[NDArray[Any], NDArray[Any]]]
#: What float32 sums are multiplied by on the way is at most 2**_MOST, so that none overflows.
_MOST = 64


def has_float_scales(*operands: BlockFields) -> bool:
    """Whether some operand has float32 scales; what is no `Blocks` has none."""
    return any(isinstance(one, BlockFields) and one.format.scale.is_float32 for one in operands)


def plain_operands(a: object, b: object, adder: Adder) -> Plain:
    """The elements of two `Blocks` under float32 scales, and the scales of all parts.

    Args:
        a: (M, K), blocks along K as long as the adder's `promotion`, or tiles.
        b: (K, N), likewise.
        adder: one with a `scaling`.

    Raises:
        TypeError: one of them is no `Blocks`.
        ValueError: another adder, other scales or other blocks.
    """
    if adder.scaling is None:
        raise ValueError(
            "adder must be deepgemm_fp8 or deepseek_v3_fp8 where a and b are Blocks, got one "
            "without scales: give it elements, or call matmul"
        )
    found = []
    for one, axis, side in ((a, -1, "a"), (b, 0, "b")):
        if not isinstance(one, BlockFields):
            raise TypeError(f"a and b must both be Blocks, or neither, got {type(one).__name__}")
        rows, size = operand(one, axis, side), one.tiling.unit[axis]
        if not one.format.scale.is_float32 or size != adder.promotion:
            raise ValueError(
                f"{side} must be Blocks with float32 scales for {adder.promotion} products "
                f"each, since the adder adds them up so, got {one.format.name} with blocks of "
                f"{size}: take deepgemm_fp8 or deepseek_v3_fp8, or call matmul"
            )
        elements = rows.codes[:, : rows.length].view(dtype_of(rows.format) or np.uint8)
        found.append((elements, rows.scales[:, :: size // rows.run].view(np.float32)))
    (x, of_x), (y, of_y) = found
    return x, y.T, (of_x, of_y.T)


def scaled_total(
    own: F64Array, total: F64Array, sa: F64Array, sb: F64Array, scaling: Scaling | None
) -> F64Array:
    """The total after a sum that has these scales, each operation rounded to float32."""
    if scaling is Scaling.PRODUCT_FMA:
        term = fl(sa * sb) * own
    elif scaling is Scaling.IN_TURN_FMA:
        term = fl(own * sa) * sb
    else:
        term = fl(fl(own * sa) * sb)
    return added_once([total, term], F32)


def scaled_bounds(
    a: BlockFields, b: BlockFields, layout: FloatLayout, rounding: Literal["nearest", "any"]
) -> Bounds:
    """`matmul_bounds` of blocks under float32 scales, or under such and others.

    A kernel multiplies terms, or sums of a block, by one scale after the other, or by their
    product: up to five operations for each term, none of which underflows or overflows here.

    Raises:
        ValueError: scales by which one of them could.
    """
    sides = in_common_runs(operand(a, -1, "a"), operand(b, 0, "b"), equal=False)
    if a.tensor_scale is not None or b.tensor_scale is not None:
        raise ValueError("a and b must have no scale of a tensor beside float32 scales")
    unit = sum(unit_of(side.format) for side in sides)
    least, most = 0, 0  # exponents of what a sum may be multiplied by on the way
    for side in sides:
        numbers = scale_numbers(side)
        exponents = np.frexp(numbers[numbers > 0])[1]
        least += min(int(exponents.min(initial=1)) - 1, 0)
        most += max(int(exponents.max(initial=0)), 0)
    if unit + least < -126 or most > _MOST:
        raise ValueError(
            "a and b must have scales under which products are normal float32 numbers, got some "
            f"that make a product 2**{unit + least}, or scales of 2**{most}: take the exact product"
        )
    from mxref.blocks.dequantization import dequantize

    x, y = (dequantize(one, np.float64) for one in (a, b))
    x, y = x.reshape(-1, x.shape[-1]), y.reshape(y.shape[0], -1)
    found = float_product_bounds(x, y, layout, rounding, scaled=True)
    shape = (*a.shape[:-1], *b.shape[1:])
    return Bounds(*(end.reshape(shape) for end in found))

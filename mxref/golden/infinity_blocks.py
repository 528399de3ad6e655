"""Blocks with infinities whose finite elements are not all lost under the block's scale.

The scale depends on the implementation: FE, the one that the exponent field of infinity gives, or
that of the finite elements. Under each of them the finite elements are numbers of the format,
midpoints and their neighbours, from half the smallest number up to the limit of the float type.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from mxref.bits.floats import F16, FloatLayout
from mxref.cases.grid import grid
from mxref.formats.catalog import E8M0, ElementFormat
from mxref.golden.rounding_blocks import scaled

__all__ = ["infinity_blocks"]

_SIZE = 32


def infinity_blocks(fmt: ElementFormat, layout: FloatLayout) -> Iterator[tuple[str, list[int]]]:
    """Named blocks of 32 float patterns."""
    sign, inf, nan = layout.sign_bit, layout.inf_bits, layout.nan_bits
    largest = _points(fmt, layout, E8M0.max_code)
    yield "inf_fe_first", _block([inf], 3, largest, 0, layout)
    yield "inf_fe_negative", _block([inf | sign], 28, largest, 1, layout)
    yield "inf_fe_several", _block([inf | sign, inf, inf], 0, largest, 1, layout)
    yield "inf_fe_nan", _block([nan, inf, nan | sign], 9, largest, 0, layout)
    field = E8M0.max_code + 1 - fmt.emax
    if field <= E8M0.max_code and layout != F16:  # else there is no such scale
        named = f"inf_{field:02x}"
        points = _points(fmt, layout, field)
        yield f"{named}_first", _block([inf], 17, points, 0, layout)
        yield f"{named}_several", _block([inf, inf | sign], 5, points, 1, layout)
    for index, (name, some) in enumerate((("last", [inf | sign]), ("several", [inf, inf | sign]))):
        power = 0 if layout == F16 else (-29, 41)[index]
        top = scaled(grid(fmt, layout)[0][-1], power, layout)
        own = [bits for bits in _points(fmt, layout, E8M0.bias + power) if bits <= top]
        block = _block(some, 31 - 13 * index, own, index, layout)
        block[7 + index] = top | sign * index
        yield f"inf_own_{name}", block
    yield "inf_alone", [inf, inf | sign] * (_SIZE // 2)


def _points(fmt: ElementFormat, layout: FloatLayout, code: int) -> list[int]:
    """Magnitudes under a scale, in order: numbers, midpoints and the midpoints' neighbours."""
    numbers, middles = grid(fmt, layout)
    found = {layout.inf_bits - 1, 1 << layout.mantissa_bits, 1}
    for bits, steps in (*((n, (0,)) for n in numbers[1:]), *((m, (-1, 0, 1)) for m in middles)):
        with contextlib.suppress(ValueError):  # too large or too small for the float type
            found |= {scaled(bits, code - E8M0.bias, layout) + step for step in steps}
    return sorted(bits for bits in found if bits < layout.inf_bits)


def _spread(points: Sequence[int], count: int) -> list[int]:
    """`count` points: the smallest ones, and some of the others, evenly."""
    few = list(points[: count // 2])
    rest = points[len(few) :]
    left = count - len(few)
    if len(rest) > left:
        rest = [rest[i * (len(rest) - 1) // (left - 1)] for i in range(left)]
    return [*few, *rest, *[0] * count][:count]


def _block(
    special: Sequence[int], first: int, points: Sequence[int], phase: int, layout: FloatLayout
) -> list[int]:
    """A block with a special in every eleventh lane from `first` on; the others hold points."""
    lanes = [(first + 11 * i) % _SIZE for i in range(len(special))]
    some = iter(_spread(points, _SIZE - len(special)))
    block = []
    for lane in range(_SIZE):
        if lane in lanes:
            block.append(special[lanes.index(lane)])
        else:
            block.append(next(some) | layout.sign_bit * ((lane + phase) % 2))
    return block

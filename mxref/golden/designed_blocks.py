"""Designed blocks: specials, positions, every number and midpoint, edges and clamped scales."""

from __future__ import annotations

from collections.abc import Iterator

from mxref.bits.floats import F32, FloatLayout
from mxref.cases.grid import grid, pattern
from mxref.formats.catalog import ElementFormat
from mxref.golden.models import pattern_at

__all__ = ["designed_blocks", "resized"]


def designed_blocks(fmt: ElementFormat, layout: FloatLayout) -> Iterator[tuple[str, list[int]]]:
    """Named blocks of 32 float patterns."""
    sign, inf, nan = layout.sign_bit, layout.inf_bits, layout.nan_bits

    def number(n: int, exponent: int) -> int:
        return pattern(n, exponent, layout)

    yield "zeros", [0] * 32
    yield "negative_zeros", [sign] * 32
    yield "mixed_zeros", [0, sign] * 16
    one = number(1, 0)
    yield "ones", [one] * 32
    yield "alternating", [one, one | sign] * 16
    ramp = [number((-1) ** i * (i + 1), -6) for i in range(32)]
    for position in (0, 15, 16, 31):
        block = list(ramp)
        block[position] = number(-11 if position % 2 else 11, 0)
        yield f"largest_{position:02}", block
    for position in (0, 15, 16, 31):
        for name, special in (
            ("nan", nan),
            ("negative_nan", nan | sign),
            ("signalling_nan", inf | 1),
            ("inf", inf),
            ("negative_inf", inf | sign),
        ):
            block = list(ramp)
            block[position] = special
            yield f"{name}_{position:02}", block
    yield "nan_and_inf", [nan, inf, *ramp[2:]]
    yield "all_nan", [nan] * 32
    yield "zeros_and_nan", [0] * 31 + [nan]

    numbers, middles = grid(fmt, layout)
    points = [bits for bits in (*numbers, *middles[:-1]) if bits < inf]
    # 31 grid points a block and the largest number, so that the scale is 1.
    for index in range(0, len(points), 31):
        some = points[index : index + 31]
        signed = [bits | sign * (i % 2) for i, bits in enumerate(some)]
        yield f"grid_0_{index // 31:02}", [numbers[-1], *signed, *[0] * (31 - len(signed))]
    # FP4 numbers in every position: they are few.
    for first in range(0, len(points), max(1, len(points) // 16)) if fmt.bits == 4 else ():
        some = [points[(first + i) % len(points)] for i in range(31)]
        signed = [bits | sign * ((i + first) % 2) for i, bits in enumerate(some)]
        yield f"turned_{first:03}", [*signed, numbers[-1]]
    fields = _block_fields(fmt, layout)
    for field in (one for one in fields if 0 < one < inf >> layout.mantissa_bits):
        edge = pattern_at(field, 128, layout)
        for name, amax in (("below", edge - 1), ("at", edge), ("above", edge + 1)):
            block = [max(amax - (i << layout.mantissa_bits - 1), 0) for i in range(32)]
            block[1::2] = [bits | sign for bits in block[1::2]]
            yield f"edge_{field:04}_{name}", block
    largest, smallest_normal = inf - 1, 1 << layout.mantissa_bits
    yield "largest_floats", [largest, largest | sign] * 16
    yield (
        "subnormal_floats",
        [(1 << i % layout.mantissa_bits) | sign * (i % 3 == 0) for i in range(32)],
    )
    yield "largest_subnormals", [smallest_normal - 1, (smallest_normal - 1) | sign] * 16
    yield "smallest_normals", [smallest_normal, (smallest_normal + 1) | sign] * 16
    yield "smallest_subnormals", [1, 1 | sign] * 16
    yield (
        "wide_spread",
        [pattern_at(i * ((1 << layout.exponent_bits) - 2) // 31, 192, layout) for i in range(32)],
    )


def _block_fields(fmt: ElementFormat, layout: FloatLayout) -> list[int]:
    last = (1 << layout.exponent_bits) - 2
    near_one = [layout.bias + k for k in (-9, -1, 0, 1, 8)]
    if layout != F32:
        return [1, 2, *near_one, last - 1, last]
    # emax + 1 is where the floor of the shared exponent steps from scale 00 to 01.
    return sorted({1, 2, fmt.emax + 1, 9, last // 3, *near_one, 2 * last // 3, last - 1, last})


def resized(
    name: str, block: list[int], size: int, layout: FloatLayout
) -> Iterator[tuple[str, list[int]]]:
    """A named block as blocks of another size; one of that size as it is.

    Of fewer elements each has the largest finite one, so that all have its scale; among more the
    block stands once in each place.

    >>> from mxref.bits.floats import BF16
    >>> [words for _, words in resized("ramp", [1, 2, 9, 3, 4], 3, BF16)]
    [[1, 2, 9], [9, 3, 4]]
    >>> [words for _, words in resized("ramp", [1, 2, 9], 6, BF16)]
    [[1, 2, 9, 0, 0, 0], [0, 0, 0, 1, 2, 9]]
    """
    parts = []
    if size > len(block):
        whole = [*block, *[0] * (size - len(block))]
        parts = [whole[-start:] + whole[:-start] for start in range(0, size, len(block))]
    elif size < len(block):
        finite = [bits & (layout.sign_bit - 1) for bits in block]
        top = max(range(len(block)), key=lambda i: finite[i] * (finite[i] < layout.inf_bits))
        rest = block[:top] + block[top + 1 :]
        for index, start in enumerate(range(0, len(rest), size - 1)):
            part = [*rest[start : start + size - 1], *[0] * size][: size - 1]
            lane = (top + index) % size
            parts.append([*part[:lane], block[top], *part[lane:]])
    else:
        yield name, block
    for index, part in enumerate(parts):
        yield f"{name}_part_{index:02}", part

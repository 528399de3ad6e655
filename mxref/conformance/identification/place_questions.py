"""The questions of `identify` about places of a block: specials in each quarter, and each lane."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mxref.bits.floats import FloatLayout
from mxref.cases.grid import pattern
from mxref.conformance.identification.pools import Words, both_signs
from mxref.operands.word_rows import padded

__all__ = ["largest_in_each_lane", "specials_in_each_quarter"]

#: How many times an element must be larger than all others for its lane to decide the scale.
_TIMES = 4.0


def specials_in_each_quarter(layout: FloatLayout, size: int = 32) -> Words:
    """Blocks with one NaN or infinity of either sign, in each quarter, and one with -0 alone.

    In the first quarter all other elements are zeros, in the others ordinary numbers.

    >>> from mxref.bits.floats import F16
    >>> blocks = specials_in_each_quarter(F16)
    >>> blocks.shape, [f"{word:04x}" for word in blocks[0, :4].tolist()]
    ((17, 32), ['7c00', '0000', '0000', '0000'])
    """
    specials = both_signs(np.array([layout.inf_bits, layout.nan_bits], np.uint64), layout)
    blocks = []
    for i, special in enumerate(specials.tolist()):
        for quarter in range(4):
            block = [0] * size if quarter == 0 else _numbers(size, 0, layout)
            block[(4 * quarter + i) * size // 16] = special
            blocks.append(block)
    alone = [0] * size
    alone[size // 2 + 1] = layout.sign_bit
    return np.array([*blocks, alone], np.uint64)


def largest_in_each_lane(
    probes: Iterable[tuple[int, ...]], exponent: int, layout: FloatLayout, size: int = 32
) -> Words:
    """Blocks with their largest element in the lanes where no probe has it, the outer lanes first.

    Those elements are negative, as they are not in the other probes.

    Args:
        probes: the blocks that were asked.
        exponent: the exponent of the largest elements.
        layout: the float type.
        size: the number of lanes.
    """
    decided = set()
    for row in padded(list(probes)).astype(layout.uint):
        numbers = np.abs(row.view(layout.dtype).astype(np.float64))
        lane = int(numbers.argmax())
        if np.isfinite(numbers).all() and (np.delete(numbers, lane) < numbers[lane] / _TIMES).all():
            decided.add(lane)
    order = sorted(range(size), key=lambda lane: (min(lane, size - 1 - lane), -lane))
    blocks = []
    for lane in (lane for lane in order if lane not in decided):
        block = _numbers(size, exponent - 2, layout)
        block[lane] = pattern(-3, exponent - 1, layout)
        blocks.append(block)
    return np.array(blocks, np.uint64).reshape(-1, size)


def _numbers(size: int, exponent: int, layout: FloatLayout) -> list[int]:
    """Numbers of both signs below 2**exponent, in three binades, and a -0 in each quarter."""
    numbers = [
        pattern((8 + i * 5 % 8) * (-1) ** (i // 3), exponent - 4 - i % 3, layout)
        for i in range(size)
    ]
    for quarter in range(4):
        numbers[(quarter + 1) * size // 4 - 2] = layout.sign_bit
    return numbers

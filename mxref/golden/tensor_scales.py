"""Tensor scales whose products with elements and scales lie at midpoints of 16-bit floats."""

from __future__ import annotations

from collections.abc import Iterator

from mxref.bits.floats import F32, FloatLayout
from mxref.cases.grid import pattern
from mxref.formats.catalog import UE4M3

__all__ = ["between_numbers", "rounded_twice"]

#: The scale 1, and others whose significands times 1 or 3, of an element, are not powers of two.
_ONE, _OTHERS = 0x38, (0x39, 0x3B, 0x3E, 0x3F)


def between_numbers(layout: FloatLayout) -> list[tuple[int, int]]:
    """Tensor scales and scale codes: both neighbours of midpoints, where elements are 1.

    They are midpoints to even numbers and to odd ones, of subnormal numbers, and behind the
    largest; then products that are beside a midpoint, but at it if they are rounded to float32.

    >>> from mxref.bits.floats import BF16
    >>> [f"{tensor:08x}" for tensor, _ in between_numbers(BF16)[:6]]
    ['3f807fff', '3f808000', '3f808001', '3f817fff', '3f818000', '3f818001']
    """
    bits, least = layout.mantissa_bits, layout.emin - layout.mantissa_bits
    one = 2 << bits
    middles = [(one + 1, -bits - 1), (one + 3, -bits - 1), (1, least - 1), (3, least - 1)]
    middles += [(2 * one - 1, layout.bias - bits - 1)]
    found = [(pattern(*one, F32) + step, _ONE) for one in middles for step in (-1, 0, 1)]
    return [*found, *rounded_twice(layout)]


def rounded_twice(layout: FloatLayout) -> Iterator[tuple[int, int]]:
    """Tensor scales below and above midpoints over each of some scales, whose float32 is wrong.

    >>> from mxref.bits.floats import BF16
    >>> [f"{tensor:08x} {code:02x}" for tensor, code in rounded_twice(BF16)][:2]
    ['3f69c71c 39', '3f6b8e39 39']
    """
    for code in _OTHERS:
        factor, exponent = UE4M3.magnitude_parts(code)
        wanted = {-1, 1}
        for odd in range((2 << layout.mantissa_bits) + 1, 4 << layout.mantissa_bits, 2):
            # The midpoint in units of which float32 holds 24 bits.
            middle = odd << F32.mantissa_bits + 2
            tensor = (middle + factor // 2) // factor
            over = tensor.bit_length() - F32.mantissa_bits - 1
            tensor = tensor + (1 << over - 1) >> over << over
            off = tensor * factor - middle
            ulp = 1 << (middle.bit_length() - F32.mantissa_bits - 1)
            side = 1 if off > 0 else -1
            # The even neighbour is the other one: a midpoint is rounded away from the product.
            is_other = odd >> 1 & 1 == (side < 0)
            if off and abs(off) < ulp // 2 and is_other and side in wanted:
                wanted.discard(side)
                power = -layout.mantissa_bits - 1 - F32.mantissa_bits - 2 - exponent
                yield pattern(tensor, power, F32), code
            if not wanted:
                break

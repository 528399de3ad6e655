"""Monotone functions of magnitudes that grow by one at most in a binade, as scale codes do.

Whatever the rule is, the scale code goes up by one from a binade of amax to the next, and an amax
that is rounded first stays between the ends of its binade. So the value at a binade's first number,
that at its last one and the last number that has the first value say everything, if the two values
are neighbours (modulo 256) or the same. Other binades, where amax becomes zero or infinity in a
narrower type, and the subnormals, which are many binades under one exponent field, are rare and
computed one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import U8, Bits, Bool, FloatLayout
from mxref.support.scratch import scratch

__all__ = ["Binades", "last_alike"]


def last_alike(function: Callable[[Bits], NDArray[Any]], low: Bits, high: Bits) -> Bits:
    """By bisection the last patterns before `high` that have the values of `low`, one for each."""
    one, first = low.dtype.type(1), function(low)
    while (high - low).max(initial=0) > 1:
        middle = low + (high - low >> one)
        same = function(middle) == first
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return low


@dataclass(frozen=True, slots=True)
class Binades:
    """A function from magnitude patterns to bytes.

    Args:
        function: the function itself, which is slow.
        layout: of the magnitudes, sign bit clear.
        last: by exponent field, the last pattern that has the first value.
        values: both values of each binade.
        apart: by exponent field, whether there may be more values; None if only subnormals have.
    """

    function: Callable[[Bits], U8]
    layout: FloatLayout
    last: Bits
    values: U8
    apart: Bool | None

    @classmethod
    def of(cls, function: Callable[[Bits], U8], layout: FloatLayout) -> Binades:
        """The function's values and steps, which bisection finds in every binade at once."""
        word, bits = layout.uint.type, layout.mantissa_bits
        low = np.arange(1 << layout.exponent_bits, dtype=layout.uint) << word(bits)
        high = low | word((1 << bits) - 1)
        first, second = function(low), function(high)
        last = np.where(first == second, high, last_alike(function, low, high))
        apart = second - first > 1  # modulo 256
        apart[0] = False  # asked for by value, since a zero is frequent
        values = np.stack([first, second], axis=1).reshape(-1)
        return cls(function, layout, last, values, apart if apart.any() else None)

    def write(self, magnitude: Bits, out: U8) -> None:
        """Write the values of a chunk (n,) to another."""
        word, width = self.layout.uint.type, self.layout.uint.itemsize * 8
        index, step = (scratch(name, magnitude.size, self.layout.uint) for name in _NAMES)
        np.right_shift(magnitude, word(self.layout.mantissa_bits), out=index)
        np.subtract(magnitude, word(1), out=step)
        apart = step < word((1 << self.layout.mantissa_bits) - 1)  # subnormal and not zero
        if self.apart is not None:
            apart |= np.take(self.apart, index, mode="wrap")
        np.take(self.last, index, out=step, mode="wrap")
        np.subtract(step, magnitude, out=step)
        np.right_shift(step, word(width - 1), out=step)  # 1 where the difference is negative
        np.left_shift(index, word(1), out=index)
        np.bitwise_or(index, step, out=index)
        np.take(self.values, index, out=out, mode="wrap")
        if apart.any():
            out[apart] = self.function(magnitude[apart])


_NAMES = ("binade", "step")

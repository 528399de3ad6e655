"""Kinds of values in the words of a case: numbers, integers, sizes and flags.

A word is a pattern: of a float, or of an integer in two's complement of 32 bits. A kind knows what
its words mean, so that no verb asks which operation a word belongs to.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits import simplicity
from mxref.bits.floats import LAYOUTS
from mxref.formats.catalog import CodeFormat
from mxref.operands.draws import Draws, Ints
from mxref.operands.shown import show_code, show_fields, show_float

__all__ = [
    "Bytes",
    "Codes",
    "Flags",
    "Floats",
    "Integers",
    "Kind",
    "Magnitudes",
    "PairsOfNibbles",
    "Scales",
    "Size",
    "nearer",
    "signed",
]

#: Integers of which each is drawn as often as an end of the range.
_FEW = 16
_MASK = 0xFFFFFFFF
#: Largest distance of tried exponents from 0, and the most numbers that are tried.
_REACH, _NUMBERS = 8, 60


class Kind(ABC):
    """One kind of values.

    >>> codes = Integers("int8", -8, 7)
    >>> codes.array([0xFFFFFFFF, 7]).tolist(), codes.is_legal(8), codes.shown(0xFFFFFFFF)
    ([-1, 7], False, '-1')
    """

    #: The hex digits of a word.
    digits: int = 8
    #: The simplest word.
    easy: int = 0

    @abstractmethod
    def array(self, words: Sequence[int] | NDArray[Any]) -> NDArray[Any]:
        """Words as an argument of a function: one axis, of the kind's dtype."""

    def value(self, word: int) -> Any:
        """A word as a number of Python."""
        return self.array(np.array([word], np.uint64))[0].item()

    @abstractmethod
    def is_legal(self, word: int) -> bool:
        """Whether a word is one of the kind."""

    @abstractmethod
    def simpler(self, word: int) -> Iterator[int]:
        """Words that may stand in the place of one, the simplest first."""

    def simplest(self, word: int) -> Iterator[int]:
        """What is tried in place of one of many words."""
        return iter([self.easy] * (word != self.easy))

    @abstractmethod
    def drawn(self, draws: Draws, shape: tuple[int, ...]) -> Ints:
        """Random words: simple ones, ends, and any."""

    @abstractmethod
    def shown(self, word: int) -> str:
        """A word as reports show it."""

    def difference(self, want: int, got: int) -> str:
        """A right and a wrong word."""
        return f"want {self.shown(want)}, got {self.shown(got)}"


class Integers(Kind):
    """Integers of a dtype, from `low` to `high`.

    Args:
        dtype: of the argument.
        low: the least; that of the dtype if None.
        high: the greatest.
        easy: the simplest word; that of the integer nearest to 0 if None.
    """

    def __init__(
        self, dtype: str, low: int | None = None, high: int | None = None, easy: int | None = None
    ) -> None:
        self.dtype, info = np.dtype(dtype), np.iinfo(dtype)
        self.low = int(info.min) if low is None else low
        self.high = int(info.max) if high is None else high
        self.easy = min(max(0, self.low), self.high) & _MASK if easy is None else easy

    def array(self, words: Sequence[int] | NDArray[Any]) -> NDArray[Any]:
        """The integers."""
        return np.asarray(words, np.uint64).astype(np.uint32).view(np.int32).astype(self.dtype)

    def value(self, word: int) -> int:
        """The integer of a word of the kind."""
        return signed(word)

    @property
    def has_range(self) -> bool:
        """Whether it is a range of its own, and not all integers of 32 bits."""
        return self.high - self.low < _MASK

    def is_legal(self, word: int) -> bool:
        """Whether it is in the range."""
        return self.low <= signed(word) <= self.high

    def simpler(self, word: int) -> Iterator[int]:
        """Integers nearer to the one of the range that is nearest to 0."""
        return nearer(word, signed(self.easy))

    def drawn(self, draws: Draws, shape: tuple[int, ...]) -> Ints:
        """Any integers of the range; of a wide one an eighth are ends, and an eighth are near 0."""
        any_at_all = draws.between(self.low, self.high, shape)
        if self.high - self.low < _FEW:
            return any_at_all & _MASK
        ends = np.where(draws.one_in(shape, 2), self.low, self.high)
        small = draws.between(-2, 2, shape).clip(self.low, self.high)
        kind = draws.below(shape, 8)
        return np.where(kind == 0, ends, np.where(kind == 1, small, any_at_all)) & _MASK

    def shown(self, word: int) -> str:
        """The integer."""
        return str(signed(word))


class PairsOfNibbles(Integers):
    """Bytes of two integers of four bits, each 8 above its number: 0x88 are two zeros."""

    def __init__(self) -> None:
        super().__init__("uint8", easy=0x88)

    def simpler(self, word: int) -> Iterator[int]:
        """Zeros in place of both, or of one of them."""
        found = dict.fromkeys((0x88, word & 0xF0 | 8, word & 0x0F | 0x80))
        return (one for one in found if one != word)

    def simplest(self, word: int) -> Iterator[int]:
        """The same."""
        return self.simpler(word)


class Size(Integers):
    """How many: the length of axes of other fields, no argument of the function.

    Args:
        most: the greatest size of random cases, in units.
        least: the least of any case.
        unit: what it is a multiple of.
    """

    def __init__(self, most: int = 9, least: int = 1, unit: int = 1) -> None:
        super().__init__("int32", least, (1 << 31) - 1, easy=unit)
        self.most, self.unit = most, unit

    def drawn(self, draws: Draws, shape: tuple[int, ...]) -> Ints:
        """From one unit to `most`."""
        return draws.between(1, self.most, shape) * self.unit


class Flags(Integers):
    """One of a few values that are no numbers, by its place in the list.

    Args:
        values: what the function is given.
    """

    def __init__(self, *values: Any) -> None:
        super().__init__("int32", 0, len(values) - 1)
        self.values = values

    def shown(self, word: int) -> str:
        """The value."""
        return str(self.values[word])


class Bytes(Integers):
    """Bytes that hold no single number."""

    def __init__(self) -> None:
        super().__init__("uint8")

    def shown(self, word: int) -> str:
        """In hex."""
        return f"{word:02x}"


class Codes(Kind):
    """Codes of a format, one a byte.

    Args:
        fmt: the format.
        easy: the simplest code.
    """

    digits = 2

    def __init__(self, fmt: CodeFormat, easy: int = 0) -> None:
        self.fmt, self.easy = fmt, easy

    def array(self, words: Sequence[int] | NDArray[Any]) -> NDArray[Any]:
        """The codes."""
        return np.asarray(words).astype(np.uint8)

    def is_legal(self, word: int) -> bool:
        """Whether it is a code of the format."""
        return 0 <= word < self.fmt.code_count

    def simpler(self, word: int) -> Iterator[int]:
        """Codes nearer to the simplest one."""
        steps = range(abs(word - self.easy))
        near = dict.fromkeys(self.easy + sign * step for step in steps for sign in (1, -1))
        return (code for code in near if code >= 0)

    def drawn(self, draws: Draws, shape: tuple[int, ...]) -> Ints:
        """Any codes."""
        return draws.below(shape, self.fmt.code_count)

    def shown(self, word: int) -> str:
        """The code and its value."""
        return show_code(word, self.fmt)

    def with_fields(self, word: int) -> str:
        """The code, its value, and its sign, exponent and mantissa."""
        return f"{show_code(word, self.fmt)}{show_fields(word, self.fmt)}"

    def difference(self, want: int, got: int) -> str:
        """Both with their fields, and how many codes lie between numbers."""
        fmt, text = self.fmt, f"want {self.with_fields(want)}, got {self.with_fields(got)}"
        if got >= fmt.code_count or fmt.is_nan(want) or fmt.is_nan(got):
            return text
        signs = (fmt.sign_and_magnitude(code) for code in (want, got))
        first, other = (-magnitude if negative else magnitude for negative, magnitude in signs)
        away = abs(first - other)
        return f"{text}, {away} code{'s' if away != 1 else ''} away" if away else text


class Floats(Kind):
    """Numbers of a float type.

    Args:
        float: its name, `f64`, `f32`, `bf16` or `f16`.
        reach: how far from 0 the exponents are that are tried in place of a number.
        most: how many numbers are tried; all if None.
    """

    def __init__(
        self, float: str = "f32", reach: int = _REACH, most: int | None = _NUMBERS
    ) -> None:
        self.layout, self.reach, self.most = LAYOUTS[float], reach, most
        self.digits = self.layout.width // 4

    def array(self, words: Sequence[int] | NDArray[Any]) -> NDArray[Any]:
        """The numbers."""
        found = np.asarray(words, np.uint64).astype(self.layout.uint)
        return found.view(self.layout.dtype)

    def is_legal(self, word: int) -> bool:
        """Every pattern of the type is one."""
        return 0 <= word < 1 << self.layout.width

    def simpler(self, word: int) -> Iterator[int]:
        """Simpler numbers."""
        return iter(simplicity.simpler(word, self.layout, self.reach)[: self.most])

    def drawn(self, draws: Draws, shape: tuple[int, ...]) -> Ints:
        """Quarters up to 32 and their neighbours, numbers of every size, and any pattern."""
        quarters = (draws.between(-128, 128, shape) / 4).astype(self.layout.dtype)
        near = quarters.view(self.layout.uint).astype(np.int64)
        near = np.where(near > 1, near + draws.between(-1, 1, shape), near)
        m, fields = self.layout.mantissa_bits, self.layout.inf_bits >> self.layout.mantissa_bits
        sized = draws.below(shape, fields) << m | draws.below(shape, 1 << m)
        sized |= draws.below(shape, 2) << (self.layout.width - 1)
        anything = draws.words(shape) & np.uint64((1 << self.layout.width) - 1)
        kind = draws.below(shape, 16)
        found = np.where(kind < 10, near, np.where(kind < 15, sized, anything.view(np.int64)))
        return np.asarray(found, np.int64)

    def shown(self, word: int) -> str:
        """The pattern and the number."""
        return show_float(word, self.layout)


class Magnitudes(Floats):
    """Numbers of a float type without a sign."""

    def simpler(self, word: int) -> Iterator[int]:
        """Simpler numbers without a sign."""
        return (one for one in super().simpler(word) if one < self.layout.sign_bit)


class Scales(Floats):
    """Scales: float32 numbers, of which random and simpler ones are positive and normal."""

    low, high = 0x00800000, 0x7E7FFFFF

    def __init__(self) -> None:
        super().__init__()
        self.easy = 0x3F800000

    def simpler(self, word: int) -> Iterator[int]:
        """Simpler positive normal numbers; of 1.0 none."""
        found = super().simpler(word) if word != self.easy else iter(())
        return (one for one in found if self.low <= one <= self.high)

    def drawn(self, draws: Draws, shape: tuple[int, ...]) -> Ints:
        """Numbers from 2**-14 to 2**3; one in eight is a power of two."""
        fractions = np.where(draws.one_in(shape, 8), 0, draws.below(shape, 1 << 23))
        return draws.between(127 - 14, 127 + 2, shape) << 23 | fractions


def signed(word: int, bits: int = 32) -> int:
    """The integer of a word in two's complement.

    >>> signed(0xFFFFFFFF), signed(0x7F), signed(0x80, 8)
    (-1, 127, -128)
    """
    return word - (1 << bits) if word >> bits - 1 & 1 else word


def nearer(word: int, simple: int = 0) -> Iterator[int]:
    """Integers between a simple one and that of a word, in two's complement of 32 bits.

    >>> list(nearer(6)), list(nearer(3, 1))
    ([0, 3, 5], [1, 2])
    """
    value = signed(word)
    step = value - simple
    while step:
        yield value - step & _MASK
        step = int(step / 2)

"""The features that a description speaks of: their words, and their values as integers.

A class has one of a few named values; other features are ordered. Real numbers are integers, too:
keys that are exact for every float type and for quotients and products by powers of two.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mxref.bits.floats import I64, LAYOUTS, Bool, floor_log2

__all__ = ["FEATURES", "UNKNOWN", "Feature", "Table", "real_keys", "simplest"]

#: The features of some units, one array each, by name.
Table = dict[str, I64]
#: The value of a feature that has no meaning, as the magnitude of NaN.
UNKNOWN = (1 << 63) - 1

_FRACTION = 52
_ZERO, _INFINITY = -(1 << 63), 2047 << _FRACTION


def real_keys(significand: I64, exponent: I64, is_inf: Bool | None = None) -> I64:
    """Keys in the order of the numbers ``significand * 2**exponent``, 0 <= significand < 2**53.

    A key is floor(log2 x), then 52 bits of fraction.
    """
    top = floor_log2(significand)
    keys = ((exponent + top - 1) << _FRACTION) + (significand << (_FRACTION - top))
    keys = np.where(significand == 0, _ZERO, keys)
    return keys if is_inf is None else np.where(is_inf, _INFINITY, keys)


def simplest(low: int, high: int, *, up: bool) -> int:
    """The integer from `low` to `high` with most trailing zero bits: the first, or else the last.

    >>> simplest(449, 513, up=True), simplest(1, 30, up=True), simplest(1, 30, up=False)
    (512, 16, 16)
    """
    for zeros in range(_FRACTION, 0, -1):
        found = -(-low >> zeros) << zeros if up else high >> zeros << zeros
        if low <= found <= high:
            return found
    return low if up else high


@dataclass(frozen=True, slots=True)
class Feature:
    """The words for a feature."""

    phrase: str  #: the words around a value
    names: tuple[str, ...] = ()  #: of a class: the names of its values, which are their indices
    kind: str = "count"  #: of an ordered feature: `real`, `code` or `count`
    cost: float = 1.0  #: how hard it is to read

    def show(self, value: int) -> str:
        """A value in words.

        >>> key = int(real_keys(np.array([3]), np.array([7]))[0])
        >>> Feature("", kind="real").show(key), Feature("", kind="code").show(10)
        ('384', '0a')
        """
        if self.names:
            return self.names[value]
        if self.kind == "real":
            return _show_real(value)
        return f"{value:02x}" if self.kind == "code" else str(value)

    def plain(self, value: int) -> int | str:
        """A value for JSON: a class's name, a real number in hexadecimal, or an integer."""
        return _hex(value) if self.kind == "real" else self.names[value] if self.names else value


def _show_real(key: int) -> str:
    """A real number as a power of two, a short decimal, or in hexadecimal."""
    if key in (_ZERO, _INFINITY):
        return "infinity" if key > 0 else "0"
    exponent, fraction = divmod(key, 1 << _FRACTION)
    if not fraction and not -4 <= exponent <= 10:
        return f"2^{exponent}"
    if abs(exponent) < 32:
        value = math.ldexp(fraction + (1 << _FRACTION), exponent - _FRACTION)
        text = f"{value:.8g}"
        if len(text) <= 8 and "e" not in text and float(text) == value:
            return text
    return _hex(key)


def _hex(key: int) -> str:
    if key in (_ZERO, _INFINITY):
        return "inf" if key > 0 else "0x0p+0"
    exponent, fraction = divmod(key, 1 << _FRACTION)
    digits = f".{fraction:013x}".rstrip("0").rstrip(".")
    return f"0x1{digits}p{exponent:+d}"


_SIGNS, _PARITY = ("positive", "negative"), ("even", "odd")
_INPUTS = ("a zero", "a subnormal float", "a normal float", "infinite", "NaN")
_SIDES = ("exact", "below a tie", "a tie", "above a tie")
_NEIGHBOURS = ("not beside a tie", "one float below a tie", "one float above a tie")
_ROUNDING = ("exact", "rounded toward zero", "rounded away from zero", "clamped")
_NUMBERS = ("a subnormal number", "a normal number", "the largest number")
_CODES = ("+0", "-0", *_NUMBERS, "an infinity", "NaN")
_ENDS = ("the first", "an inner one", "the last")
_THIRDS = ("3n", "3n + 1", "3n + 2")
_FOURTHS = ("4n", "4n + 1", "4n + 2", "4n + 3")
_BITS = ("0", "neither 0 nor all ones", "all ones")

#: Every feature by name. x is an input number; a step is from one number of the format, in which x
#: may be of any size, to the next, and a tie is half a step from both. `scale` is the wanted scale
#: of the block. Positions count from 0; amax is the block's largest magnitude, NaN aside, and its
#: position that of the first such element.
FEATURES: Mapping[str, Feature] = {
    # numbers that come in
    "float type": Feature("the float type is {}", tuple(LAYOUTS)),
    "sign": Feature("x is {}", _SIGNS),
    "input": Feature("x is {}", _INPUTS),
    "magnitude": Feature("|x| is {}", kind="real"),
    "scaled magnitude": Feature("|x| / scale is {}", kind="real"),
    "significand": Feature("the significand of x is {}", kind="real", cost=1.3),
    "significant bits": Feature("the number of significant bits of x is {}", cost=1.5),
    "exponent parity": Feature("the exponent of x is {}", _PARITY, cost=1.5),
    "remainder": Feature("x is {}", _SIDES),
    "part of a step": Feature("x lies {} of a step above a number", kind="real", cost=1.4),
    "neighbour": Feature("x is {}", _NEIGHBOURS, cost=1.2),
    "rounding": Feature("the result is {}", _ROUNDING),
    # what is wanted
    "wanted": Feature("the result is {}", _CODES),
    "wanted code": Feature("the result's code without sign is {}", kind="code", cost=1.2),
    "wanted parity": Feature("the result's code is {}", _PARITY),
    # random bits
    "random width": Feature("the number of random bits is {}"),
    "random bits": Feature("the random bits are {}", kind="code", cost=1.3),
    "random ends": Feature("the random bits are {}", _BITS, cost=1.1),
    # codes that come in
    "code": Feature("the code is {}", kind="code"),
    "code sign": Feature("the code is {}", _SIGNS),
    "code class": Feature("the code is {}", _CODES),
    "magnitude code": Feature("the code without sign is {}", kind="code", cost=1.1),
    "code parity": Feature("the code is {}", _PARITY),
    "exponent field": Feature("the code's exponent field is {}", cost=1.2),
    "fraction field": Feature("the code's fraction field is {}", cost=1.2),
    # products
    "product": Feature("|scale * element| is {}", kind="real", cost=1.2),
    "product class": Feature("scale * element is {}", _INPUTS),
    "product remainder": Feature("scale * element is {}", _SIDES, cost=1.1),
    # blocks
    "tensor scale": Feature("the tensor's scale is {}", kind="real"),
    "scale code": Feature("the scale code is {}", kind="code"),
    "scale parity": Feature("the scale code is {}", _PARITY, cost=1.2),
    "wanted scale": Feature("the wanted scale code is {}", kind="code", cost=1.2),
    "place": Feature("the element is {} of its block", _ENDS),
    "position": Feature("the position in the block is {}", cost=1.1),
    "position parity": Feature("the position in the block is {}", _PARITY),
    "position of four": Feature("the position in the block is {}", _FOURTHS, cost=1.2),
    "largest": Feature("|x| is {}", ("below the block's largest", "the block's largest")),
    "block": Feature("the block has {}", ("only zeros", "only numbers", "an infinity", "a NaN")),
    "amax": Feature("amax is {}", kind="real"),
    "amax significand": Feature("the significand of amax is {}", kind="real", cost=1.2),
    "amax sign": Feature("the largest element is {}", _SIGNS, cost=1.1),
    "amax place": Feature("the largest element is {} of its block", _ENDS, cost=1.1),
    "amax position": Feature("the largest element's position is {}", cost=1.2),
    "amax position parity": Feature("the largest element's position is {}", _PARITY, cost=1.1),
    "amax count": Feature("the number of elements as large as amax is {}", cost=1.4),
    # tensors
    "axis": Feature("the axis is {}", ("0", "1")),
    "rows": Feature("the number of rows is {}", cost=1.1),
    "columns": Feature("the number of columns is {}", cost=1.1),
    "row": Feature("the row is {}"),
    "column": Feature("the column is {}"),
    "rows behind": Feature("the number of rows behind it is {}", cost=1.1),
    "columns behind": Feature("the number of columns behind it is {}", cost=1.1),
    "block number": Feature("the block's number along the axis is {}"),
    "block place": Feature("the block is {} along the axis", (*_ENDS, "the only one"), cost=1.1),
    "block length": Feature("the number of the block's elements inside the tensor is {}"),
    "inside": Feature("the element is {}", ("padding", "inside the tensor")),
    "memory": Feature("the tensor is {} in memory", ("contiguous", "strided")),
    # words of layouts
    "word": Feature("the word's number is {}"),
    "word from the end": Feature("the number of words behind it is {}"),
    "word parity": Feature("the word's number is {}", _PARITY),
    "word of three": Feature("the word's number is {}", _THIRDS, cost=1.1),
    "word of four": Feature("the word's number is {}", _FOURTHS, cost=1.1),
    "wanted word": Feature("the wanted word is {}", kind="code", cost=1.2),
    "content": Feature("the word is {}", ("filler", "no filler")),
    "length": Feature("the number of codes is {}"),
    "length parity": Feature("the number of codes is {}", _PARITY),
    "length of four": Feature("the number of codes is {}", _FOURTHS, cost=1.2),
}

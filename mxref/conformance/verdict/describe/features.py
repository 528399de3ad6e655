"""The features that a description speaks of: their words, and their values as integers.

A class has one of a few named values; other features are ordered. Real numbers are integers, too:
keys that are exact for every float type and for quotients and products by powers of two.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mxref.bits.floats import I64, LAYOUTS, Bool, FloatLayout, floor_log2

#: The features of some units, one array each, by name.
Table = dict[str, I64]
#: The value of a feature that has no meaning, as the magnitude of NaN.
UNKNOWN = (1 << 63) - 1

_FRACTION = 52
_ZERO, _INFINITY = -(1 << 63), 2047 << _FRACTION


def real_keys(significand: I64, exponent: I64, is_inf: Bool) -> I64:
    """Keys in the order of the numbers ``significand * 2**exponent``, 0 <= significand < 2**53.

    A key is floor(log2 x), then 52 bits of fraction.
    """
    top = floor_log2(significand)
    keys = ((exponent + top - 1) << _FRACTION) + (significand << (_FRACTION - top))
    return np.select((is_inf, significand == 0), (_INFINITY, _ZERO), keys)


def adjacent(low: int, high: int, layout: FloatLayout) -> bool:
    """Whether no magnitude of a float layout lies between two keys of it, low < high.

    >>> bf16 = LAYOUTS["bf16"]  # 7 bits of fraction, so that 2 - 2**-7 is the last below 2
    >>> two = 1 << 52
    >>> adjacent(two - (two >> 7), two, bf16), adjacent(two - (two >> 6), two, bf16)
    (True, False)
    """
    least = layout.emin - layout.mantissa_bits
    if low == _ZERO:
        return high <= least << _FRACTION
    if high == _INFINITY:
        high = layout.bias + 1 << _FRACTION
    drop = min(layout.mantissa_bits, (low >> _FRACTION) - least)
    return high - low <= 1 << _FRACTION - drop


@dataclass(frozen=True, slots=True)
class Feature:
    """The words for a feature."""

    phrase: str  #: the words around a value
    names: tuple[str, ...] = ()  #: of a class: the names of its values, which are their indices
    kind: str = "count"  #: of an ordered feature: `real`, `code` or `count`
    floats: bool = False  #: whether its real numbers are floats of the unit's float type

    def show(self, value: int) -> str:
        """A value in words: a real number as a power of two, a short decimal, or in hexadecimal.

        >>> key = int(real_keys(np.array([3]), np.array([7]), np.array([False]))[0])
        >>> Feature("", kind="real").show(key), Feature("", kind="code").show(10)
        ('384', '0a')
        """
        if self.kind != "real":
            return f"{value:02x}" if self.kind == "code" else str(self.plain(value))
        if value in (_ZERO, _INFINITY):
            return "infinity" if value > 0 else "0"
        exponent, fraction = divmod(value, 1 << _FRACTION)
        if not fraction and not -4 <= exponent <= 10:
            return f"2^{exponent}"
        if abs(exponent) < 32:
            number = math.ldexp(1 + fraction / 2**_FRACTION, exponent)
            single = np.float32(number)  # as short as tells it from its neighbours
            return str(single if float(single) == number else number).removesuffix(".0")
        return str(self.plain(value))

    def show_classes(self, values: Sequence[int]) -> str:
        """Some classes in words, with what is around them: true of these classes and no others.

        >>> block = FEATURES["block"]
        >>> block.show_classes((0, 1)), block.show_classes((0, 1, 2)), block.show_classes((0, 2, 3))
        ('the block has only numbers', 'the block has no NaN', \
'the block has only zeros or an infinity or a NaN')
        >>> FEATURES["code class"].show_classes((3, 4)), FEATURES["code class"].show_classes((3,))
        ('the code is a normal number', 'the code is a normal number but the largest')
        """
        names = [self.names[value] for value in values]
        others = [name for name in self.names if name not in names]
        if len(others) == 1 < len(names) and not re.search(" but | and |, ", others[0]):
            text = self.phrase.format(f"not {others[0]}".removeprefix("not not "))
            return text.replace(" has not a ", " has no ")
        for pair, both in _TOGETHER.items():
            if {*pair} <= {*names}:
                names = [both if name == pair[0] else name for name in names if name != pair[1]]
        return self.phrase.format(" or ".join(names))

    def plain(self, value: int) -> int | str:
        """A value for JSON: a class's name, a real number in hexadecimal, or an integer."""
        if self.kind != "real":
            return self.names[value] if self.names else value
        if value in (_ZERO, _INFINITY):
            return "inf" if value > 0 else "0x0p+0"
        exponent, fraction = divmod(value, 1 << _FRACTION)
        digits = f".{fraction:013x}".rstrip("0").rstrip(".")
        return f"0x1{digits}p{exponent:+d}"


#: Neighbouring classes by their names, and both in words.
_TOGETHER = {
    ("a normal number but the largest", "the largest number"): "a normal number",
    ("only zeros", "only numbers, not all zero"): "only numbers",
    ("an infinity and no NaN", "a NaN"): "an infinity or a NaN",
}
#: The names of the values of each class.
_CLASSES = {"float types": tuple(LAYOUTS)}
#: The classes of what the last word of a name says of a field.
_OF_FIELDS = {"sign": "signs", "input": "inputs", "parity": "parity", "side": "sides of zero"}


class _Features(dict[str, Feature]):
    """Features by name; those of the fields of an operation that mxref has not by their names."""

    def __missing__(self, name: str) -> Feature:
        """The feature of a field: its value, or what the last word of the name says.

        >>> FEATURES["offset"].phrase.format(3), FEATURES["offset parity"].show_classes((1,))
        ('`offset` is 3', '`offset` is odd')
        """
        field, _, what = name.rpartition(" ")
        if what in _OF_FIELDS:
            return Feature(f"`{field}` is {{}}", _CLASSES[_OF_FIELDS[what]])
        if what in ("magnitude", "significand"):
            return Feature(f"the {what} of `{field}` is {{}}", kind="real")
        return Feature(f"`{name}` is {{}}")


#: Every feature by name. x is an input number; a step is from one number of the format, in which x
#: may be of any size, to the next, and a tie is half a step from both. `scale` is the wanted scale
#: of the block, products are rounded to the float type. Positions count from 0; amax is the block's
#: largest magnitude, NaN aside, and its position that of the first such element.
FEATURES = _Features()
for _line in Path(__file__).with_name("features.txt").read_text("utf-8").splitlines():
    match re.split(" {2,}", _line):
        case name, names:
            _CLASSES[name] = tuple(names.split("; "))
        case name, phrase, "index":
            FEATURES[name] = Feature(phrase)
            FEATURES[f"{name} parity"] = Feature(phrase, _CLASSES["parity"])
            FEATURES[f"{name} of four"] = Feature(phrase, _CLASSES["fourths"])
        case name, phrase, "real" | "float" as kind:
            FEATURES[name] = Feature(phrase, kind="real", floats=kind == "float")
        case name, phrase, kind:
            FEATURES[name] = Feature(phrase, _CLASSES.get(kind, ()), kind)

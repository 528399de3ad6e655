"""The features that a description speaks of: their words, and their values as integers.

A class has one of a few named values; other features are ordered. Real numbers are integers, too:
keys that are exact for every float type and for quotients and products by powers of two.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mxref.bits.floats import I64, LAYOUTS, Bool, FloatLayout, floor_log2

__all__ = ["FEATURES", "UNKNOWN", "Feature", "Table", "adjacent", "real_keys"]

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


_SIGNS, _PARITY = ("positive", "negative"), ("even", "odd")
_INPUTS = ("a zero", "a subnormal float", "a normal float", "infinite", "NaN")
_SIDES = ("exact", "below a tie", "a tie", "above a tie")
_ROUNDING = ("exact", "rounded toward zero", "rounded away from zero", "clamped")
_NUMBERS = ("a subnormal number", "a normal number but the largest", "the largest number")
_CODES = ("+0", "-0", *_NUMBERS, "an infinity", "NaN")
_BLOCKS = ("only zeros", "only numbers, not all zero", "an infinity and no NaN", "a NaN")
_FRACTIONS = ("an integer", *_SIDES[1:])
_SAMPLES = ("inside the image", "partly outside of the image", "outside of the image")
_SIDES_OF_ZERO = ("negative", "0", "positive")
_FOURTHS = ("4n", "4n + 1", "4n + 2", "4n + 3")

#: Neighbouring classes by their names, and both in words.
_TOGETHER = {
    _NUMBERS[1:]: "a normal number",
    _BLOCKS[:2]: "only numbers",
    _BLOCKS[2:]: "an infinity or a NaN",
}


class _Features(dict[str, Feature]):
    """Features by name; those of the fields of an operation that mxref has not by their names."""

    def __missing__(self, name: str) -> Feature:
        """The feature of a field: its value, or what the last word of the name says.

        >>> FEATURES["offset"].phrase.format(3), FEATURES["offset parity"].show_classes((1,))
        ('`offset` is 3', '`offset` is odd')
        """
        field, _, what = name.rpartition(" ")
        names = {"sign": _SIGNS, "input": _INPUTS, "parity": _PARITY, "side": _SIDES_OF_ZERO}
        if what in names:
            return Feature(f"`{field}` is {{}}", names[what])
        if what in ("magnitude", "significand"):
            return Feature(f"the {what} of `{field}` is {{}}", kind="real")
        return Feature(f"`{name}` is {{}}")


#: Every feature by name. x is an input number; a step is from one number of the format, in which x
#: may be of any size, to the next, and a tie is half a step from both. `scale` is the wanted scale
#: of the block, products are rounded to the float type. Positions count from 0; amax is the block's
#: largest magnitude, NaN aside, and its position that of the first such element.
FEATURES = _Features(
    {
        # numbers that come in
        "float type": Feature("the float type is {}", tuple(LAYOUTS)),
        "sign": Feature("x is {}", _SIGNS),
        "input": Feature("x is {}", _INPUTS),
        "magnitude": Feature("|x| is {}", kind="real", floats=True),
        "scaled magnitude": Feature("|x| / scale is {}", kind="real"),
        "significand": Feature("the significand of |x| is {}", kind="real", floats=True),
        "remainder": Feature("x is {}", _SIDES),
        "part of a step": Feature("x lies {} of a step above a number", kind="real"),
        "rounding": Feature("the result is {}", _ROUNDING),
        # random bits
        "random width": Feature("the number of random bits is {}"),
        "random bits": Feature("the random bits are {}", kind="code"),
        # products
        "product": Feature("|scale * element| is {}", kind="real", floats=True),
        "product class": Feature("scale * element is {}", _INPUTS),
        # blocks
        "scale code": Feature("the scale code is {}", kind="code"),
        "block": Feature("the block has {}", _BLOCKS),
        "amax": Feature("amax is {}", kind="real", floats=True),
        "amax significand": Feature("the significand of amax is {}", kind="real", floats=True),
        "amax sign": Feature("the largest element is {}", _SIGNS),
        "infinities": Feature("the infinities of the block are {}", (*_SIGNS, "of both signs")),
        "tensor scale": Feature("the tensor scale is {}", kind="real"),
        # tensors
        "axis": Feature("the axis is {}", ("0", "1")),
        "rows": Feature("the number of rows is {}"),
        "columns": Feature("the number of columns is {}"),
        "row": Feature("the row is {}"),
        "column": Feature("the column is {}"),
        "rows behind": Feature("the number of rows behind it is {}"),
        "columns behind": Feature("the number of columns behind it is {}"),
        "block length": Feature("the number of the block's elements inside the tensor is {}"),
        "inside": Feature("the element is {}", ("padding", "inside the tensor")),
        # integers: the number that is rounded is exact, of affine quantization in float32
        "fraction": Feature("the number that is rounded is {}", _FRACTIONS),
        "scale": Feature("the scale is {}", kind="real"),
        "scale's number": Feature("the number of its scale is {}"),
        "zero point": Feature("the zero point is {}"),
        "input zero point": Feature("the input zero point is {}"),
        "quant_min": Feature("quant_min is {}"),
        "quant_max": Feature("quant_max is {}"),
        "multiplier": Feature("the multiplier is {}"),
        "shift": Feature("the shift is {}"),
        "integer code": Feature("the code is {}"),
        "difference": Feature("the code less the zero point is {}"),
        "result": Feature("the wanted code is {}"),
        "result parity": Feature("the wanted code is {}", _PARITY),
        "result sign": Feature("the wanted code is {}", ("negative", "0", "positive")),
        "channels behind": Feature("the number of channels behind it is {}"),
        "elements behind": Feature("the number of elements behind it is {}"),
        "first code": Feature("the first code of the byte is {}"),
        "second code": Feature("the second code of the byte is {}"),
        "byte": Feature("the byte is {}", kind="code"),
        "column parity": Feature("the column is {}", _PARITY),
        "row length": Feature("the number of codes in a row is {}"),
        "row length parity": Feature("the number of codes in a row is {}", _PARITY),
        "align_corners": Feature("align_corners is {}", ("off", "on")),
        "padding": Feature("padding is {}", ("zeros", "border")),
        "image rows": Feature("the number of the image's rows is {}"),
        "image columns": Feature("the number of the image's columns is {}"),
        "grid x": Feature("x of the grid is {}"),
        "grid y": Feature("y of the grid is {}"),
        "sample": Feature("the sample is {}", _SAMPLES),
        # outputs of products
        "least scale of A": Feature("the least scale code of A is {}", kind="code"),
        "largest scale of A": Feature("the largest scale code of A is {}", kind="code"),
        "least scale of B": Feature("the least scale code of B is {}", kind="code"),
        "largest scale of B": Feature("the largest scale code of B is {}", kind="code"),
        "least product of scales": Feature("log2 of the least product of two scales is {}"),
        "largest product of scales": Feature("log2 of the largest product of two scales is {}"),
        "blocks summed": Feature("the number of blocks in a row is {}"),
        # words of layouts
        "words behind": Feature("the number of words behind it is {}"),
        "wanted word": Feature("the wanted word is {}", kind="code"),
    }
)
for _name, _words in {
    "position": "the position in the block",
    "amax position": "the largest element's position",
    "nan position": "the position of the only NaN",
    "word": "the word's number",
    "length": "the number of codes",
    "channel": "the channel",
    "element": "the element's number",
}.items():
    FEATURES[_name] = Feature(f"{_words} is {{}}")
    FEATURES[f"{_name} parity"] = Feature(f"{_words} is {{}}", _PARITY)
    FEATURES[f"{_name} of four"] = Feature(f"{_words} is {{}}", _FOURTHS)
for _name, _words in {"code": "the code", "wanted": "the result's code"}.items():
    FEATURES[_name] = Feature(f"{_words} is {{}}", kind="code")
    FEATURES[f"{_name} sign"] = Feature(f"{_words} is {{}}", _SIGNS)
    FEATURES[f"{_name} class"] = Feature(f"{_words} is {{}}", _CODES)
    FEATURES[f"{_name} parity"] = Feature(f"{_words} is {{}}", _PARITY)
    FEATURES[f"{_name} magnitude"] = Feature(f"{_words} without its sign is {{}}", kind="code")

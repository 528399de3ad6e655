"""The types of input bit patterns: floats, element codes and integers.

Source: IEEE 754-2019 3.4; OCP MX v1.0 5.3. The choices read here are N9 and N36.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Final, NamedTuple

from mxref.exact.format_table import (
    FLOATS,
    FORMATS,
    TWOS_COMPLEMENT,
    UNSIGNED,
    ElementType,
    FloatType,
    check_int,
    look_up,
    read_code,
)
from mxref.exact.integers import Number, floor_log2
from mxref.exact.patterns import converted, float_reader


class InputType(NamedTuple):
    """One type of inputs, and how to read them.

    bits: width of a pattern. fraction_bits and exponent_bits: of the numbers that are read; an
    integer has one fraction bit less than its width, and no exponent bits. subnormals_end:
    subnormals are below 2**subnormals_end (None: it has none). read: from a pattern to a number.
    """

    bits: int
    fraction_bits: int
    exponent_bits: int
    subnormals_end: int | None
    read: Callable[[int], Number]


def _float_source(kind: FloatType) -> InputType:
    exponent_bits = kind.bits - 1 - kind.fraction_bits
    return InputType(
        kind.bits, kind.fraction_bits, exponent_bits, 1 - kind.bias, float_reader(kind)
    )


def _element_source(fmt: ElementType) -> InputType:
    exponent_bits = fmt.bits - (fmt.sign != UNSIGNED) - fmt.mantissa_bits
    end = None if fmt.sign == TWOS_COMPLEMENT else 1 - fmt.bias
    return InputType(fmt.bits, fmt.mantissa_bits, exponent_bits, end, partial(read_code, fmt=fmt))


def _integer_source(bits: int, *, signed: bool) -> InputType:
    def read(x_bits: int) -> Number:
        if signed and x_bits >> (bits - 1):
            return (1, (1 << bits) - x_bits, 0)
        return (0, x_bits, 0)

    return InputType(bits, bits - 1, 0, None, read)


SOURCES: Final[Mapping[str, InputType]] = {
    **{name: _float_source(kind) for name, kind in FLOATS.items()},
    **{name: _element_source(fmt) for name, fmt in FORMATS.items()},
    **{f"i{bits}": _integer_source(bits, signed=True) for bits in (8, 16, 32, 64)},
    **{f"u{bits}": _integer_source(bits, signed=False) for bits in (8, 16, 32, 64)},
}

# The float types by the names that `pre_rounding` and `amax_type` use.
TYPE_NAMES: Final = {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}


def narrower(source: InputType, type_name: str) -> FloatType | None:
    """The type to which numbers of a source are rounded first; None if all of them fit it.

    type_name: a member of `pre_rounding` or `amax_type`. Numbers are rounded if they have more
    fraction bits or a wider exponent than the type.

    >>> narrower(SOURCES["bf16"], "float16").name, narrower(SOURCES["bf16"], "float32")
    ('f16', None)
    """
    if type_name not in TYPE_NAMES:
        return None
    kind = FLOATS[TYPE_NAMES[type_name]]
    there = SOURCES[kind.name]
    more = source.fraction_bits > there.fraction_bits
    wider = source.exponent_bits > there.exponent_bits
    return kind if more or wider else None


def _pre_rounded(source: InputType, pre_rounding: str) -> InputType:
    kind = narrower(source, pre_rounding)
    if kind is None:
        return source
    read, target = source.read, kind
    return _float_source(kind)._replace(
        bits=source.bits, read=lambda x_bits: converted(read(x_bits), target)
    )


def _flushed(source: InputType) -> InputType:
    end, read = source.subnormals_end, source.read
    if end is None:
        return source
    limit = end

    def flush(x_bits: int) -> Number:
        sign, n, e = read(x_bits)
        return (sign, 0, 0) if n > 0 and floor_log2(n, e) < limit else (sign, n, e)

    return source._replace(read=flush)


@cache
def prepared(source: str, pre_rounding: str, subnormal_inputs: str = "kept") -> InputType:
    """Return a source whose numbers are first rounded and then flushed, as chosen.

    source: a name of SOURCES. pre_rounding: the type to round to first, to nearest even.
    subnormal_inputs: "flushed" turns the subnormal numbers of the source, or of the type rounded
    to, into zeros of their sign.
    Special values: rounding may give Inf; NaN stays NaN with its sign.
    Source: IEEE 754-2019 4.3.1.

    >>> prepared("f32", "bfloat16").read(0x3F808001)
    (0, 129, -7)
    >>> prepared("f16", "none", "flushed").read(0x83FF)
    (1, 0, 0)
    """
    kind = _pre_rounded(look_up(SOURCES, "source", source), pre_rounding)
    return _flushed(kind) if subnormal_inputs == "flushed" else kind


def read_checked(parameter: str, x_bits: int, source: InputType) -> Number:
    """Read one bit pattern, after checking that it fits the source.

    >>> read_checked("x_bits", 0x80, SOURCES["i8"])
    (1, 128, 0)
    """
    check_int(parameter, x_bits, source.bits)
    return source.read(x_bits)

"""Formats of a user, known to the slow twin by the list of what their codes stand for.

Nothing else says what such a format is: the fields are found from the numbers.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, TypeAlias

from mxref.exact.format_table import (
    ELEMENTS,
    FORMATS,
    MINUS_ZERO_IS_NAN,
    PLAIN,
    POWERS,
    TWOS_COMPLEMENT,
    UNSIGNED,
    UNSIGNED_SCALES,
    ElementType,
    PowerFormat,
    domain_error,
    look_up,
    read_code,
)
from mxref.exact.integers import NAN

Values: TypeAlias = Sequence[Any]
#: A number, or "inf", "-inf" or "nan".
_Number: TypeAlias = Fraction | str

#: Formats that were described, by name: answers are kept by name as long as the process runs.
_DESCRIBED: Final[dict[str, ElementType | PowerFormat]] = {}


@contextlib.contextmanager
def described(values: Mapping[str, Values]) -> Iterator[None]:
    """Let the twin know formats, by name, while the context lasts.

    values: for each format what its codes stand for, from code 0 on: ints, floats, Fractions, or
    text such as "1/8", "inf" and "nan".
    Special values: ValueError for a name that the twin knows, and for numbers of no format.
    Source: a user's.

    >>> from mxref.exact import encode
    >>> with described({"mine": [0, 1, 2, 4, -0.0, -1, -2, -4]}):
    ...     encode(0x40C00000, "f32", "mine")  # 6 is beyond 4
    3
    """
    tables: list[tuple[Any, ElementType | PowerFormat]] = []
    for name, some in values.items():
        fmt = format_of(name, some)
        if (FORMATS.get(name) or POWERS.get(name) or _DESCRIBED.get(name, fmt)) != fmt:
            raise domain_error(
                "values", f"those that {name} has had so far, or of another name", some
            )
        if knows(name):
            continue
        _DESCRIBED[name] = fmt
        if isinstance(fmt, PowerFormat):
            tables.append((POWERS, fmt))
        else:
            signs = UNSIGNED_SCALES if fmt.sign == UNSIGNED else ELEMENTS
            tables += [(FORMATS, fmt), (signs, fmt)]
    for table, fmt in tables:
        table[fmt.name] = fmt
    try:
        yield
    finally:
        for table, fmt in tables:
            del table[fmt.name]


def knows(name: str) -> bool:
    """Whether the twin knows a format of elements or scales by that name.

    >>> knows("e4m3"), knows("e8m0"), knows("e3m1")
    (True, True, False)
    """
    return name in FORMATS or name in POWERS


def numbers(name: str) -> tuple[Fraction | str, ...]:
    """Return what every code of a format stands for: a number, "inf", "-inf" or "nan".

    >>> numbers("e2m1")[5:7], numbers("e8m0")[126:128]
    ((Fraction(3, 1), Fraction(4, 1)), (Fraction(1, 2), Fraction(1, 1)))
    """
    scale = POWERS.get(name)
    return _reads(look_up(FORMATS, "name", name)) if scale is None else _powers(scale)


def format_of(name: str, values: Values) -> ElementType | PowerFormat:
    """Find the format whose codes stand for these numbers.

    values: as in `described`. It has a sign bit, two's complement or no sign, or is one of powers
    of two without a zero; its numbers are floats with subnormals, its NaNs come last or at -0.
    Special values: ValueError if there is none.
    Source: OCP MX v1.0 5.3, 5.4.

    >>> format_of("e2m0", [0, 1, 2, 4, -0.0, -1, -2, -4])
    ElementType(name='e2m0', bits=3, mantissa_bits=0, bias=1, emax=2, max_code=3, ..., sign=0)
    >>> format_of("e2m0", ["1/2", 1, 2, "nan"])
    PowerFormat(name='e2m0', bits=2, bias=1, max_code=2, nan=3)
    """
    listed = tuple(map(_number, values))
    bits = len(listed).bit_length() - 1
    if not 2 <= bits <= 8 or len(listed) != 1 << bits:
        raise domain_error("values", f"4, 8, 16 ... or 256 numbers of {name}", len(listed))
    first = listed[0]
    if isinstance(first, Fraction) and first > 0:
        scale = PowerFormat(name, bits, -_log2(first), len(listed) - 2, len(listed) - 1)
        if _powers(scale) == listed:
            return scale
    for sign in (PLAIN, MINUS_ZERO_IS_NAN, TWOS_COMPLEMENT, UNSIGNED):
        # Numbers in two's complement have one spacing: that of one exponent bit, as INT8 has.
        for mantissa_bits in range(bits - 2 if sign == TWOS_COMPLEMENT else 0, bits):
            fmt = _fields(name, listed, bits, mantissa_bits, sign)
            if fmt is not None and _reads(fmt) == listed:
                return fmt
    raise domain_error(
        "values", f"the numbers of a float format or of powers of two for {name}", values
    )


def _fields(
    name: str, listed: tuple[_Number, ...], bits: int, mantissa_bits: int, sign: int
) -> ElementType | None:
    """Find the fields that go with that many mantissa bits; None if there are none."""
    positive = listed[: 1 << (bits - (sign != UNSIGNED))]
    finite = [n for n in positive if isinstance(n, Fraction)]
    if len(finite) < 2 or finite[1] <= 0 or len(finite) <= 1 << mantissa_bits:
        return None  # the largest number of a float format is no subnormal
    return ElementType(
        name,
        bits,
        mantissa_bits,
        bias=1 - mantissa_bits - _log2(finite[1]),
        emax=_log2(finite[-1]),
        max_code=len(finite) - 1,
        infinity=positive.index("inf") if "inf" in positive else None,
        nan=positive.index("nan") if "nan" in positive else None,
        sign=sign,
    )


def _powers(scale: PowerFormat) -> tuple[_Number, ...]:
    """Read every code of a format of powers of two."""
    return (*(Fraction(2) ** (code - scale.bias) for code in range(scale.nan)), "nan")


def _reads(fmt: ElementType) -> tuple[_Number, ...]:
    """Read every code of a format."""
    found: list[_Number] = []
    for code in range(1 << fmt.bits):
        sign, n, e = read_code(code, fmt)
        if n < 0:
            found.append("nan" if n == NAN else "-inf" if sign else "inf")
        else:
            found.append((-n if sign else n) * Fraction(2) ** e)
    return tuple(found)


def _number(value: Any) -> _Number:
    """Read a number of a user."""
    text = str(value).lower()
    if text in ("nan", "inf", "-inf"):
        return text
    try:
        return Fraction(value)
    except (ValueError, TypeError, ZeroDivisionError):
        raise domain_error("values", "numbers, 'inf' and 'nan'", value) from None


def _log2(number: Fraction) -> int:
    """Return floor(log2(number)) of a positive number whose denominator is a power of two."""
    return number.numerator.bit_length() - number.denominator.bit_length()

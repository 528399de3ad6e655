"""The numbers of the standards, typed again from the texts for this package alone.

Nothing here is computed from another module of the project: the tables below are read from
OCP MX v1.0 5.3 and 5.4, OFP8 Rev 1.0 4, IEEE 754-2019 3, the P3109 report (binary8p3,
binary8p4, and unsigned ones) and the type lists of ml_dtypes (fnuz, e3m4, IEEE e4m3) and CUDA
(ue4m3, ue5m3).

Source: OCP MX v1.0 5.3.1 to 5.3.4 and 5.4.1; OFP8 Rev 1.0 4; IEEE 754-2019 3.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Final, NamedTuple, TypeVar

from mxref.exact.integers import INF, NAN, Number

_Entry = TypeVar("_Entry")

# How a format stores the sign: a sign bit; a sign bit with -0 as the only NaN; two's complement;
# no sign.
PLAIN, MINUS_ZERO_IS_NAN, TWOS_COMPLEMENT, UNSIGNED = range(4)


class ElementType(NamedTuple):
    """One element format: sign, exponent and mantissa, or the fixed-point INT8.

    A *magnitude code* is a code without its sign: 0 for zero, 1 for the smallest magnitude, and so
    on upward. `max_code`, `infinity` and `nan` are magnitude codes; every one from `nan` on is a
    NaN. sign: PLAIN, MINUS_ZERO_IS_NAN, TWOS_COMPLEMENT or UNSIGNED. emax: floor(log2(maximum)).

    Source: OCP MX v1.0 5.3.
    """

    name: str
    bits: int
    mantissa_bits: int
    bias: int
    emax: int
    max_code: int
    infinity: int | None = None
    nan: int | None = None
    sign: int = PLAIN

    @property
    def sign_weight(self) -> int:
        """Number of magnitude codes of one sign, which a sign bit adds to a code."""
        return 1 << (self.bits - (self.sign != UNSIGNED))

    @property
    def has_nan(self) -> bool:
        """Whether some code is a NaN."""
        return self.nan is not None or self.sign == MINUS_ZERO_IS_NAN


class FloatType(NamedTuple):
    """One binary interchange format (or bfloat16), source or target of a conversion.

    Source: IEEE 754-2019 3.4, Table 3.5; bfloat16 is the upper half of binary32.
    """

    name: str
    bits: int
    fraction_bits: int
    bias: int
    infinity: int
    quiet_nan: int


# INT8 has no exponent: its value is n / 64, the step of a float with these mantissa bits and bias.
ELEMENTS: Final[Mapping[str, ElementType]] = {
    "e5m2": ElementType("e5m2", 8, 2, 15, 15, 0x7B, 0x7C, 0x7D),
    "e4m3": ElementType("e4m3", 8, 3, 7, 8, 0x7E, None, 0x7F),
    "e3m2": ElementType("e3m2", 6, 2, 3, 4, 0x1F),
    "e2m3": ElementType("e2m3", 6, 3, 1, 2, 0x1F),
    "e2m1": ElementType("e2m1", 4, 1, 1, 2, 0x7),
    "int8": ElementType("int8", 8, 6, 1, 0, 0x7F, sign=TWOS_COMPLEMENT),
    "e4m3fnuz": ElementType("e4m3fnuz", 8, 3, 8, 7, 0x7F, sign=MINUS_ZERO_IS_NAN),
    "e5m2fnuz": ElementType("e5m2fnuz", 8, 2, 16, 15, 0x7F, sign=MINUS_ZERO_IS_NAN),
    "e4m3b11fnuz": ElementType("e4m3b11fnuz", 8, 3, 11, 4, 0x7F, sign=MINUS_ZERO_IS_NAN),
    "e3m4": ElementType("e3m4", 8, 4, 3, 3, 0x6F, 0x70, 0x71),
    "e4m3_ieee": ElementType("e4m3_ieee", 8, 3, 7, 7, 0x77, 0x78, 0x79),
    "e1m2": ElementType("e1m2", 4, 2, 1, 0, 0x7),
    "binary8p3": ElementType("binary8p3", 8, 2, 16, 15, 0x7E, 0x7F, sign=MINUS_ZERO_IS_NAN),
    "binary8p4": ElementType("binary8p4", 8, 3, 8, 7, 0x7E, 0x7F, sign=MINUS_ZERO_IS_NAN),
}

UNSIGNED_SCALES: Final[Mapping[str, ElementType]] = {
    "ue4m3": ElementType("ue4m3", 7, 3, 7, 8, 0x7E, None, 0x7F, UNSIGNED),
    "ue5m3": ElementType("ue5m3", 8, 3, 15, 16, 0xFE, None, 0xFF, UNSIGNED),
    "binary8p1uf": ElementType("binary8p1uf", 8, 0, 128, 126, 0xFE, None, 0xFF, UNSIGNED),
    "binary8p3ue": ElementType("binary8p3ue", 8, 2, 32, 31, 0xFD, 0xFE, 0xFF, UNSIGNED),
    "binary8p4ue": ElementType("binary8p4ue", 8, 3, 16, 15, 0xFD, 0xFE, 0xFF, UNSIGNED),
}

FORMATS: Final[Mapping[str, ElementType]] = {**ELEMENTS, **UNSIGNED_SCALES}

FLOATS: Final[Mapping[str, FloatType]] = {
    "f16": FloatType("f16", 16, 10, 15, 0x7C00, 0x7E00),
    "bf16": FloatType("bf16", 16, 7, 127, 0x7F80, 0x7FC0),
    "f32": FloatType("f32", 32, 23, 127, 0x7F800000, 0x7FC00000),
    "f64": FloatType("f64", 64, 52, 1023, 0x7FF0000000000000, 0x7FF8000000000000),
}


class PowerFormat(NamedTuple):
    """One format of powers of two: code c is 2**(c - bias), the last code NaN; no zero, no sign.

    Source: OCP MX v1.0 5.4.1, Table 7 (E8M0); the others are like it.
    """

    name: str
    bits: int
    bias: int
    max_code: int
    nan: int


E8M0: Final = PowerFormat("e8m0", 8, 127, 0xFE, 0xFF)
POWERS: Final[Mapping[str, PowerFormat]] = {
    "e8m0": E8M0,
    "e5m0": PowerFormat("e5m0", 5, 15, 0x1E, 0x1F),
    "e4m0": PowerFormat("e4m0", 4, 7, 0xE, 0xF),
    "e2m0": PowerFormat("e2m0", 2, 1, 0x2, 0x3),
}


def domain_error(parameter: str, requirement: str, got: object) -> ValueError:
    """Make the error for an argument outside its domain, in one sentence.

    >>> str(domain_error("code", "an int from 0 to 15", 16))
    'code must be an int from 0 to 15; got 16'
    """
    return ValueError(f"{parameter} must be {requirement}; got {got!r}")


def look_up(table: Mapping[str, _Entry], parameter: str, name: str) -> _Entry:
    """Find an entry of a table by its name; ValueError lists the names when there is none.

    >>> look_up(FLOATS, "source", "f16").bias
    15
    """
    entry = table.get(name)
    if entry is None:
        raise domain_error(parameter, "one of " + ", ".join(table), name)
    return entry


def check_int(parameter: str, number: int, bits: int) -> None:
    """Refuse all but Python ints of at most that many bits (bools and NumPy integers, too).

    >>> check_int("code", 256, 8)
    Traceback (most recent call last):
        ...
    ValueError: code must be a Python int from 0 to 0xff; got 256
    """
    if type(number) is not int or number >> bits:
        raise domain_error(parameter, f"a Python int from 0 to {2**bits - 1:#x}", number)


def magnitude(code: int, fmt: ElementType) -> tuple[int, int]:
    """Return the value of a magnitude code as integers (n, e), meaning n * 2**e.

    Codes above `max_code` go on as if the exponent had no upper bound; the first of them is the
    neighbour above the maximum in rounding.
    Special values: zero is (0, e).
    Source: OCP MX v1.0 5.3 (value of an encoding), 5.3.4 (INT8).

    >>> magnitude(0x7E, ELEMENTS["e4m3"])  # 14 * 2**5 = 448
    (14, 5)
    >>> magnitude(0x7F, ELEMENTS["e4m3"])  # 15 * 2**5 = 480, not a value of the format
    (15, 5)
    """
    if fmt.sign == TWOS_COMPLEMENT:
        return code, 1 - fmt.bias - fmt.mantissa_bits
    exponent, mantissa = divmod(code, 1 << fmt.mantissa_bits)
    if exponent == 0:
        return mantissa, 1 - fmt.bias - fmt.mantissa_bits
    return (1 << fmt.mantissa_bits) + mantissa, exponent - fmt.bias - fmt.mantissa_bits


def join_sign(sign: int, magnitude_code: int, fmt: ElementType) -> int:
    """Make the element code of a sign and a magnitude code; formats without -0 give +0 for it.

    Source: OCP MX v1.0 5.3, 5.3.4.

    >>> [join_sign(1, 0, ELEMENTS[f]) for f in ("e4m3", "int8", "e4m3fnuz")]
    [128, 0, 0]
    >>> join_sign(1, 127, ELEMENTS["e4m3"]), join_sign(1, 127, ELEMENTS["int8"])
    (255, 129)
    """
    if sign == 0 or fmt.sign == UNSIGNED or (magnitude_code == 0 and fmt.sign != PLAIN):
        return magnitude_code
    if fmt.sign == TWOS_COMPLEMENT:
        return -magnitude_code % (1 << fmt.bits)
    return fmt.sign_weight + magnitude_code


def read_code(code: int, fmt: ElementType) -> Number:
    """Read an element code as (sign, n, e), of magnitude n * 2**e; see `mxref.exact.integers`.

    Special values: n is INF or NAN for those; a NaN has the sign of its top bit; INT8 0x80 is -2.
    Source: OCP MX v1.0 5.3, 5.3.4; OFP8 Rev 1.0 4.

    >>> read_code(0xF, ELEMENTS["e2m1"]), read_code(0x80, ELEMENTS["int8"])
    ((1, 3, 1), (1, 128, -6))
    """
    sign, rest = divmod(code, fmt.sign_weight)
    if sign and fmt.sign == TWOS_COMPLEMENT:
        rest = fmt.sign_weight - rest
    if (fmt.nan is not None and rest >= fmt.nan) or (
        sign == 1 and rest == 0 and fmt.sign == MINUS_ZERO_IS_NAN
    ):
        return sign, NAN, 0
    if rest == fmt.infinity:
        return sign, INF, 0
    return (sign, *magnitude(rest, fmt))


def value(code: int, format: str) -> Fraction:
    """Return the exact value of a finite code.

    code: 0 to 2**bits - 1 of the format. format: any of FORMATS or POWERS.
    Special values: -0 gives 0; INT8 0x80 is -2; E8M0 00 is 2**-127; NaN and Inf codes raise
    ValueError.
    Source: OCP MX v1.0 5.3, 5.4.1.

    >>> value(0x7, "e2m1"), value(0x81, "e4m3"), value(0x80, "int8"), value(0x80, "e8m0")
    (Fraction(6, 1), Fraction(-1, 512), Fraction(-2, 1), Fraction(2, 1))
    """
    scale = POWERS.get(format)
    if scale is not None:
        check_int("code", code, scale.bits)
        if code == scale.nan:
            raise domain_error("code", f"a finite {format} code", hex(code))
        return Fraction(2) ** (code - scale.bias)
    fmt = FORMATS.get(format)
    if fmt is None:
        raise domain_error("format", "one of " + ", ".join([*FORMATS, *POWERS]), format)
    check_int("code", code, fmt.bits)
    sign, n, e = read_code(code, fmt)
    if n < 0:
        raise domain_error("code", f"a finite {format} code", hex(code))
    return (-n if sign else n) * Fraction(2) ** e

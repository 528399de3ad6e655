"""Element codes: numbers to codes and back, one rounding, integers inside."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from mxref.bits.floats import (
    F32,
    F64,
    I64,
    U8,
    Bool,
    FloatLayout,
    Floats,
    Parts,
    Stochastic,
    compose,
    layout_of,
    round_to_code,
    split,
)
from mxref.bits.pairs import Table
from mxref.bits.single import integer_array
from mxref.bits.stochastic import NAN, StochasticTable, fits, magnitudes
from mxref.formats.catalog import CodeFormat, Specials, code_format
from mxref.numbers.codes import codes_of, every_code
from mxref.numbers.source import Source
from mxref.numbers.table import code_table, decoded, encode_in_chunks
from mxref.policy import choices as c
from mxref.policy.groups import ElementPolicy
from mxref.policy.keywords import DecodeChoices, ElementChoices
from mxref.policy.policy import Policy, resolve
from mxref.support.integers import integer

#: Numbers of the smallest array for which a table is made that takes long.
FEW = 1 << 12


def encode(
    values: ArrayLike,
    format: str | CodeFormat,
    policy: str | Policy = "ocp",
    *,
    random_bits: ArrayLike | None = None,
    random_width: int | None = None,
    out: U8 | None = None,
    threads: int | None = None,
    **choices: Unpack[ElementChoices],
) -> U8:
    """Element codes of numbers, each rounded once, directly from its own type.

    Exact for every float64, float32, float16 and bfloat16, subnormals included, whatever the
    processor's rounding and flushing modes are; and for integers and the small floats of ml_dtypes.

    Args:
        values: floats or integers, any shape and byte order; arrays of NumPy, torch, JAX or another
            library with ``__array__`` or ``__dlpack__``.
        format: element format (or unsigned float format, which discards signs), its name, or a
            dtype's name elsewhere, such as ``torch.float8_e4m3fn``; see `mxref.formats.aliases`.
        policy: a `Policy` or its spelling.
        random_bits: for the stochastic roundings, integers R with 0 <= R < 2**random_width that
            broadcast to the shape of `values`. AMD's converters use the top bits of a 32-bit seed:
            pass ``seed >> (32 - width)``.
        random_width: their width N in bits, from 1 to 32.
        out: where the codes go: a writable C-contiguous uint8 array of the shape of `values`.
        threads: how many threads compute, which changes no bit; if None the environment variable
            MXREF_THREADS says it, or it is one.
        choices: single choices of the policy; see `mxref.choices`.

    Returns:
        uint8 codes of the same shape. In `ocp` NaN becomes 7F in E4M3 and E5M2 and the largest
        number elsewhere; infinities and numbers that round past the largest one become it;
        -0 and negative underflow keep their sign, except in INT8, which has no -0.

    Raises:
        TypeError: values of another type.
        ValueError: unknown format, policy or choice; random bits that are missing, not wanted or
            out of range; an `out` that does not fit; a NaN where the policy makes it an error.

    Source: OCP MX v1.0 5.3; OFP8 Rev 1.0 5.2; SPEC_NOTES N9 to N15, N17, N18, N25, N36.

    >>> encode(np.float32([0.3, 5.0, -7.1, np.inf]), "e2m1")
    array([ 1,  6, 15,  7], dtype=uint8)
    >>> encode(np.float32([480.0]), "e4m3", overflow="nonsaturating")
    array([127], dtype=uint8)
    >>> encode([2.25] * 4, "e2m1", rounding="stochastic_a", random_bits=range(4), random_width=2)
    array([4, 4, 4, 5], dtype=uint8)
    """
    fmt = code_format(format)
    chosen = resolve("encode", policy, choices).element
    source = Source.of(values, chosen, nan_error=nan_error(fmt, chosen))
    draw = stochastic(chosen.rounding, random_bits, random_width, source.array.shape)
    return encode_in_chunks(Elements(fmt, chosen), source, out, threads, draw)


def decode(
    codes: ArrayLike,
    format: str | CodeFormat,
    dtype: DTypeLike = np.float32,
    policy: str | Policy = "ocp",
    *,
    out: Floats | None = None,
    threads: int | None = None,
    **choices: Unpack[DecodeChoices],
) -> Floats:
    """The numbers that element codes stand for; exact in float64, float32 and bfloat16.

    Args:
        codes: unsigned integers below 2**bits, or an array of the format's ml_dtypes type (int8 for
            INT8), any shape.
        format: element format (or unsigned float format) or its name.
        dtype: float64, float32, float16 or bfloat16. float16, too, holds every number of the six
            element formats of the standard.
        policy: a `Policy` or its spelling.
        out: where the floats go: a writable C-contiguous array of the shape of `codes` and the
            dtype.
        threads: as in `encode`.
        choices: `decoded_zero`.

    Returns:
        Floats of the same shape. NaN codes give the positive quiet NaN; INT8 80 gives -2.

    Raises:
        TypeError: codes or dtype of another type.
        ValueError: unknown format or choice, a code out of range, an `out` that does not fit.

    Source: OCP MX v1.0 5.3; SPEC_NOTES N13, N15, N25.

    >>> decode([0x1, 0x7, 0xF, 0x8], "e2m1")
    array([ 0.5,  6. , -6. , -0. ], dtype=float32)
    """
    fmt = code_format(format)
    zero = resolve("decode", policy, choices).decode.decoded_zero
    layout = layout_of(dtype)
    return decoded(_decode_table(fmt, layout, zero), codes_of(codes, fmt), layout, out, threads)


def stochastic(
    rounding: c.Rounding, random_bits: ArrayLike | None, width: int | None, shape: tuple[int, ...]
) -> Stochastic | None:
    """The random bits that a rounding reads, checked; None for a deterministic one."""
    if not rounding.stochastic:
        if random_bits is not None or width is not None:
            raise ValueError(f"random_bits must not be given with rounding={rounding.value}")
        return None
    if random_bits is None or width is None:
        raise ValueError(f"rounding={rounding.value} needs random_bits= and random_width=")
    width = integer(width, "random_width")
    if not 1 <= width <= 32:
        raise ValueError(f"random_width must be from 1 to 32, got {width}")
    bits = integer_array(random_bits, "random_bits")
    if bits.size and not (int(bits.min()) >= 0 and int(bits.max()) < 1 << width):
        raise ValueError(f"random_bits must be from 0 to 2**{width} - 1")
    try:
        whole = np.broadcast_to(bits, shape)
    except ValueError:
        raise ValueError(
            f"random_bits must broadcast to the shape of values, {shape}, got {bits.shape}"
        ) from None
    return Stochastic(rounding.value[-1], whole, width)


@dataclass(frozen=True, slots=True)
class Elements:
    """The rounding to an element format under a policy: its `Encoder`."""

    target: CodeFormat
    policy: ElementPolicy

    def codes(self, parts: Parts, draw: Stochastic | None = None) -> U8:
        """Element codes."""
        return encode_parts(parts, self.target, self.policy, draw)

    def stochastic_table(self, layout: FloatLayout, draw: Stochastic) -> StochasticTable | None:
        """Codes by magnitude code, of float32 where the random bits fit, else of float64."""
        if not self.target.subnormals:
            return None
        for wide in (F32, F64):
            fmt = self.target
            ends = fmt.emin, fmt.emax
            if layout.width <= wide.width and fits(wide, fmt.mantissa_bits, ends, draw):
                return _stochastic_table(fmt, self.policy, wide)
        return None


@functools.lru_cache(maxsize=64)
def _stochastic_table(
    fmt: CodeFormat, policy: ElementPolicy, layout: FloatLayout
) -> StochasticTable:
    """Codes of exact numbers, which no random bits change, and of what is apart."""
    count = fmt.max_code + 3  # of codes, two of them past the largest of either sign
    first = (fmt.emin + layout.bias) << fmt.mantissa_bits
    codes = np.zeros((2, 1 << (layout.exponent_bits + fmt.mantissa_bits)), np.uint8)
    apart = np.array([1, layout.inf_bits, layout.nan_bits], layout.uint)
    largest = []
    for sign in (0, 1):
        exact = magnitudes(count, fmt.mantissa_bits, fmt.emin, negative=bool(sign))
        others = split(apart | layout.uint.type(sign * layout.sign_bit), layout)
        for parts, where in ((exact, slice(first, first + count)), (others, slice(NAN + 1))):
            none = Stochastic("a", np.zeros(parts.negative.shape, np.int64), 1)
            codes[sign, where] = encode_parts(parts, fmt, policy, none)
        codes[sign, first + count :] = codes[sign, first + count - 1]
        is_lower = policy.int8_range is c.Int8Range.FULL and _is_int8(fmt) and sign
        last = compose(exact, layout)[fmt.max_code + bool(is_lower)]
        largest.append(int(last) & (layout.sign_bit - 1))
    before = policy.clamp is c.Clamp.BEFORE_ROUNDING
    ends = (largest[0], largest[1]) if before else None
    return StochasticTable(layout, fmt.mantissa_bits, fmt.emin, codes, ends)


def encoded(x: NDArray[np.float64], fmt: CodeFormat, policy: ElementPolicy) -> U8:
    """Codes of many numbers, `FEW` or more, by a table."""
    codes = np.empty(x.shape, np.uint8)
    bits = np.ascontiguousarray(x).view(np.uint64)
    code_table(Elements(fmt, policy), F64).write(bits.reshape(-1), codes.reshape(-1))
    return codes


def nan_error(fmt: CodeFormat, policy: ElementPolicy) -> str:
    """Error message for a NaN under nan_to_finite=error; empty if a NaN is no error."""
    if policy.nan_to_finite is not c.NaNToFinite.ERROR or fmt.nan_code is not None:
        return ""
    return f"values must not be NaN under nan_to_finite=error: {fmt.name} has no NaN"


def encode_parts(
    parts: Parts, fmt: CodeFormat, policy: ElementPolicy, draw: Stochastic | None = None
) -> U8:
    """Element codes of numbers in integer parts: the one place where an element is rounded."""
    negative = parts.negative & fmt.signed
    increments = policy.rounding.increments() if draw is None else draw

    def rounded(increments: I64 | Stochastic) -> I64:
        return round_to_code(
            parts.significand, parts.exponent, negative, fmt.mantissa_bits, fmt.emin, increments
        )

    magnitude = rounded(increments)
    largest = np.full(magnitude.shape, fmt.max_code)
    if policy.int8_range is c.Int8Range.FULL and _is_int8(fmt):
        largest += negative
    beyond = magnitude > largest
    if policy.clamp is c.Clamp.BEFORE_ROUNDING:
        beyond = rounded(_AWAY_FROM_ZERO) > largest

    special = fmt.nan_code if fmt.inf_code is None else fmt.inf_code
    clamped = _is_clamped(parts, negative, policy) | (special is None)
    beyond = beyond | parts.is_inf
    magnitude = np.where(beyond, np.where(clamped, largest, special or 0), magnitude)
    is_nan = parts.is_nan | (beyond & ~clamped & (fmt.inf_code is None))

    is_zero = (parts.significand == 0) & ~parts.is_inf
    if policy.zero_sign is c.ZeroSign.DROPPED:
        negative = negative & ~(is_zero & ~is_nan)
    if policy.underflow_sign is c.UnderflowSign.DROPPED:
        negative = negative & ((magnitude != 0) | is_zero | is_nan)
    if fmt.nan_code is None:
        magnitude, negative = _nan_to_finite(
            magnitude, negative, is_nan, largest, fmt.max_code, policy
        )
        is_nan = np.zeros_like(is_nan)
    codes = _with_sign(magnitude, negative, fmt)
    return np.where(is_nan, _nan_codes(fmt, policy.nan, negative), codes).astype(np.uint8)


#: Increments of the rounding that moves every inexact number away from zero.
_AWAY_FROM_ZERO = np.array([0, 1, 1, 1] * 4, np.int64)


def _is_clamped(parts: Parts, negative: Bool, policy: ElementPolicy) -> Bool:
    """Where overflow gives the largest number rather than infinity or NaN."""
    never = np.zeros(negative.shape, bool)
    match policy.overflow:
        case c.Overflow.SATURATE:
            return ~never
        case c.Overflow.NONSATURATING:
            return never
        case c.Overflow.PROPAGATE:
            return ~parts.is_inf
    toward_zero = {
        c.Rounding.TOWARD_ZERO: ~never,
        c.Rounding.TO_ODD: ~never,
        c.Rounding.TOWARD_POSITIVE: negative,
        c.Rounding.TOWARD_NEGATIVE: ~negative,
    }
    return toward_zero.get(policy.rounding, never) & ~parts.is_inf


def _nan_to_finite(
    magnitude: I64, negative: Bool, is_nan: Bool, largest: I64, max_code: int, policy: ElementPolicy
) -> tuple[I64, Bool]:
    """Magnitude and sign of NaN in a format that has none."""
    choice = policy.nan_to_finite
    value: I64 | int = 0
    if choice in (c.NaNToFinite.MAX, c.NaNToFinite.ERROR):
        value = max_code
    elif choice is c.NaNToFinite.SIGNED_MAX:
        value = largest
    sign = {
        c.NaNToFinite.SIGNED_MAX: negative,
        c.NaNToFinite.SIGNED_ZERO: negative,
        c.NaNToFinite.OPPOSITE_ZERO: ~negative,
    }.get(choice, np.zeros_like(negative))
    return np.where(is_nan, value, magnitude), np.where(is_nan, sign, negative)


def _nan_codes(fmt: CodeFormat, choice: c.NaN, negative: Bool) -> I64:
    """The NaN codes that are written, by the sign of the input."""
    code = fmt.nan_code or 0
    if code == fmt.sign_bit and fmt.signed:  # the only NaN of the format
        return np.full(negative.shape, code)
    if choice is c.NaN.SIGNED_QUIET and fmt.specials is Specials.IEEE and fmt.inf_code is not None:
        code = fmt.inf_code | 1 << (fmt.mantissa_bits - 1)
    if choice in (c.NaN.POSITIVE, c.NaN.NEGATIVE):
        return np.full(negative.shape, code | (choice is c.NaN.NEGATIVE) * fmt.sign_bit)
    return np.where(negative, code | fmt.sign_bit, code)


def _with_sign(magnitude: I64, negative: Bool, fmt: CodeFormat) -> I64:
    if _is_int8(fmt):
        return np.where(negative, -magnitude, magnitude) & (fmt.code_count - 1)
    if not fmt.has_negative_zero:
        negative = negative & (magnitude != 0)
    return magnitude | np.where(negative, fmt.sign_bit, 0)


def _is_int8(fmt: CodeFormat) -> bool:
    return getattr(fmt, "twos_complement", False)


@functools.lru_cache(maxsize=128)
def _decode_table(fmt: CodeFormat, layout: FloatLayout, zero: c.DecodedZero) -> Table:
    return Table(compose(without_zero_sign(every_code(fmt), zero), layout))


def without_zero_sign(parts: Parts, zero: c.DecodedZero) -> Parts:
    """The same numbers; zeros without their sign if the choice says so."""
    if zero is c.DecodedZero.KEPT:
        return parts
    is_zero = (parts.significand == 0) & ~parts.is_inf & ~parts.is_nan
    return dataclasses.replace(parts, negative=parts.negative & ~is_zero)

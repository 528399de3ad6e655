"""Why an answer is what it is: whether the standard requires it, the clause, and flags."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.cases.answers import exact_answers
from mxref.cases.grid import grid, pattern
from mxref.cases.words import SECTIONS
from mxref.formats.catalog import (
    E8M0,
    MX_BLOCKS,
    OTHER_CODE_FORMATS,
    ElementFormat,
    ScaleKind,
    Specials,
    block_format,
    element_format,
)
from mxref.formats.scale_kinds import has_small_float_scales, scale_kind
from mxref.golden.case_inputs import Why, Words
from mxref.golden.other_reasons import other_reason
from mxref.golden.product_reasons import product_reason
from mxref.operations.call_operation import CallOperation
from mxref.operations.registry import REGISTRY
from mxref.policy.policy import Policy

__all__ = ["reason"]

Explain = Callable[[Words, Words], Why]
#: Bits of a float64 pattern that float32 does not have.
_BELOW_F32 = LAYOUTS["f64"].mantissa_bits - LAYOUTS["f32"].mantissa_bits


def reason(op: str, format: str, float: str, inputs: Words, answer: Words) -> Why:
    """Whether the standard requires an answer, the clause that decides it, and its flags.

    Flags that depend on how a case was made (`ramp`, `address`, `position`) are not among them; of
    layouts and of stochastic rounding there are none.

    Args:
        op: an operation of the vectors.
        format: its element, scale or block format.
        float: its float type, or the layout of its bytes.
        inputs: the words of the question.
        answer: the words of the answer under `ocp`.

    >>> reason("encode", "e2m1", "f32", (0x40A00000,), (6,))  # 5.0 is midway between 4 and 6
    (True, 'MX-5.3.3', ('tie',))
    >>> reason("quantize", "mxfp4_e2m1", "f32", (0,) * 32, (0,) * 33)
    (False, 'N6', ('zero_block',))
    """
    return _explainer(op, format, float)(inputs, answer)


@cache
def _explainer(op: str, format: str, float: str) -> Explain:
    """`reason` for one file, with the tables that it needs."""
    row = REGISTRY[op]
    if isinstance(row, CallOperation):
        return partial(row.clause, format)
    if row.decided_by:
        return lambda inputs, answer: (False, row.decided_by, ())
    if row.before_block:
        return _tensor
    if row.bounds(format):
        return partial(product_reason, format, float)
    layout = LAYOUTS[float]
    if E8M0.name in row.formats:
        return (_decode_scale if row.from_codes else _encode_scale)(layout)
    if has_small_float_scales(format) or scale_kind(format) is ScaleKind.FLOAT32:
        return _scaled(format, layout, codes=row.from_codes)
    if row.blocks:
        element = block_format(format).element
        if row.from_codes:
            return _dequantize(element, layout, is_of_mx=format in MX_BLOCKS)
        return _quantize(element, layout)
    is_scale = "scale_rule" in row.reads()
    if format in OTHER_CODE_FORMATS and not is_scale:
        return other_reason(OTHER_CODE_FORMATS[format], layout, codes=row.from_codes)
    explain = _shared_scale if is_scale else _decode if row.from_codes else _encode
    return explain(element_format(format), layout)


def _tensor(inputs: Words, answer: Words) -> Why:
    rows, columns, axis = inputs[:3]
    ragged = (columns if axis else rows) % 32 != 0
    return False, "N29" if ragged else "N30", _raised({"ragged": ragged})


def _encode(fmt: ElementFormat, layout: FloatLayout) -> Explain:
    # MX 5.3.1 requires both overflow methods of FP8.
    fp8 = fmt.specials is not Specials.NONE
    _, middles = grid(fmt, layout)
    codes_below = {tie: code for code, tie in enumerate(middles)}
    near_ties = {tie + step for tie in middles for step in (-1, 1)}
    sign_bit, inf, tie_overflows = layout.sign_bit, layout.inf_bits, bool(fmt.max_code & 1)

    def rounds_twice(magnitude: int) -> bool:
        """Whether the code differs if a float64 is rounded to float32 first."""
        if layout.name != "f64":
            return False
        kept = magnitude >> _BELOW_F32
        half = (1 << _BELOW_F32 - 1) - 1 + (kept & 1)
        rounded = magnitude + half >> _BELOW_F32 << _BELOW_F32
        code = codes_below.get(rounded)
        # All ties are numbers of float32: rounding crosses none, but may arrive at one.
        if code is None or rounded == magnitude or (code == fmt.max_code and not fp8):
            return False
        return (code & 1 == 1) == (magnitude < rounded)

    def explain(inputs: Words, answer: Words) -> Why:
        negative, magnitude = bool(inputs[0] & sign_bit), inputs[0] & (sign_bit - 1)
        if magnitude > inf:
            return fp8, "N13" if fp8 else "N14", ("nan",)
        overflow = magnitude > middles[-1] or (magnitude == middles[-1] and tie_overflows)
        _, code = fmt.sign_and_magnitude(answer[0])
        small = 0 < code < 1 << fmt.mantissa_bits and not fmt.twos_complement
        flags = _raised(
            {
                "tie": magnitude in codes_below,
                "near_tie": magnitude in near_ties,
                "overflow": overflow,
                "underflow": magnitude > 0 and code == 0,
                "subnormal": small,
                "source_subnormal": 0 < magnitude < 1 << layout.mantissa_bits,
                "zero": magnitude == 0,
                "negative_zero": negative and code == 0,
                "inf": magnitude == inf,
            }
        )
        if rounds_twice(magnitude):
            return False, "N36", flags  # no standard says how float64 is converted
        if overflow and fp8:
            return False, "MX-5.3.1-T3", flags
        if overflow and fmt.twos_complement and negative:
            return False, "N15", flags
        if negative and code == 0 and not fmt.twos_complement:
            return fp8, "N25", flags
        return True, SECTIONS[fmt.name], flags

    return explain


def _decode(fmt: ElementFormat, layout: FloatLayout) -> Explain:
    def explain(inputs: Words, answer: Words) -> Why:
        code = inputs[0]
        magnitude = fmt.sign_and_magnitude(code)[1]
        small = 0 < magnitude < 1 << fmt.mantissa_bits and not fmt.twos_complement
        negative_zero = magnitude == 0 and code != 0
        flags = _raised(
            {
                "subnormal": small,
                "negative_zero": negative_zero,
                "inf": magnitude == fmt.inf_code,
                "nan": code in fmt.nan_codes,
            }
        )
        rule = "N15" if fmt.twos_complement and magnitude > fmt.max_code else SECTIONS[fmt.name]
        return (False, "N25", flags) if negative_zero else (True, rule, flags)

    return explain


def _encode_scale(layout: FloatLayout) -> Explain:
    codes = [(code,) for code in range(E8M0.code_count)]
    powers = exact_answers("decode_scale", E8M0.name, layout.name, codes, Policy())

    def explain(inputs: Words, answer: Words) -> Why:
        magnitude = inputs[0] & (layout.sign_bit - 1)
        exact = powers[answer[0]] == inputs and 0 < magnitude < layout.inf_bits
        required = exact or magnitude > layout.inf_bits
        flags = _raised(
            {
                "zero": magnitude == 0,
                "source_subnormal": 0 < magnitude < 1 << layout.mantissa_bits,
                "inf": magnitude == layout.inf_bits,
                "nan": magnitude > layout.inf_bits,
                "binade_edge": _near_edge(magnitude, layout),
            }
        )
        return required, "MX-5.4.1" if required else "N23", flags

    return explain


def _decode_scale(layout: FloatLayout) -> Explain:
    def explain(inputs: Words, answer: Words) -> Why:
        code, power = inputs[0], answer[0]
        overflow, vanished = power == layout.inf_bits, power == 0
        flags = _raised(
            {
                "nan": code == E8M0.nan_code,
                "product_overflow": overflow,
                "product_subnormal": 0 < power < 1 << layout.mantissa_bits,
            }
        )
        if overflow or vanished:
            return False, "N20" if overflow else "N21", flags
        return True, "N22" if code in (0x00, E8M0.nan_code) else "MX-5.4.1", flags

    return explain


def _shared_scale(fmt: ElementFormat, layout: FloatLayout) -> Explain:
    smallest = _smallest(fmt, layout)

    def explain(inputs: Words, answer: Words) -> Why:
        (amax,) = inputs
        flags = _raised(
            {
                "zero_block": amax == 0,
                "clamp_low": 0 < amax < smallest,
                "clamp_high": answer[0] == 0xFE and layout.name == "f64",
                "source_subnormal": 0 < amax < 1 << layout.mantissa_bits,
                "inf": amax == layout.inf_bits,
                "nan": amax > layout.inf_bits,
                "binade_edge": _near_edge(amax, layout),
            }
        )
        return False, _scale_rule(flags, amax, layout), flags

    return explain


def _quantize(fmt: ElementFormat, layout: FloatLayout) -> Explain:
    smallest = _smallest(fmt, layout)

    def explain(inputs: Words, answer: Words) -> Why:
        magnitudes = [bits & (layout.sign_bit - 1) for bits in inputs]
        top = max(magnitudes)
        flags = _raised(
            {
                "zero_block": top == 0,
                "clamp_low": 0 < top < smallest,
                "clamp_high": answer[0] == 0xFE and layout.name == "f64",
                "source_subnormal": any(0 < m < 1 << layout.mantissa_bits for m in magnitudes),
                "inf": any(m == layout.inf_bits for m in magnitudes),
                "nan": any(m > layout.inf_bits for m in magnitudes),
                "nan_block": answer[0] == E8M0.nan_code,
                "binade_edge": _near_edge(top, layout),
            }
        )
        rule = _scale_rule(flags, top, layout)
        if rule == "MX-6.3" and fmt.twos_complement and fmt.code_count - fmt.max_code in answer[1:]:
            rule = "N15"
        return False, rule, flags

    return explain


def _dequantize(fmt: ElementFormat, layout: FloatLayout, *, is_of_mx: bool) -> Explain:
    def explain(inputs: Words, answer: Words) -> Why:
        magnitudes = [bits & (layout.sign_bit - 1) for bits in answer]
        codes = [fmt.sign_and_magnitude(code)[1] for code in inputs[1:]]
        pairs = list(zip(magnitudes, codes, strict=True))
        overflow = any(bits == layout.inf_bits and code != fmt.inf_code for bits, code in pairs)
        subnormal = any(0 < m < 1 << layout.mantissa_bits for m in magnitudes)
        flags = _raised(
            {
                "nan": any(m > layout.inf_bits for m in magnitudes),
                "product_overflow": overflow,
                "product_subnormal": subnormal,
            }
        )
        vanished = any(bits == 0 and code != 0 for bits, code in pairs)
        # In float32 and float64 all products are exact.
        rounded = layout.width == 16 and (subnormal or vanished)
        rule = "N20" if overflow else "N21" if rounded else "MX-5.1"
        return rule == "MX-5.1" and is_of_mx, rule, flags

    return explain


def _scaled(format: str, layout: FloatLayout, *, codes: bool) -> Explain:
    """Blocks whose scale is a small float, behind the tensor's scale if there is one."""
    fmt = block_format(format)
    first = 1 if fmt.tensor_scale else 0

    def explain(inputs: Words, answer: Words) -> Why:
        words = inputs[first:]
        scale = words[0] if codes else answer[0]
        floats = [] if codes else [bits & (layout.sign_bit - 1) for bits in words]
        is_nan = fmt.scale.is_nan(scale)
        inf = any(bits == layout.inf_bits for bits in floats)
        flags = _raised(
            {
                "source_subnormal": any(0 < bits < 1 << layout.mantissa_bits for bits in floats),
                "zero": bool(floats) and not any(floats),
                "inf": inf,
                "nan": any(bits > layout.inf_bits for bits in floats) or (is_nan and not inf),
                "scale_subnormal": not is_nan and scale < 1 << fmt.scale.mantissa_bits,
            }
        )
        return False, "N41", flags

    return explain


def _raised(flags: dict[str, bool]) -> tuple[str, ...]:
    """The names of the flags that are set."""
    return tuple(name for name, is_set in flags.items() if is_set)


def _smallest(fmt: ElementFormat, layout: FloatLayout) -> int:
    """The amax whose scale is 2**-127; 0 if the float type cannot hold it."""
    try:
        return pattern(1, fmt.emax - E8M0.bias, layout)
    except ValueError:
        return 0


def _near_edge(magnitude: int, layout: FloatLayout) -> bool:
    fraction = (magnitude + 1) & ((1 << layout.mantissa_bits) - 1)
    return 1 < magnitude < layout.inf_bits and fraction <= 2


def _scale_rule(flags: tuple[str, ...], amax: int, layout: FloatLayout) -> str:
    for flag, rule in (
        ("nan", "N4"),
        ("inf", "N5"),
        ("zero_block", "N6"),
        ("clamp_low", "N7"),
        ("clamp_high", "N8"),
    ):
        if flag in flags:
            return rule
    # Just below a power of two a rounded logarithm is one too large.
    below_power = (amax + 1) & ((1 << layout.mantissa_bits) - 1) == 0
    return "N2" if below_power else "MX-6.3"

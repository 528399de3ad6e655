"""Why an answer is what it is in a format beside those of MX: no standard says how to round."""

from __future__ import annotations

from collections.abc import Callable

from mxref.bits.floats import FloatLayout
from mxref.cases.grid import has_grid, held_grid
from mxref.formats.catalog import CodeFormat
from mxref.golden.case_inputs import Why, Words

__all__ = ["other_reason"]


def other_reason(
    fmt: CodeFormat, layout: FloatLayout, *, codes: bool
) -> Callable[[Words, Words], Why]:
    """`reason` for numbers, or for codes, of a format beside those of MX.

    Required are the number that a code stands for, and the code of a number that the format has.

    >>> from mxref.bits.floats import F32
    >>> from mxref.formats.catalog import E4M3FNUZ
    >>> encoded = other_reason(E4M3FNUZ, F32, codes=False)
    >>> encoded((0x80000000,), (0,)), encoded((0x3F880000,), (0x40,))
    ((True, 'formats', ('zero', 'negative_zero')), (False, 'N17', ('tie',)))
    """
    return _decode(fmt) if codes else _encode(fmt, layout)


def _encode(fmt: CodeFormat, layout: FloatLayout) -> Callable[[Words, Words], Why]:
    numbers, middles = ({*some} for some in held_grid(fmt, layout))
    near_ties = {tie + step for tie in middles for step in (-1, 1)}
    inf, sign_bit = layout.inf_bits, layout.sign_bit
    # A float type that does not hold the grid has a smaller range than the format.
    threshold = max(middles) if has_grid(fmt, layout) else inf - 1
    tie_overflows = fmt.max_code & 1 == 1 and threshold in middles

    def explain(inputs: Words, answer: Words) -> Why:
        negative, magnitude = bool(inputs[0] & sign_bit), inputs[0] & (sign_bit - 1)
        if magnitude > inf:
            return (True, "N13", ("nan",)) if fmt.nan_codes else (False, "N14", ("nan",))
        code = fmt.sign_and_magnitude(answer[0])[1]
        overflow = magnitude > threshold or (magnitude == threshold and tie_overflows)
        raised = {
            "tie": magnitude in middles,
            "near_tie": magnitude in near_ties,
            "overflow": overflow,
            "underflow": magnitude > 0 and code == 0,
            "subnormal": 0 < code < 1 << fmt.mantissa_bits,
            "source_subnormal": 0 < magnitude < 1 << layout.mantissa_bits,
            "zero": magnitude == 0,
            "negative_zero": negative and code == 0,
            "inf": magnitude == inf,
        }
        flags = tuple(name for name, is_set in raised.items() if is_set)
        if negative and not fmt.signed:
            return False, "N41", flags
        if overflow:
            return False, "N11", flags
        if negative and code == 0 and (magnitude or fmt.has_negative_zero):
            return False, "N25", flags
        return (True, "formats", flags) if magnitude in numbers else (False, "N17", flags)

    return explain


def _decode(fmt: CodeFormat) -> Callable[[Words, Words], Why]:
    def explain(inputs: Words, answer: Words) -> Why:
        code = inputs[0]
        magnitude = fmt.sign_and_magnitude(code)[1]
        negative_zero = magnitude == 0 and code != 0 and not fmt.is_nan(code)
        raised = {
            "subnormal": 0 < magnitude < 1 << fmt.mantissa_bits,
            "negative_zero": negative_zero,
            "inf": magnitude == fmt.inf_code,
            "nan": fmt.is_nan(code),
        }
        flags = tuple(name for name, is_set in raised.items() if is_set)
        return (False, "N25", flags) if negative_zero else (True, "formats", flags)

    return explain

"""``mxref explain`` with a code: its fields, its value, and the numbers that become it."""

from __future__ import annotations

import argparse
import math
import re
from typing import Any

from mxref.cli.explain_numbers import check_format
from mxref.cli.explanation import Explanation, print_part
from mxref.cli.screen import print_heading
from mxref.formats.catalog import E8M0, CodeFormat, ElementFormat
from mxref.support.text import hex_float

__all__ = ["code_of", "explain_code"]

_MOST = float.fromhex("0x1.fffffffffffffp+1023")
_CODE = re.compile(r"0x([0-9a-f]{1,3})|0b([01][01_ ]*)|([0-9a-f]*[a-f][0-9a-f]*)", re.ASCII)


def code_of(text: str, fmt: CodeFormat) -> int | None:
    """The code that a text writes down: ``0x7e``, ``0b0_1111_110``, or all hex digits, as ``7e``.

    None where the text is no code: all of its digits are decimal, or it is none at all.

    Raises:
        ValueError: the format has no such code.

    >>> from mxref.formats.catalog import E2M1, E4M3
    >>> [code_of(one, E4M3) for one in ("0x7E", "7e", "0b0_1111_110", "78")]
    [126, 126, 126, None]
    """
    match = _CODE.fullmatch(text.strip().lower())
    digits = (fmt.bits + 3) // 4
    if match is None or (match[3] and len(match[3]) != digits):
        return None
    bits = (match[2] or "").replace("_", "").replace(" ", "")
    code = int(bits, 2) if bits else int(match[1] or match[3], 16)
    if code >= fmt.code_count or len(bits) > fmt.bits:
        raise ValueError(
            f"a code of {fmt.name} must have {fmt.bits} bits and be at most "
            f"{fmt.code_count - 1:0{digits}x}, got {text!r}"
        )
    return code


def explain_code(options: argparse.Namespace) -> Explanation | None:
    """Explain a code of the format of --format; None without that, or where NAME is no code."""
    if options.format is None:
        return None
    formats, blocks = check_format(options.format)
    name = options.format
    fmt = blocks[name].element if name in blocks else formats[name]
    code = code_of(options.name, fmt)
    return None if code is None else Explanation(code_data(code, fmt), _show)


def code_data(code: int, fmt: CodeFormat) -> dict[str, Any]:
    """What is said of a code, as JSON values."""
    from mxref.cli.formats_verb import fields_of, notes_of

    value = fmt.value(code)
    return {
        "kind": "code",
        "name": f"{code:0{(fmt.bits + 3) // 4}x}",
        "about": f"a code of {fmt.name}",
        "format": fmt.name,
        "bits": fields_of(code, fmt),
        "value": f"{value:.10g}",
        "hex_value": hex_float(value),
        "note": "" if math.isnan(value) else notes_of(fmt).get(code, ""),
        "made": _made(code, fmt),
        "beside": _beside(code, fmt),
        "numbers": _numbers(code, fmt),
    }


def _made(code: int, fmt: CodeFormat) -> str:
    """How the value is made of the fields."""
    if not math.isfinite(fmt.value(code)):
        return ""
    if isinstance(fmt, ElementFormat) and fmt.twos_complement:
        return f"{code - fmt.code_count * (code >= fmt.sign_bit)} * 2^-{fmt.mantissa_bits}"
    sign = "-" if fmt.signed and code & fmt.sign_bit else ""
    field, fraction = divmod(code % (fmt.sign_bit or fmt.code_count), 1 << fmt.mantissa_bits)
    exponent = f"2^({field} - {fmt.bias})"
    if field == 0 and fmt.subnormals:
        if not fraction:
            return ""
        return f"{sign}{fraction}/{1 << fmt.mantissa_bits} * 2^(1 - {fmt.bias}), a subnormal number"
    significand = f"(1 + {fraction}/{1 << fmt.mantissa_bits}) * " if fmt.mantissa_bits else ""
    return f"{sign}{significand}{exponent}"


def _beside(code: int, fmt: CodeFormat) -> str:
    """The numbers below and above."""
    from mxref.golden.explain_number import finite_numbers
    from mxref.operands.shown import show_code

    value = fmt.value(code)
    if not math.isfinite(value):
        return ""
    values = finite_numbers(fmt)
    below = [one for number, one in values if number < value]
    above = [one for number, one in values if number > value]
    parts = [f"{show_code(below[-1], fmt)} below" if below else "no number below"]
    parts += [f"{show_code(above[0], fmt)} above" if above else "no number above"]
    return ", ".join(parts)


def _numbers(code: int, fmt: CodeFormat) -> str:
    """The numbers that become the code to nearest, ties to even, beyond the largest by `ocp`."""
    from mxref.golden.explain_number import finite_numbers
    from mxref.numbers.element import encode

    if fmt is E8M0 or not fmt.subnormals or not math.isfinite(fmt.value(code)):
        return ""
    element = fmt if isinstance(fmt, ElementFormat) else None
    written = element is None or not element.twos_complement
    if element is not None and code == fmt.sign_bit:
        return "-0, and negative numbers that round to 0" if written else ""
    values = [one for one in finite_numbers(fmt) if written or one[1] != fmt.sign_bit]
    place = [one for _, one in values].index(code)
    ends = []
    for other, far in ((place - 1, -math.inf), (place + 1, math.inf)):
        if 0 <= other < len(values):
            ends.append(float((values[other][0] + values[place][0]) / 2))
        else:
            saturates = element and encode([math.copysign(_MOST, far)], element) == code
            ends.append(far if saturates else math.nan)
    if code == 0 and written:  # what rounds to 0 from below is -0
        ends[0] = 0.0
    if math.isnan(sum(ends)):
        return ""
    tie = "ties included" if code % 2 == 0 else "ties excluded"
    infinite = [end for end in ends if math.isinf(end)]
    if infinite and element and encode(infinite, element) != code:
        tie += ", infinity excluded"
    low_text, high_text = (_shortest(end) for end in ends)
    return f"from {low_text} to {high_text}, {tie}, to nearest with ties to even"


def _shortest(number: float) -> str:
    """The shortest decimal of a number that is no other float64.

    >>> _shortest(432.0), _shortest(2.0**-17)
    ('432', '7.62939453125e-06')
    """
    text = f"{number:.10g}"
    return text if float(text) == number else repr(number)


def _show(data: dict[str, Any]) -> None:
    note = f", {data['note']}" if data["note"] else ""
    print_heading(f"{data['name']} in {data['format']}: {data['value']}{note}")
    print_part("bits", data["bits"])
    made = f"{data['made']} = " if data["made"] else ""
    print_part("value", f"{made}{data['value']} = {data['hex_value']}" if made else data["value"])
    print_part("beside", data["beside"])
    print_part("numbers", data["numbers"])
    print_part("more", f"mxref formats {data['format']} has its other codes")

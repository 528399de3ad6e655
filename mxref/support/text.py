"""Texts that several rooms print: unknown names, short lines, hexadecimal floats."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence


def unknown_name(parameter: str, got: object, known: Mapping[str, object]) -> str:
    """One sentence that names the legal values and the nearest one.

    >>> unknown_name("format", "e4m4", {"e4m3": None, "e2m1": None})
    "format must be one of e4m3, e2m1, got 'e4m4' (did you mean 'e4m3'?)"
    """
    some = _nearest(got, known) if len(known) > _MANY else []
    some = some or [*known][: None if len(known) <= _MOST else _MANY]
    rest = len(known) - len(some)
    names = ", ".join(some) + f" and {rest} others" * bool(rest)
    return f"{parameter} must be one of {names}, got {short(got)}{suggestion(got, known)}"


#: If there are more names than this, only those near the given one are listed.
_MANY = 40
#: If there are more than this, and none is near, the first `_MANY` are listed.
_MOST = 60
#: Characters of what was given that a sentence repeats.
_LONGEST = 200


def short(got: object) -> str:
    """The repr of a given value for an error message, cut if it is long.

    >>> short("e4m4"), len(short("e4m4" * 1000))
    ("'e4m4'", 203)
    """
    text = repr(got)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def suggestion(got: object, known: Iterable[str]) -> str:
    """The nearest name as the end of a sentence; empty if none is near.

    >>> suggestion("e4m4", ["e4m3", "e2m1"]), suggestion("e4m4", ["rounding"])
    (" (did you mean 'e4m3'?)", '')
    """
    near = _nearest(got, known)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _nearest(got: object, known: Iterable[str]) -> list[str]:
    """At most eight similar names, the nearest first."""
    import difflib  # which takes time, and every verb imports this module

    text, names = str(got)[:_LONGEST].lower(), list(known)
    near = [name for name in names if text and name.startswith(text)]
    near += [name for name in names if len(text) > 2 and f"_{text}" in name]
    near += difflib.get_close_matches(text, names, 1, 0.5)
    near += [name for name in names if len(text) > 2 and text in name]
    return list(dict.fromkeys(near))[:8]


def refuse_unknown(
    parameter: str, got: Iterable[str], known: Collection[str], error: type[ValueError] = ValueError
) -> None:
    """Refuse names that are not known.

    Args:
        parameter: what the sentence calls them.
        got: the names that were given.
        known: the legal ones, in the order in which they are listed.
        error: what to raise.

    Raises:
        ValueError: a name is not known; see `unknown_name`.

    >>> refuse_unknown("--op", ["encode", "decode"], ["encode", "decode"])
    """
    for one in got:
        if one not in known:
            raise error(unknown_name(parameter, one, dict.fromkeys(known)))


def a_few(names: Sequence[str], most: int) -> str:
    """The first names of a list, and how many others there are.

    >>> a_few(["e5m2", "e4m3"], 2), a_few(["e5m2", "e4m3", "e3m2"], 1)
    ('e5m2, e4m3', 'e5m2 and 2 others')
    """
    left = len(names) - most
    text = ", ".join(names[:most])
    return text if left <= 0 else f"{text} and {left} other{'s' * (left > 1)}"


def guess(count: int, what: str, conditions: int = 1) -> str:
    """That a rule rests on few observations, as the end of its counts; nothing if it has more.

    Args:
        count: of observations.
        what: what is observed.
        conditions: how many the rule has, each of which an observation may fulfil by chance.

    >>> guess(1, "wrong call"), guess(2, "wrong call"), guess(2, "case", conditions=3)
    ('; a guess from one wrong call', '', '; a guess from 2 cases')
    """
    if count > conditions:
        return ""
    return f"; a guess from one {what}" if count == 1 else f"; a guess from {count} {what}s"


def one_line(text: str, longest: int = 200) -> str:
    """A text as one short line of printable ASCII.

    >>> one_line("no such file")
    'no such file'
    """
    text = ascii(" ".join(text[: 10 * longest].split()))[1:-1]  # it may have megabytes
    return text if len(text) <= longest else f"{text[:longest]}..."


def damage(error: Exception) -> str:
    """What is wrong with a file that should hold JSON, as part of a sentence.

    >>> damage(KeyError("files")), damage(TypeError("'int' object is not iterable"))
    ('it lacks files', 'it has values of other types')
    >>> damage(RecursionError()), damage(ValueError("it must be a regular file"))
    ('it is no JSON text', 'it must be a regular file')
    """
    if isinstance(error, OSError):
        return one_line(error.strerror or str(error))
    if isinstance(error, KeyError):
        return f"it lacks {one_line(str(error.args[0]))}"
    if isinstance(error, TypeError | AttributeError):
        return "it has values of other types"
    is_text = isinstance(error, ValueError)
    is_json = is_text and not isinstance(error, json.JSONDecodeError | UnicodeError)
    return one_line(str(error)) if is_json else "it is no JSON text"


def printable(text: str) -> str:
    r"""A text whose control characters and marks of direction are escaped; letters stay.

    >>> printable("layer.0 größe"), printable("a\x1b[2J\nb")
    ('layer.0 größe', 'a\\x1b[2J\\nb')
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def short_number(value: float) -> str:
    """A float in decimal if it is short, else in hexadecimal; -0 keeps its sign.

    >>> [short_number(value) for value in (1.25, -0.0, 2.0**-127, float("inf"))]
    ['1.25', '-0', '0x1p-127', 'inf']
    """
    text = f"{value:.6g}"
    usual = value == 0 or not math.isfinite(value) or 1e-3 <= abs(value) < 1e6
    return text if usual and (float(text) == value or value != value) else hex_float(value)


def hex_float(value: float) -> str:
    """A float in hexadecimal without trailing zeros.

    >>> hex_float(0.75), hex_float(-0.0), hex_float(float("inf"))
    ('0x1.8p-1', '-0x0p+0', 'inf')
    """
    if not math.isfinite(value):
        return str(value)
    mantissa, _, exponent = value.hex().partition("p")
    return f"{mantissa.rstrip('0').rstrip('.') if '.' in mantissa else mantissa}p{exponent}"

"""Tables beside the tests that read them: a case a line, cells two blanks apart, `#` comments.

A cell `-` is an empty one.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from helpers import ROOT, ROUNDINGS, SOURCES


def uncommented(path: Path) -> str:
    """The text of a file without its comments, which are whole lines here."""
    return re.sub(r"^# .*\n", "", path.read_text("utf-8"), flags=re.MULTILINE)


def rows(room: str, name: str, kind: str | None = None) -> list[list[str]]:
    """The cells of every line of tests/ROOM/data/NAME.txt; with a kind, what is behind it."""
    text = (ROOT / "tests" / room / "data" / f"{name}.txt").read_text("utf-8")
    lines = (re.sub(r"(^|  )#.*", "", line).strip() for line in text.splitlines())
    cells = (re.split(" {2,}", line) for line in lines if line)
    found = [["" if cell == "-" else cell for cell in some] for some in cells]
    return found if kind is None else [cells for first, *cells in found if first == kind]


def number(text: str) -> float:
    """As Python writes it, hexadecimal digits with an exponent included, 1.5*2^-127, or 3/16."""
    if "/" in text:
        return float(Fraction(text))
    factor, power, exponent = text.partition("2^")
    if not power:
        return float.fromhex(text) if "0x" in text else float(text)
    return math.ldexp(float(factor.rstrip("*") + "1" * (factor in ("", "-"))), int(exponent))


def numbers(text: str) -> list[float]:
    """Several of them."""
    return [number(word) for word in text.split()]


def pattern(text: str, source: str) -> int:
    """The bits of a number of a float type, or those that the text gives as 0x..."""
    if re.fullmatch("0x[0-9a-f]+", text):
        return int(text, 16)
    with np.errstate(all="ignore"):
        return bits(np.array([number(text)]).astype(SOURCES[source]))[0]


def bits(values: np.ndarray) -> list[int]:
    """The patterns of floats, in the order of their indices."""
    found: list[int] = np.ascontiguousarray(values).view(f"u{values.itemsize}").ravel().tolist()
    return found


def codes(text: str) -> list[int]:
    """Hexadecimal numbers; 7e*3 is 7e three times."""
    pairs = (word.partition("*")[::2] for word in text.split())
    return [code for word, times in pairs for code in [int(word, 16)] * int(times or 1)]


def arguments(text: str, named: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Arguments as name=value: JSON whose lists are tuples, arrays such as int8:[1], or names."""
    pairs = (word.split("=", 1) for word in text.split())
    return {name: _value(value, named or {}) for name, value in pairs}


def _value(text: str, named: Mapping[str, Any]) -> Any:
    if text in named:
        return named[text]
    kind, colon, array = text.partition(":")
    if colon:
        return np.array(json.loads(array), kind)
    value = json.loads(text)
    return tuple(value) if isinstance(value, list) else value


def choices(text: str) -> list[dict[str, Any]]:
    """Choices, with each of the members that commas part; `*` is every rounding."""
    named = dict(word.split("=") for word in text.split())
    every = [ROUNDINGS if one == "*" else one.split(",") for one in named.values()]
    members = [[int(one) if one.lstrip("-").isdecimal() else one for one in some] for some in every]
    return [dict(zip(named, each, strict=True)) for each in itertools.product(*members)]

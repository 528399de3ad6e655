"""P3109's value tables: every code of every format of at most 8 bits, decoded and encoded back."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from mxref.formats import ElementFormat, ScaleFormat, Specials
from suites.asked import mx

NAME = re.compile(r"Binary(\d+)p(\d+)([su])([ef])")


def format_of(k: int, p: int, sign: str, domain: str) -> ElementFormat | ScaleFormat | None:
    """The format of mxref, or None if it has none such: unsigned with an infinity."""
    if sign == "u":
        rest = (k - p + 1, p - 1, 1 << k - p, Specials.TOP_CODE_NAN)
        return None if domain == "e" else ScaleFormat(f"binary{k}p{p}uf", *rest)
    specials = Specials.P3109 if domain == "e" else Specials.FNUZ
    bias = (1 << k - p) // 2
    return ElementFormat(f"binary{k}p{p}s{domain}", k - p, p - 1, bias, specials)


def cases(folder: Path) -> Iterator[tuple[str, str]]:
    """Each table."""
    for table in sorted(folder.rglob("Binary*.csv")):
        k, p, sign, domain = NAME.fullmatch(table.stem).groups()  # type: ignore[union-attr]
        fmt = format_of(int(k), int(p), sign, domain) if int(k) <= 8 else None
        if fmt is None:
            continue
        rows = list(csv.DictReader(table.open(encoding="utf-8")))
        codes = np.array([int(row["codepoint"], 16) for row in rows])
        values = np.array([float.fromhex(row["value"]) for row in rows])
        numbers = mx.decode(codes.astype(np.uint8), fmt, np.float64)
        wrong = codes[~((numbers == values) | (np.isnan(numbers) & np.isnan(values)))]
        choices = {"overflow": "nonsaturating_ieee", "nan": "positive"}
        back = mx.encode(values, fmt, "ocp", **choices)
        wrong = np.append(wrong, codes[back != codes])
        yield table.stem, "" if not wrong.size else f"codes {[hex(code) for code in wrong[:8]]}"

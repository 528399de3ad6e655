"""Inputs of int4 packing and RESCALE."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mxref.integer.rescaling import multiplier_shift
from mxref.operands.case_input import CaseInput, spelled

__all__ = ["int4_cases", "rescale_cases"]

_RATIOS = {
    "one": 1.0, "half": 0.5, "quarter": 0.25, "three_quarters": 0.75, "three_halves": 1.5,
    "tenth": 0.1, "third": 1 / 3, "one_over_127": 1 / 127, "two": 2.0, "below_one": 1 - 2.0**-31,
    "power_minus_12": 2.0**-12, "three_tenths": 0.3,
}  # fmt: skip
#: Ratios for formats other than int8 to int8.
_FEWER = ("one", "half", "three_halves", "tenth", "third", "below_one")
_RANGES = {"int8": 7, "uint8": 8, "int16": 15, "int32": 31}


def int4_cases(*, packs: bool) -> Iterator[CaseInput]:
    """All bytes, and rows of 1, 2, 3, 7, 8 and 9 codes."""
    for half in (0, 1):
        rows = range(128 * half, 128 * half + 128)
        codes = [code - 8 for byte in rows for code in (byte >> 4, byte & 15)]
        yield _case(f"bytes_{half}", "M19", (128, 2, *(codes if packs else rows)))
    for k in (1, 2, 3, 7, 8, 9):
        for rows_ in (1, 3):
            count = rows_ * (k if packs else (k + 1) // 2)
            codes = [(i * 5 + k) % 16 - 8 for i in range(count)]
            bytes_ = [(i * 37 + 11 * k) % 256 for i in range(count)]
            flags = ("odd_length",) if k % 2 else ()
            words = (rows_, k, *(codes if packs else bytes_))
            yield _case(f"row_{rows_}_{k}", "M19", words, flags)


def rescale_cases(format: str) -> Iterator[CaseInput]:
    """Codes of 8 bits, or numbers around powers, under 12 or 6 ratios, and at the ends of S."""
    source, target = format.split("_")[0].split("-")
    bits, top = (16 if format.endswith("_m16") else 32), _RANGES[source]
    near = sorted({s * (1 << i) + d for i in range(top) for s in (1, -1) for d in (-1, 0, 1)})
    ends = [-(1 << top), 1 - (1 << top), (1 << top) - 1, (1 << top) - 2]
    step = 1 if format == "int8-int8" else 3
    values = [*range(-128, 128, step), 127] if source == "int8" else [*near, *ends]
    values = [*range(0, 256, step), 255] if source == "uint8" else values
    values = list(dict.fromkeys(values))
    zeros = [(0, 0), (3, -5), (-7, 11)] if source == target == "int8" else [(0, 0)]
    if target == "uint8":
        zeros = [(0, 128), (5, 3)]
    if source == "uint8":
        zeros = [(0, 0), (128, -5), (251, 11)] if target == "int8" else [(0, 0), (128, 0)]
    for name, ratio in _RATIOS.items():
        if format != "int8-int8" and name not in _FEWER:
            continue
        m, s = (int(part) for part in multiplier_shift(ratio, bits))
        for zero, out in zeros if name in ("half", "third", "tenth") else zeros[:1]:
            fit = [v for v in values if abs((v - zero) * ratio) < 2**31 - 1]
            fit = [v for v in fit if -(1 << s - 1) <= v - zero < 1 << s - 1]
            yield _case(f"{name}_{spelled(zero)}_{spelled(out)}", "M20", (zero, out, 1, m, s, *fit))
    for s in (*range(2, 10), 30, 31, 32, 33, 40, 62):
        m = (1 << bits - 1) - 1
        half = 1 << s - 1
        some = {-half, -half + 1, -half // 2, -1, 0, 1, half // 2, half - 1, *values[::7]}
        fit = [v for v in sorted(some) if -half <= v < half and -(1 << top) <= v < 1 << top]
        fit = [v for v in fit if abs(v * m >> s) < 2**31 - 1 and (v >= 0 or source != "uint8")]
        yield _case(f"shift_{s}", "M20", (0, zeros[0][1], 1, m, s, *fit))
        if s > 30:
            yield _case(f"shift_{s}_small", "M20", (0, zeros[0][1], 1, m // 3 + 7, s, *fit))
    parts = [multiplier_shift(ratio, bits) for ratio in (0.5, 0.1, 1 / 3)]
    three = [int(part[i]) for i in (0, 1) for part in parts]
    small = [v for v in values if -(2**29) < v < 2**29]
    rows = small[:: max(1, len(small) // 30)][:30]
    yield _case("channels", "M20", (0, zeros[0][1], 3, *three, *rows[: len(rows) // 3 * 3]))
    if bits == 32 and source in ("int16", "int32"):
        yield _case("double", "M20", (0, 0, 1, 1583594044, 40, 7984, -7984, 7985))


def _case(name: str, model: str, words: Sequence[int], flags: tuple[str, ...] = ()) -> CaseInput:
    return CaseInput(name, tuple(word & 0xFFFFFFFF for word in words), model, flags)

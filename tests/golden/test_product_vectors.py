"""The vectors of dot products: intervals, and rows whose answers are known.

test_agreement.py has the slow twin's answers.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import tables
from helpers import FILES, SOURCES, WIDTH, records

STEMS = [stem for stem in FILES if stem.startswith("matmul/")]
E4M3 = "matmul/mxfp8_e4m3-mxfp8_e4m3.f32"
MIXED = "matmul/mxfp8_e5m2-mxfp6_e2m3.f32"
ENDS = ("lo", "hi", "overflow")


@cache
def cases(stem: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The header, and the cases with the answer of each column by its name."""
    header, found = records(stem)
    for case in found:
        outs = (int(out, 16) for out in case["outs"])
        case["by column"] = dict(zip(header["columns"], outs, strict=True))
    return header, found


def rows(case: dict[str, Any], size: int = 32) -> list[tuple[list[int], list[int]]]:
    """Scales and codes of both rows; K is the number for which 2 (K + ceil(K / 32)) words fit."""
    words = [int(word, 16) for word in case["in"].split()]
    half = len(words) // 2
    (k,) = (k for k in range(1, half) if k + -(-k // size) == half)
    blocks = half - k
    return [(side[:blocks], side[blocks:]) for side in (words[:half], words[half:])]


def float_of(bits: int, float: str) -> Any:
    """The number of a pattern, as NumPy and ml_dtypes have it."""
    return np.array(bits, f"u{WIDTH[float] // 8}").view(SOURCES[float]).astype(np.float64).item()


@pytest.mark.parametrize("stem", STEMS)
def test_every_adder_is_inside_the_interval_or_truncates(stem: str) -> None:
    """`ocp` and float32 additions are in it; where `bits` is set, all columns are that answer."""
    header, lines = cases(stem)
    rounded = ("ocp", *(f"ocp+accumulation={n}" for n in ("sequential", "pairwise", "by_block")))
    for case in lines:
        answers = case["by column"]
        number = {name: float_of(bits, header["float"]) for name, bits in answers.items()}
        low, high, overflow = (number[name] for name in ENDS)
        for name in rounded:
            value = number[name]
            allowed = low <= value <= high or value == overflow
            if overflow != overflow and value - value != 0:  # NaN, and a value that is not finite
                allowed = low == low or value != value
            assert allowed, (case["name"], name)
        if number["bits"] == number["bits"]:
            left_out = ("ocp+accumulation=scales_last", "ocp+accumulation=aligned_13")
            same = {number[name] for name in number if name not in left_out}
            assert same == {number["bits"]}, case["name"]


@pytest.mark.parametrize("stem", [one for one in STEMS if one.endswith(".f32") and "/mx" in one])
def test_several_tiles_have_one_answer(stem: str) -> None:
    """Every order gives the sums of 128, 384 and 1024 elements, and no element is zero."""
    found = {case["name"]: case for case in cases(stem)[1] if case["name"].startswith("long_")}
    assert {name.rpartition("_")[2] for name in found} >= {"128", "384"}
    for name, case in found.items():
        assert case["by column"]["bits"] == case["by column"]["ocp"], name
        for scales, codes in rows(case):
            assert all(codes)
            assert len({*scales}) > 1


def test_squares_that_int16_does_not_hold() -> None:
    named = {case["name"]: case for case in cases("matmul/mxint8-mxint8.f32")[1]}
    squares = [case for name, case in named.items() if name.startswith("squares_")]
    assert len(squares) == 6
    for case in squares:
        ((_, codes), other), count = rows(case), rows(case)[0][1].count(0x80)
        assert codes == other[1]
        assert count >= 2
        assert float_of(case["by column"]["bits"], "f32") == 4.0 * count


@pytest.mark.parametrize("row", tables.rows("golden", "adders"), ids=lambda row: row[0])
def test_rows_that_tell_adders_apart(row: list[str]) -> None:
    name, a, b, *sums = row
    (case,) = (case for case in cases(E4M3)[1] if case["name"] == f"{name}_forward")
    assert case["in"] == f"7f {a} 7f {b}"
    how = ("sequential", "pairwise", "aligned_25", "aligned_13")
    columns = ("ocp", *(f"ocp+accumulation={one}" for one in how))
    assert [f"{case['by column'][column]:08x}" for column in columns] == sums


def test_known_answers() -> None:
    """Scales multiplied first are beyond float32; a sum by way of float32 is rounded twice."""
    for stem, name, want, others in (
        (E4M3, "known_scales", 0x7C000000, {"scales_last": 0x7F800000}),
        (E4M3.replace("e4m3", "e5m2"), "known_scales", 0x00001000, {"scales_last": 0}),
        (MIXED, "known_exponents", 0x4580003D, {"aligned_25": 0x45800000}),
        (MIXED, "known_two", 0x45000001, {"aligned_25": 0x45000000}),
    ):
        (found,) = (case["by column"] for case in cases(stem)[1] if case["name"] == name)
        assert found["ocp"] == want
        assert {how: found[f"ocp+accumulation={how}"] for how in others} == others
    by_name = {case["name"]: case for case in cases(E4M3)[1]}
    assert by_name["beyond_then_back_fe"]["by column"]["ocp"] == 0x7F000000
    ends = [by_name["beyond_then_back_fe"]["by column"][end] for end in ENDS]
    assert ends == [0x7F000000, 0x7F000000, 0x7F800000]
    ends = [by_name["beyond_and_stays_fe"]["by column"][end] for end in (*ENDS, "bits")]
    assert ends == [0x7F800000] * 4
    twice = {case["name"]: case for case in cases("matmul/mxfp8_e4m3-mxfp8_e4m3.bf16")[1]}
    case = twice["above_tie_plus"]["by column"]
    assert (case["ocp"], case["ocp+accumulation=sequential"]) == (0x3F81, 0x3F80)

"""The golden vectors: complete, right, reproducible and whole.

Files are read here by a reader of their own; expected answers come from `mxref.exact`, not from the
code that wrote the files.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from helpers import (
    ELEMENT,
    FILES,
    PATIENCE,
    VECTORS,
    case_of,
    choices_of,
    exact_words,
    records,
    steps,
    words,
)
from needs import absent
from shares import Share

from mxref import exact, golden
from mxref.formats.catalog import ELEMENT_FORMATS
from mxref.operations.registry import CALL_OPERATIONS
from mxref.policy.policy import READS, Policy
from mxref.support.whole_file import write_file

#: Width and fraction bits of the float types. Source: IEEE 754-2019 3.4.
FLOATS = {"f16": (16, 10), "bf16": (16, 7), "f32": (32, 23), "f64": (64, 52)}
#: Magnitude codes above zero. Source: OCP MX v1.0 5.3, Tables 2 to 6; INT8 is used up to 127/64.
MAX_CODE = {"e5m2": 0x7B, "e4m3": 0x7E, "e3m2": 0x1F, "e2m3": 0x1F, "e2m1": 0x7, "int8": 0x7F}
EMAX = {"e5m2": 15, "e4m3": 8, "e3m2": 4, "e2m3": 2, "e2m1": 2, "int8": 0}
EXPECTED_FILES = {
    *(f"encode/{format}.{float}" for format in MAX_CODE for float in FLOATS),
    *(f"decode/{format}.f32" for format in MAX_CODE),
    *(f"encode_scale/e8m0.{float}" for float in FLOATS),
    "decode_scale/e8m0.f32",
    *(f"shared_scale/{format}.{float}" for format in MAX_CODE for float in ("f32", "f64")),
    *(f"quantize/{block}.{float}" for block in ELEMENT for float in ("f32", "bf16", "f64")),
    *(f"dequantize/{block}.{float}" for block in ELEMENT for float in ("f32", "bf16")),
}
FNUZ_FILES = [stem for stem in FILES if stem.startswith("encode/") and "fnuz" in stem]
ENCODE_FILES = [stem for stem in FILES if stem.startswith("encode/") and stem not in FNUZ_FILES]


def inputs_of(stem: str) -> set[int]:
    return {int(case["in"], 16) for case in records(stem)[1]}


def infinity(float: str) -> int:
    width, fraction = FLOATS[float]
    return (1 << (width - 1)) - (1 << fraction)


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Path]:
    """A folder for copies of 12 MB each: removed at once, where `tmp_path` keeps three runs."""
    yield tmp_path
    shutil.rmtree(tmp_path, ignore_errors=True)


# --- complete -------------------------------------------------------------------------------------


def test_every_expected_file_is_there() -> None:
    assert set(FILES) >= EXPECTED_FILES


def uncovered(thresholds: list[int], inputs: set[int], sign: int = 0) -> list[str]:
    both = [pattern | sign for t in thresholds for pattern in (t - 1, t)]
    return [f"{pattern:x}" for pattern in both if pattern not in inputs]


def columns_of_share(stem: str, share: Share) -> list[str]:
    """`ocp`, the other columns of the plain file, and this share of the rest."""
    header = records(stem)[0]
    return [
        column
        for index, column in enumerate(header["columns"])
        if index < header["plain"] or share.takes(index + FILES.index(stem), 7)
    ]


#: Columns that step at floats of a narrower type, of which the cases hold a few.
ROUNDED_FIRST = ("pre_rounding", "amax_type")


def number_of_thresholds(format: str, float: str, choices: dict[str, str], sign: int) -> int:
    """One a magnitude code, and those that a choice adds or takes away."""
    special = choices.get("overflow", "saturate") != "saturate" and format in ("e5m2", "e4m3")
    plus_zero = "dropped" in choices.values()  # negative numbers: +0 comes before or after -0
    full = "int8_range" in choices
    # 0001, 0002 and 0003 of E5M2 are subnormal in float16 too.
    flushed = 3 * ("subnormal_inputs" in choices and (format, float) == ("e5m2", "f16"))
    return MAX_CODE[format] + special + (sign > 0 and (plus_zero or full)) - flushed


@pytest.mark.sampled(6)
@pytest.mark.parametrize("stem", ENCODE_FILES)
def test_both_sides_of_every_threshold_of_encode_are_inputs(stem: str, share: Share) -> None:
    header, _ = records(stem)
    format, float = header["format"], header["float"]
    inputs = inputs_of(stem)
    for column in columns_of_share(stem, share):
        choices = choices_of(column)
        for sign in (0, 1 << (FLOATS[float][0] - 1)):

            def code(magnitude: int) -> int:
                return exact.encode(magnitude | sign, float, format, **choices)  # noqa: B023

            thresholds = steps(code, 0, infinity(float))
            if not choices.keys() & set(ROUNDED_FIRST):
                assert uncovered(thresholds, inputs, sign) == [], column
            assert len(thresholds) == number_of_thresholds(format, float, choices, sign), column


@pytest.mark.parametrize("stem", FNUZ_FILES)
def test_both_sides_of_every_threshold_of_fnuz_are_inputs(stem: str) -> None:
    header, _ = records(stem)
    format, float = header["format"], header["float"]
    assert header["columns"][:2] == ["ocp", "ocp+overflow=nonsaturating"]
    signs = {bits >> 31 for bits in inputs_of(stem)}
    magnitudes = {bits & 0x7FFFFFFF for bits in inputs_of(stem)}  # signs come in turn
    for column, count in zip(header["columns"], (127, 128), strict=False):
        choices = choices_of(column)
        for rounding in ("ties_to_even", "toward_zero", "toward_positive", "to_odd"):

            def code(magnitude: int) -> int:
                changed = {**choices, "rounding": rounding}  # noqa: B023
                return exact.encode(magnitude, float, format, **changed)

            thresholds = steps(code, 0, infinity(float))
            assert uncovered(thresholds, magnitudes) == [], (column, rounding)
            assert rounding != "ties_to_even" or len(thresholds) == count
    assert signs == {0, 1}


#: Scale rules whose limit is a power of two: every binade's is an input. Of three others the limits
#: in some binades are.
RULES_AT_POWERS = ("floor", "ceil", "floor_exponent_field")
#: Columns that step at all exponents of float64, of which few are inputs, or at those of float32.
NOT_FLOAT64 = ("wrap", "floor_exponent_field")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("stem", [stem for stem in FILES if stem.startswith("shared_scale/")])
def test_both_sides_of_every_threshold_of_the_scale_are_inputs(stem: str, share: Share) -> None:
    header, _ = records(stem)
    format, float = header["format"], header["float"]
    inputs = inputs_of(stem)
    for column in columns_of_share(stem, share):
        choices = choices_of(column)

        def scale(amax: int) -> int:
            return exact_words("shared_scale", format, float, [amax], column)[0]  # noqa: B023

        thresholds = steps(scale, 0, infinity(float))
        missing = uncovered(thresholds, inputs)
        every = choices.get("scale_rule", "floor") in RULES_AT_POWERS
        every &= float == "f32" or not set(choices.values()) & set(NOT_FLOAT64)
        every &= float != "bf16"  # every fourth binade
        if every and not choices.keys() & set(ROUNDED_FIRST):
            assert missing == [], column
            if column == "ocp" and float == "f32":
                # amax reaches 2**127: the scales are 2**-127 .. 2**(127 - emax), and FF above them.
                assert len(thresholds) == 255 - EMAX[format]
        in_some_binades = (
            *("rceil", "even", "tosa"),
            *("nearest", "nearest_log2", "nearest_log2_power"),
        )
        if choices.get("scale_rule") in in_some_binades:
            assert sum(t - 1 in inputs and t in inputs for t in thresholds) >= 8, column


@pytest.mark.parametrize("float", ["f32", "bf16"])
@pytest.mark.parametrize("rounding", ["toward_zero", "toward_positive"])
def test_both_sides_of_every_threshold_of_encode_scale_are_inputs(
    rounding: str, float: str
) -> None:
    stem = f"encode_scale/e8m0.{float}"
    spelled = {choices_of(column).get("scale_rounding") for column in records(stem)[0]["columns"]}
    assert spelled >= {None, "toward_positive", "ties_to_away", "ties_to_even", "to_odd"}
    thresholds = steps(lambda bits: exact.encode_scale(bits, float, rounding), 0, infinity(float))
    assert uncovered(thresholds, inputs_of(stem)) == []
    assert len(thresholds) == 255


@pytest.mark.parametrize("float", ["f16", "bf16", "f32"])
@pytest.mark.parametrize("rounding", ["toward_zero", "toward_positive", "ties_to_away"])
@pytest.mark.parametrize("negative", [False, True], ids=["positive", "negative"])
def test_thresholds_of_encode_scale(rounding: str, float: str, *, negative: bool) -> None:
    sign = (1 << (FLOATS[float][0] - 1)) * negative
    thresholds = steps(
        lambda bits: exact.encode_scale(bits | sign, float, rounding), 0, infinity(float)
    )
    assert len(thresholds) > 30
    assert uncovered(thresholds, inputs_of(f"encode_scale/e8m0.{float}"), sign) == []


@pytest.mark.sampled(3)
@pytest.mark.parametrize("float", FLOATS)
def test_both_sides_of_every_threshold_of_every_column_of_encode_scale(float: str) -> None:
    stem = f"encode_scale/e8m0.{float}"
    header, inputs = records(stem)[0], inputs_of(stem)
    # Negative numbers of float64 are few.
    for sign in (0, 1 << (FLOATS[float][0] - 1)) if float != "f64" else (0,):
        for column in header["columns"]:
            if choices_of(column).keys() & set(ROUNDED_FIRST):
                continue

            def code(magnitude: int) -> int:
                words = [magnitude | sign]  # noqa: B023
                return exact_words("encode_scale", "e8m0", float, words, column)[0]  # noqa: B023

            assert uncovered(steps(code, 0, infinity(float)), inputs, sign) == [], column


@pytest.mark.parametrize(
    "stem", [*(f"shared_scale/{format}.f64" for format in MAX_CODE), "encode_scale/e8m0.f64"]
)
def test_thresholds_of_the_float64_scale(stem: str) -> None:
    format = records(stem)[0]["format"]

    def scale(bits: int) -> int:
        if format == "e8m0":
            return exact.encode_scale(bits, "f64")
        return exact.shared_scale(bits, "f64", format)

    thresholds = steps(scale, 0, infinity("f64"))
    # 00 to FE, and FF for infinity.
    assert len(thresholds) == 255
    assert uncovered(thresholds, inputs_of(stem)) == []


@pytest.mark.parametrize("stem", [stem for stem in ENCODE_FILES if not stem.endswith(".f64")])
def test_the_ladder_has_the_subnormal_rung(stem: str) -> None:
    fraction = FLOATS[stem.rpartition(".")[2]][1]
    assert 1 << (fraction - 1) in inputs_of(stem)


@pytest.mark.parametrize("stem", [stem for stem in ENCODE_FILES if not stem.endswith(".f64")])
def test_the_binade_ladder_is_in_every_file(stem: str) -> None:
    width, fraction = FLOATS[stem.rpartition(".")[2]]
    last = (1 << fraction) - 1
    ladder = {
        sign | field << fraction | significand
        for field in range(1, (1 << (width - 1 - fraction)) - 1)
        for significand in (0, last // 2 + 1, last)
        for sign in (0, 1 << (width - 1))
    }
    assert ladder - inputs_of(stem) == set()


# --- right ----------------------------------------------------------------------------------------


#: Files of E8M0 blocks, elements and scales; test_layout_vectors.py, test_product_vectors.py and
#: test_integer_vectors.py have the others.
ORDINARY = [
    stem
    for stem in FILES
    if "pack" not in stem
    and "_tensor/" not in stem
    and "/fp4" not in stem
    and "/nv" not in stem
    and not stem.startswith(("matmul/", "linear", *(f"{op}/" for op in CALL_OPERATIONS)))
]


@pytest.mark.parametrize("stem", ORDINARY)
def test_every_answer_is_the_exact_one(stem: str, share: Share) -> None:
    """`ocp` and this share of the other columns; all of them under --complete."""
    header, cases = records(stem)
    assert len(cases) == header["cases"] > 0
    where = header["op"], header["format"], header["float"]
    for index, column in enumerate(header["columns"]):
        if index == 0 or share.takes(index + FILES.index(stem), 7):
            for case in cases:
                want = exact_words(*where, words(case["in"]), column)
                assert words(case["outs"][index]) == want, f"{case['id']} under {column}"


@pytest.mark.parametrize(
    ("id", "want"),
    [
        ("encode.e4m3.f32.43e00000", "7e 7e"),  # 448, the largest
        ("encode.e4m3.f32.43e80000", "7e 7e"),  # 464, the tie with 480, goes to the even 448
        ("encode.e4m3.f32.43e80001", "7e 7f"),  # just above it: overflow
        ("encode.e5m2.f32.47700000", "7b 7c"),  # 61440, the tie with 65536, goes to the even 65536
        ("encode.e2m1.f32.40a00000", "06"),  # 5 lies between 4 and 6
        ("encode.e2m1.f32.be800000", "08"),  # -0.25 is a tie of -0 and -0.5
        ("encode.int8.f32.c0000000", "81"),  # -2 is clamped to -127/64
        ("decode.int8.f32.80", "c0000000"),  # but read as -2
        ("decode.e4m3.f32.7e", "43e00000"),
        ("decode.e2m1.f32.09", "bf000000"),
        ("decode_scale.e8m0.f32.00", "00400000"),  # 2**-127
        ("decode_scale.e8m0.f32.fe", "7f000000"),  # 2**127
        ("encode_scale.e8m0.f32.3fc00000", "7f 80 80"),  # 1.5: down, up, a tie that goes away
        ("shared_scale.e4m3.f32.3f800000", "77"),  # 1.0: 2**-8
        ("shared_scale.e2m1.f32.00000000", "00"),
        ("shared_scale.int8.f32.7f800000", "ff"),
    ],
)
def test_answers_worked_out_by_hand(id: str, want: str) -> None:
    header, case = case_of(id)
    assert " ".join(case["outs"][: header["plain"]]) == want


#: id -> the answers of all columns, worked out by hand: two columns that have the same answer stand
#: under it. A column that is not named has the answer of `ocp`, which is the first.
ALL_COLUMNS: dict[str, dict[str, list[str]]] = {
    # 0.25 is midway between 0 and 0.5.
    "encode.e2m1.f32.3e800000": {
        "00": [],
        "01": ["rounding=ties_to_away", "rounding=toward_positive", "rounding=to_odd"],
    },
    # -0.75 is midway between -0.5 and -1, of which -1 has the even code; it is exact in all types.
    "encode.e2m1.f32.bf400000": {
        "0a": [],
        "09": [
            "rounding=ties_to_zero",
            "rounding=toward_zero",
            "rounding=toward_positive",
            "rounding=to_odd",
        ],
    },
    # A NaN with sign: the largest number, it with the sign, zero, zero with the sign, and without.
    "encode.e2m1.f32.ffc00000": {
        "07": [],
        "0f": ["nan_to_finite=signed_max"],
        "00": ["nan_to_finite=zero", "nan_to_finite=opposite_zero"],
        "08": ["nan_to_finite=signed_zero"],
    },
    # 1.5 is a tie of 1 and 2, of which 2 has the even code and 1 the odd one.
    "encode_scale.e8m0.f32.3fc00000": {
        "7f": ["scale_rounding=ties_to_zero", "scale_rounding=to_odd"],
        "80": [
            "scale_rounding=toward_positive",
            "scale_rounding=ties_to_away",
            "scale_rounding=ties_to_even",
        ],
    },
    "encode_scale.e8m0.f32.bf800000": {  # -1
        "7f": [],
        "ff": ["scale_of_negative=nan"],
        "00": ["scale_of_negative=code_00", "scale_of_negative=code_00_if_finite"],
    },
    # A block of zeros; 2**-emax of E2M1 is code 127 - 2.
    "shared_scale.e2m1.f32.00000000": {
        "00": [],
        "01": ["zero_block=code_01"],
        "7f": ["zero_block=one"],
        "7d": ["zero_block=minus_emax"],
        "ff": ["zero_block=nan"],
    },
    "quantize.mxfp4_e2m1.f32.zeros": {
        " ".join(["00"] * 33): [],
        " ".join(["01"] + ["00"] * 32): ["zero_block=code_01"],
        " ".join(["7f"] + ["00"] * 32): ["zero_block=one"],
        " ".join(["7d"] + ["00"] * 32): ["zero_block=minus_emax"],
        " ".join(["ff"] + ["00"] * 32): ["zero_block=nan"],
    },
    "quantize.mxfp4_e2m1.f32.all_nan": {
        " ".join(["ff"] + ["00"] * 32): [],
        " ".join(["ff"] + ["0f"] * 32): ["nan_block_codes=ones"],
        # Without NaNs there is no number, so amax is 0; a NaN becomes the largest number.
        " ".join(["00"] + ["07"] * 32): ["block_nan=ignore"],
    },
    # Scale FF: every element NaN, or 2**128 times it, which is beyond float32, or infinite.
    "dequantize.mxfp4_e2m1.f32.ff_00": {
        " ".join(["7fc00000"] * 32): [],
        " ".join((["7fc00000"] + ["7f800000"] * 7 + ["7fc00000"] + ["ff800000"] * 7) * 2): [
            "scale_ff=inf"
        ],
        # 0.5 * 2**128 is 2**127, and zeros stay zeros.
        " ".join(
            (
                ["00000000", "7f000000"]
                + ["7f800000"] * 6
                + ["80000000", "ff000000"]
                + ["ff800000"] * 6
            )
            * 2
        ): ["scale_ff=power"],
    },
    "decode_scale.e8m0.f32.ff": {
        "7fc00000": [],
        "7f800000": ["scale_ff=inf", "scale_ff=power"],  # 2**128 is beyond float32
    },
    "decode.e2m1.f32.08": {"80000000": [], "00000000": ["decoded_zero=dropped"]},
}


@pytest.mark.parametrize("id", ALL_COLUMNS)
def test_the_answers_of_all_columns_worked_out_by_hand(id: str) -> None:
    header, case = case_of(id)
    ocp = next(iter(ALL_COLUMNS[id]))
    want = {f"ocp+{choice}": out for out, names in ALL_COLUMNS[id].items() for choice in names}
    assert set(want) <= set(header["columns"])
    assert case["outs"] == [want.get(column, ocp) for column in header["columns"]]


@pytest.mark.parametrize(
    ("id", "out", "by"),
    [
        # ocp, the other six roundings, five for NaN, zeros, underflows, two narrower types.
        ("encode.e2m1.f32.3e800000", ["00", "01"], "010010100000000"),
        ("decode_scale.e8m0.f32.00", ["00400000", "00000000"], "0100"),
        ("decode_scale.e8m0.f32.01", "00800000", None),
        ("decode_scale.e8m0.f32.ff", ["7fc00000", "7f800000"], "0011"),
        ("decode.e2m1.f32.08", ["80000000", "00000000"], "01"),
    ],
)
def test_lines_spelled_by_hand(id: str, out: list[str] | str, by: str | None) -> None:
    _, case = case_of(id)
    assert (case["out"], case.get("by")) == (out, by)


def changes_an_answer(stem: str, choice: str, member: str) -> bool:
    """Whether a policy that differs from `ocp` in one choice differs on a case of a file."""
    header, cases = records(stem)
    where = header["op"], header["format"], header["float"]
    column = f"ocp+{choice}={member}"
    return any(
        exact_words(*where, words(case["in"]), column) != words(case["outs"][0]) for case in cases
    )


@pytest.mark.parametrize(
    "stem",
    [
        "encode/e4m3.f16",
        "decode/e2m1.f32",
        "decode_scale/e8m0.f32",
        "encode_scale/e8m0.f16",
        "dequantize/mxfp4_e2m1.bf16",
    ],
)
def test_the_columns_are_the_choices_that_change_an_answer(stem: str) -> None:
    header, _ = records(stem)
    # Blocks here are whole, have E8M0 scales, and no random bits; errors are no answers.
    absent = {"tail", "scale_arithmetic"}
    want = {"ocp"}
    for choice in set(READS[header["op"]]) - absent:
        for member in Policy.members(choice)[1:]:
            name = member.value
            if name.startswith("stochastic") or name == "error":
                continue
            if (header["op"], name) == ("encode_scale", "wrap"):
                continue
            if member.value != Policy().choices()[choice] and changes_an_answer(stem, choice, name):
                want.add(f"ocp+{choice}={name}")
    assert set(header["columns"]) == want
    assert len(header["columns"]) == len(want)


#: What the plain files have besides `ocp`: the choices that readers without JSON are known to need.
PLAIN = {
    **{f"encode_stochastic/{name}": ["ocp+rounding=stochastic_a"] for name in ELEMENT_FORMATS},
    "encode/e5m2": ["ocp", "ocp+overflow=nonsaturating"],
    "encode/e4m3": ["ocp", "ocp+overflow=nonsaturating"],
    **{
        f"encode/{name}": ["ocp", "ocp+overflow=nonsaturating"]
        for name in ("e4m3fnuz", "e5m2fnuz", "e4m3b11fnuz")
    },
    "encode_scale/e8m0": [
        "ocp",
        "ocp+scale_rounding=toward_positive",
        "ocp+scale_rounding=ties_to_away",
    ],
}


@pytest.mark.parametrize("stem", ORDINARY)
def test_the_first_columns_are_those_of_the_plain_file(stem: str) -> None:
    header, _ = records(stem)
    assert header["columns"][: header["plain"]] == PLAIN.get(stem.rpartition(".")[0], ["ocp"])


#: The least number of cases, so that none are lost unnoticed.
LEAST = {
    "encode": 48_000,
    "encode_stochastic": 3_500,
    "decode": 900,
    "encode_scale": 7_000,
    "decode_scale": 256,
    "shared_scale": 10_000,
    "quantize": 2_350,
    "dequantize": 980,
    "pack": 250,
    "unpack": 350,
    "pack_scales": 11,
    "unpack_scales": 17,
    "pack_blocks": 60,
    "unpack_blocks": 60,
    "quantize_tensor": 100,
    "matmul": 2_900,
    "linear": 14,
    "linear_gradients": 8,
    "linear_qcs8w": 70,
    "linear_qcs4w": 60,
    "quantize_affine": 540,
    "dequantize_affine": 260,
    "pack_int4": 14,
    "unpack_int4": 14,
    "rescale": 230,
    "grid_sample": 70,
}


def test_there_are_enough_cases() -> None:
    count = dict.fromkeys(LEAST, 0)
    for stem in FILES:
        count[stem.partition("/")[0]] += len(records(stem)[1])
    assert {op: n for op, n in count.items() if n < LEAST[op]} == {}, count
    assert sum(count.values()) >= 72_000, count


def test_ids_are_unique_and_name_the_input() -> None:
    seen: set[str] = set()
    for stem in FILES:
        header, cases = records(stem)
        prefix = f"{header['op']}.{header['format']}.{header['float']}."
        assert prefix[:-1] == stem.replace("/", ".")
        for case in cases:
            assert case["id"] not in seen
            seen.add(case["id"])
            name = case["id"].removeprefix(prefix)
            assert re.fullmatch(r"[\w-]+", name, re.ASCII)
            # A name is spelled where it is not the input, and only where that is several words.
            assert ("name" in case) == (" " in case["in"])
        texts = [case["in"] for case in cases]
        assert len(set(texts)) == len(texts), f"{stem} asks the same twice"


@pytest.mark.parametrize(
    "stem",
    [stem for stem in FILES if stem.startswith(("encode/", "encode_scale/", "shared_scale/"))],
)
def test_the_flags_are_true_of_the_input(stem: str) -> None:
    header, cases = records(stem)
    width, fraction = FLOATS[header["float"]]
    inf = infinity(header["float"])
    zero = "zero_block" if header["op"] == "shared_scale" else "zero"
    for case in cases:
        magnitude = int(case["in"], 16) % (1 << (width - 1))
        flags = set(case.get("flags", ()))
        assert flags <= set(header["flags"])
        assert case["model"] in header["models"]
        assert (zero in flags) == (magnitude == 0)
        assert ("inf" in flags) == (magnitude == inf)
        assert ("nan" in flags) == (magnitude > inf)
        assert ("source_subnormal" in flags) == (0 < magnitude < 1 << fraction)


@pytest.mark.parametrize("stem", FILES)
def test_the_header_explains_what_the_cases_use(stem: str) -> None:
    header, cases = records(stem)
    assert set(header["rules"]) == {case["rule"] for case in cases}
    assert set(header["models"]) == {case["model"] for case in cases}
    assert set(header["flags"]) == {flag for case in cases for flag in case.get("flags", ())}
    assert set(header["required"]) <= set(header["rules"])
    for key in ("rules", "models", "flags"):
        assert all(isinstance(text, str) and len(text) > 5 for text in header[key].values())


@pytest.mark.parametrize("format", MAX_CODE)
def test_what_a_conversion_through_float32_would_change_is_not_required(format: str) -> None:
    header, cases = records(f"encode/{format}.f64")
    patterns = np.array([int(case["in"], 16) for case in cases], np.uint64)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        narrow = patterns.view(np.float64).astype(np.float32).view(np.uint32).tolist()
    inf, changed = infinity("f64"), 0
    for case, bits in zip(cases, narrow, strict=True):
        wide = int(case["in"], 16)
        is_nan = wide % (1 << 63) > inf
        differs = not is_nan and any(
            exact.encode(wide, "f64", format, **choices_of(column))
            != exact.encode(bits, "f32", format, **choices_of(column))
            for column in header["columns"][: header["plain"]]
        )
        assert (case["rule"] == "N36") == differs, case["id"]
        assert not (differs and case["rule"] in header["required"]), case["id"]
        changed += differs
    assert changed > 0


@pytest.mark.parametrize(
    ("id", "rule", "required"),
    [
        ("encode.e2m1.f32.40a00000", "MX-5.3.3", True),  # ties to even "must be supported"
        ("encode.e2m1.f32.7f800000", "MX-5.3.3", True),  # beyond the range: clamped
        ("encode.e2m1.f32.7fc00000", "N14", False),  # NaN: "implementation-defined"
        ("encode.e2m1.f32.80000000", "N25", False),
        ("encode.e4m3.f32.7fc00000", "N13", True),  # some NaN
        ("encode.e4m3.f32.7f800000", "MX-5.3.1-T3", False),  # saturated or not
        ("encode.e4m3.f32.80000000", "N25", True),  # OFP8: the sign is preserved
        ("encode.e4m3.f64.3f50000000000001", "N36", False),  # OFP8 has no float64 sources
        ("encode.int8.f32.c0000000", "N15", False),  # -2 "may be left unused"
        ("decode.int8.f32.80", "N15", True),
        ("encode_scale.e8m0.f32.3f800000", "MX-5.4.1", True),
        ("encode_scale.e8m0.f32.3fc00000", "N23", False),
        ("decode_scale.e8m0.f32.00", "N22", True),
        ("shared_scale.e4m3.f32.3f800000", "MX-6.3", False),  # "should"
        ("shared_scale.e4m3.f32.3f7fffff", "N2", False),
        ("quantize.mxfp4_e2m1.f32.ones", "MX-6.3", False),
        ("quantize.mxfp4_e2m1.f32.zeros", "N6", False),
        ("quantize.mxfp4_e2m1.f32.nan_00", "N4", False),
        ("quantize.mxfp4_e2m1.f32.inf_00", "N5", False),
        ("dequantize.mxfp8_e4m3.f32.7f_40", "MX-5.1", True),
        ("dequantize.mxfp8_e4m3.f32.fe_40", "N20", False),  # "implementation-defined"
    ],
)
def test_what_the_standard_requires(id: str, rule: str, *, required: bool) -> None:
    header, case = case_of(id)
    assert case["rule"] == rule
    assert (rule in header["required"]) == required


# --- reproducible ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def texts() -> dict[str, bytes]:
    """The committed files, which are what is built."""
    manifest = json.loads((VECTORS / "manifest.json").read_bytes())
    paths = [*(entry["file"] for entry in manifest["files"]), "manifest.json"]
    return {path: (VECTORS / path).read_bytes() for path in paths}


# That two builds are identical, in several processes and in one, is what `.ci/run` shows: it writes
# the vectors once and checks them twice.


def test_files_are_small(texts: dict[str, bytes]) -> None:
    for path, data in texts.items():
        assert len(data) <= 500_000, path
        assert data.count(b"\n") <= 5001 or path in ("manifest.json", "plain/encode.h"), path


def test_the_manifest_lists_every_file_with_its_digest(texts: dict[str, bytes]) -> None:
    manifest = json.loads(texts["manifest.json"])
    assert [entry["file"] for entry in manifest["files"]] == list(texts)[:-1]
    for entry in manifest["files"]:
        data = texts[entry["file"]]
        assert entry["sha256"] == hashlib.sha256(data).hexdigest()
        lines = data.count(b"\n")
        if entry["file"].endswith(".jsonl"):
            assert entry["cases"] == lines - 1
        elif entry["file"].endswith(".txt"):
            assert entry["cases"] == lines


def test_write_makes_a_folder_once(texts: dict[str, bytes], scratch: Path) -> None:
    folder = scratch / "new" / "vectors"
    assert golden.write(folder, texts) == len(texts)
    assert golden.check(folder, texts) == []
    found = {path: path.stat() for path in folder.rglob("*") if path.is_file()}
    assert {path.relative_to(folder).as_posix() for path in found} == set(texts)
    assert golden.write(folder, texts) == 0
    for path, before in found.items():
        after = path.stat()
        assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_write_mends_only_what_differs(texts: dict[str, bytes], scratch: Path) -> None:
    golden.write(scratch, texts)
    (scratch / "decode/e2m1.f32.jsonl").write_bytes(b"altered\n")
    (scratch / "plain/decode/e2m1.f32.txt").unlink()
    (scratch / "README.md").write_text("for people\n")
    assert golden.write(scratch, texts) == 2
    assert golden.check(scratch, texts) == []
    assert (scratch / "README.md").read_text() == "for people\n"


def test_files_of_an_old_manifest_are_removed(texts: dict[str, bytes], scratch: Path) -> None:
    golden.write(scratch, texts)
    manifest = json.loads(texts["manifest.json"])
    entry = {"file": "encode/e1m2.f32.jsonl", "sha256": "0" * 64, "cases": 1}
    manifest["files"].append(entry)
    (scratch / "manifest.json").write_text(json.dumps(manifest))
    (scratch / "encode/e1m2.f32.jsonl").write_text("old\n")
    (scratch / "encode/notes.txt").write_text("not listed\n")
    assert golden.write(scratch, texts) == 2  # the stale file and the manifest
    assert not (scratch / "encode/e1m2.f32.jsonl").exists()
    assert golden.check(scratch, texts) == ["encode/notes.txt is not a vector file"]


def flip_digit(data: bytes, line: int) -> bytes:
    """Another hex digit at the end of the input of a line (counted from 1)."""
    lines = data.split(b"\n")
    found = re.match(rb'(.*"in":"[0-9a-f ]*)([0-9a-f])(".*)', lines[line - 1])
    assert found is not None
    digit = b"1" if found[2] == b"0" else b"0"
    lines[line - 1] = found[1] + digit + found[3]
    return b"\n".join(lines)


def test_check_reports_every_difference(texts: dict[str, bytes], scratch: Path) -> None:
    golden.write(scratch, texts)
    flipped = scratch / "encode/e2m1.f32.jsonl"
    flipped.write_bytes(flip_digit(flipped.read_bytes(), 17))
    plain = scratch / "plain/decode/e2m1.f32.txt"
    plain.write_bytes(plain.read_bytes().replace(b"09 bf000000", b"09 bf000001"))  # line 10
    short = scratch / "decode/e4m3.f32.jsonl"
    short.write_bytes(short.read_bytes()[:-1].rpartition(b"\n")[0] + b"\n")  # without the last line
    long = scratch / "decode/e5m2.f32.jsonl"
    long.write_bytes(long.read_bytes() + b"{}\n")
    (scratch / "decode/int8.f32.jsonl").unlink()
    (scratch / "encode/extra.jsonl").write_text("{}\n")
    (scratch / "manifest.json").write_bytes(texts["manifest.json"] + b"\n")
    (scratch / "decode" / "README.md").write_text("for people\n")
    last = texts["manifest.json"].count(b"\n")
    assert sorted(golden.check(scratch, texts)) == sorted(
        [
            "encode/e2m1.f32.jsonl differs, first in line 17",
            "plain/decode/e2m1.f32.txt differs, first in line 10",
            "decode/e4m3.f32.jsonl differs, first in line 257",
            "decode/e5m2.f32.jsonl differs, first in line 258",
            "decode/int8.f32.jsonl is missing",
            "encode/extra.jsonl is not a vector file",
            f"manifest.json differs, first in line {last + 1}",
        ]
    )


def test_an_empty_folder_lacks_everything(texts: dict[str, bytes], tmp_path: Path) -> None:
    assert golden.check(tmp_path, texts) == [f"{path} is missing" for path in texts]


# --- whole, whatever happens ----------------------------------------------------------------------

_UNIX = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")

#: `mxref regen --out` with texts that were built before, so that it begins to write at once.
_REGEN = """
import pickle, resource, signal, sys
from pathlib import Path
from mxref import golden
from mxref.cli import main
texts, folder, limit = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
built = pickle.loads(texts.read_bytes())
golden.build = lambda *_, **__: built
if limit:  # the kernel kills the process when a file grows beyond this
    sys.dont_write_bytecode = True
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
print("ready", flush=True)
sys.exit(main(["regen", "--out", folder]))
"""


def old_texts(texts: dict[str, bytes]) -> dict[str, bytes]:
    """A complete folder of which every file is to be rewritten."""
    old = {path: b"old\n" + data for path, data in texts.items()}
    old["manifest.json"] = json.dumps(json.loads(texts["manifest.json"])).encode()
    return old


def lay_out(folder: Path, texts: dict[str, bytes]) -> None:
    for path, data in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)


def start_regen(tmp_path: Path, texts: dict[str, bytes], limit: int = 0) -> subprocess.Popen[str]:
    (tmp_path / "texts").write_bytes(pickle.dumps(texts))
    files = [str(tmp_path / "texts"), str(tmp_path / "vectors")]
    return subprocess.Popen(
        [sys.executable, "-c", _REGEN, *files, str(limit)], stdout=subprocess.PIPE, text=True
    )


def assert_whole(folder: Path, old: dict[str, bytes], new: dict[str, bytes]) -> int:
    """Every file is old or new; returns how many are new. The manifest is the last to change."""
    contents = {path: (folder / path).read_bytes() for path in new}
    torn = [path for path, data in contents.items() if data not in (old[path], new[path])]
    assert torn == []
    written = sum(contents[path] == new[path] for path in new)
    if contents["manifest.json"] != old["manifest.json"]:
        assert written == len(new)
    return written


def assert_mended(folder: Path, texts: dict[str, bytes]) -> None:
    """The next regen completes the folder, and clears the temporary name that was left."""
    assert len(list(folder.rglob(".*.tmp"))) == 1
    golden.write(folder, texts)
    assert golden.check(folder, texts) == []
    found = [path for path in folder.rglob("*") if path.is_file()]
    assert {path.relative_to(folder).as_posix(): path.read_bytes() for path in found} == texts


@pytest.mark.sampled(6)
@_UNIX
@pytest.mark.parametrize("limit", [1, 3000, 60_000, 300_000])
def test_a_regen_killed_in_the_middle_of_a_file_leaves_whole_files(
    texts: dict[str, bytes], scratch: Path, limit: int
) -> None:
    old = old_texts(texts)
    folder = scratch / "vectors"
    lay_out(folder, old)
    with start_regen(scratch, texts, limit) as process:
        assert process.wait(600) == -signal.SIGXFSZ
    assert assert_whole(folder, old, texts) == 0  # all new files first lie beside the old ones
    assert_mended(folder, texts)


@_UNIX
def test_a_regen_killed_while_it_mends_one_file_leaves_that_file_old(
    texts: dict[str, bytes], scratch: Path
) -> None:
    path = "encode/e5m2.f32.jsonl"
    old = {**texts, path: flip_digit(texts[path], 3)}
    folder = scratch / "vectors"
    lay_out(folder, old)
    with start_regen(scratch, texts, 1000) as process:
        assert process.wait(600) == -signal.SIGXFSZ
    assert {name: (folder / name).read_bytes() for name in old} == old


@pytest.mark.sampled(6)
@_UNIX
def test_regen_that_is_not_killed_completes_folder(texts: dict[str, bytes], scratch: Path) -> None:
    folder = scratch / "vectors"
    lay_out(folder, {**texts, "decode/e2m1.f32.jsonl": b"old\n"})
    with start_regen(scratch, texts) as process:
        output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    size = sum(map(len, texts.values())) / 1e6
    line = f"{len(texts)} files, {size:.1f} MB in {folder}, 1 changed"
    assert output.splitlines() == ["ready", line]
    assert golden.check(folder, texts) == []


def test_a_file_that_cannot_be_replaced_leaves_no_temporary_file(tmp_path: Path) -> None:
    path = tmp_path / "encode.h"
    path.mkdir()  # a folder stands where the file should
    with pytest.raises(OSError, match=r"encode\.h"):
        write_file(path, b"new\n")
    assert list(tmp_path.rglob("*")) == [path]


# --- for those without JSON -----------------------------------------------------------------------


@pytest.mark.parametrize("stem", FILES)
def test_the_plain_file_holds_the_same_columns(stem: str) -> None:
    header, cases = records(stem)
    want = [" ".join([case["in"], *case["outs"][: header["plain"]]]) for case in cases]
    assert (VECTORS / f"plain/{stem}.txt").read_text("ascii") == "\n".join(want) + "\n"


def encode_cases(format: str) -> list[tuple[int, int, int]]:
    """Input, saturated and nonsaturated code; one column serves for both where a file has one."""
    header, cases = records(f"encode/{format}.f32")
    last = "ocp+overflow=nonsaturating" if format in ("e5m2", "e4m3") else "ocp"
    nonsaturated = header["columns"].index(last)
    return [
        (int(case["in"], 16), int(case["outs"][0], 16), int(case["outs"][nonsaturated], 16))
        for case in cases
    ]


def test_the_c_header_holds_the_same_cases() -> None:
    text = (VECTORS / "plain/encode.h").read_text("ascii")
    arrays = dict(re.findall(r"mxref_encode_(\w+)\[\d+\] = \{\n(.*?)\n\};", text, re.DOTALL))
    assert set(arrays) == set(MAX_CODE)
    for format, body in arrays.items():
        want = encode_cases(format)
        assert f"mxref_encode_{format}[{len(want)}] = {{" in text
        rows = [
            re.fullmatch(r"\{0x([0-9a-f]{8})u,0x([0-9a-f]{2}),0x([0-9a-f]{2})\},", line)
            for line in body.split("\n")
        ]
        assert [tuple(int(word, 16) for word in row.groups()) for row in rows if row] == want
        assert len(rows) == len(want)


_C_PROGRAM = r"""
#include <inttypes.h>
#include <stdio.h>
#include "encode.h"
#include "encode.h" /* twice does no harm */
#define COUNT(format) do { \
    uint64_t in = 0, sat = 0, nonsat = 0; \
    size_t i, n = sizeof mxref_encode_##format / sizeof *mxref_encode_##format; \
    for (i = 0; i < n; i++) { \
        in += mxref_encode_##format[i].in; \
        sat = sat * 31 + mxref_encode_##format[i].sat; \
        nonsat = nonsat * 31 + mxref_encode_##format[i].nonsat; \
    } \
    printf(#format " %zu %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", n, in, sat, nonsat); \
} while (0)
int main(void) {
    COUNT(e5m2); COUNT(e4m3); COUNT(e3m2); COUNT(e2m3); COUNT(e2m1); COUNT(int8);
    return 0;
}
"""


def test_the_c_header_compiles(tmp_path: Path) -> None:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        absent("a C compiler must be installed")
    source, program = tmp_path / "count.c", tmp_path / "count"
    source.write_text(_C_PROGRAM)
    flags = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", f"-I{VECTORS / 'plain'}"]
    subprocess.run([compiler, *flags, "-o", str(program), str(source)], check=True)
    output = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    want = []
    for format in MAX_CODE:
        sums = [0, 0, 0]
        for bits, sat, nonsat in encode_cases(format):
            sums[0] += bits
            sums[1] = (sums[1] * 31 + sat) % 2**64
            sums[2] = (sums[2] * 31 + nonsat) % 2**64
        want.append(f"{format} {len(encode_cases(format))} {' '.join(map(str, sums))}")
    assert output.splitlines() == want


@pytest.mark.parametrize("float", ["f32", "bf16", "f16", "f64"])
def test_every_tie_of_fp4_stands_in_every_position_but_one_of_a_block(float: str) -> None:
    """A kernel may be wrong in one lane only; the last position has the block's largest number."""
    width, fraction = FLOATS[float]
    bias = (1 << width - fraction - 2) - 1
    cases = [
        [int(word, 16) for word in case["in"].split()]
        for case in records(f"quantize/mxfp4_e2m1.{float}")[1]
        if case["outs"][0].startswith("7f ")
    ]
    # 0.25, 0.75, 1.25, 1.75, 2.5, 3.5 and 5 as significand and exponent.
    for n, exponent in ((1, -2), (3, -2), (5, -2), (7, -2), (5, -1), (7, -1), (5, 0)):
        top = n.bit_length() - 1
        below = n - (1 << top) << fraction - top
        tie = exponent + top + bias << fraction | below
        found = {i for block in cases for i in range(32) if block[i] % (1 << width - 1) == tie}
        assert found >= set(range(31)), (n, exponent)

"""The golden vectors: complete and right, and the same for those without JSON.

Files are read here by a reader of their own; expected answers come from `mxref.exact` or from hand,
not from the code that wrote the files.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from pathlib import Path

import helpers
import numpy as np
import pytest
from helpers import (
    ELEMENT,
    FILES,
    INFINITY,
    VECTORS,
    WIDTH,
    choices_of,
    exact_words,
    records,
    words,
)
from json_tables import cases
from shares import Share
from tables import rows, uncommented

from mxref import exact
from mxref.policy.policy import READS, Policy

DATA = Path(__file__).parent / "data"
#: Fraction bits of the float types. Source: IEEE 754-2019 3.4.
FRACTION = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}
#: Magnitude codes above zero. Source: OCP MX v1.0 5.3, Tables 2 to 6; INT8 is used up to 127/64.
MAX_CODE = {"e5m2": 0x7B, "e4m3": 0x7E, "e3m2": 0x1F, "e2m3": 0x1F, "e2m1": 0x7, "int8": 0x7F}
#: The largest number, its distance from the next one, and the codes of subnormal ones.
LARGEST = (
    ("e5m2", 57344, 8192, range(1, 4)),
    ("e4m3", 448, 32, range(1, 8)),
    ("e3m2", 28, 4, range(1, 4)),
    ("e2m3", 7.5, 0.5, range(1, 8)),
    ("e2m1", 6, 2, range(1, 2)),
    ("int8", 127 / 64, 1 / 64, range(0)),
)
EMAX = {"e5m2": 15, "e4m3": 8, "e3m2": 4, "e2m3": 2, "e2m1": 2, "int8": 0}
EXPECTED_FILES = {
    *(f"encode/{format}.{float}" for format in MAX_CODE for float in FRACTION),
    *(f"decode/{format}.f32" for format in MAX_CODE),
    *(f"encode_scale/e8m0.{float}" for float in FRACTION),
    "decode_scale/e8m0.f32",
    *(f"shared_scale/{format}.{float}" for format in MAX_CODE for float in ("f32", "f64")),
    *(f"quantize/{block}.{float}" for block in ELEMENT for float in ("f32", "bf16", "f64")),
    *(f"dequantize/{block}.{float}" for block in ELEMENT for float in ("f32", "bf16")),
}
SCALAR = [s for s in FILES if s.startswith(("encode/", "encode_scale/", "shared_scale/"))]
#: test_made_files.py has the thresholds of other formats.
WITH_THRESHOLDS = [stem for stem in SCALAR if "fnuz" not in stem]
ENCODE_FILES = [stem for stem in WITH_THRESHOLDS if stem.startswith("encode/")]


def inputs_of(stem: str) -> set[int]:
    return {int(case["in"], 16) for case in records(stem)[1]}


# --- complete -------------------------------------------------------------------------------------


def test_every_expected_file_is_there() -> None:
    assert set(FILES) >= EXPECTED_FILES


def test_there_are_enough_cases() -> None:
    """So that none are lost unnoticed."""
    least = json.loads((DATA / "least_cases.json").read_text())
    count: Counter[str] = Counter()
    for stem in FILES:
        count[stem.partition("/")[0]] += len(records(stem)[1])
    assert count.keys() == least.keys()
    assert {op: n for op, n in count.items() if n < least[op]} == {}, count
    assert count.total() >= 72_000, count


#: Columns that step at floats of a narrower type, of which the cases hold a few.
ROUNDED_FIRST = {"pre_rounding", "amax_type"}
#: Scale rules whose limit is a power of two: every binade's is an input. Of the others the limits
#: in some binades are.
RULES_AT_POWERS = {"floor", "ceil", "floor_exponent_field"}
IN_SOME_BINADES = {"rceil", "even", "tosa", "nearest", "nearest_log2", "nearest_log2_power"}
#: Columns that step at all exponents of float64, of which few are inputs, or at those of float32.
NOT_FLOAT64 = {"wrap", "floor_exponent_field"}


def all_thresholds_are_asked(op: str, float: str, choices: dict[str, str]) -> bool:
    if op != "shared_scale" or choices.keys() & ROUNDED_FIRST:
        return not choices.keys() & ROUNDED_FIRST
    few = float == "bf16" or (float != "f32" and NOT_FLOAT64 & {*choices.values()})
    return choices.get("scale_rule", "floor") in RULES_AT_POWERS and not few


def number_of_thresholds(format: str, float: str, choices: dict[str, str], *, minus: bool) -> int:
    """One a magnitude code, and those that a choice adds or takes away."""
    special = choices.get("overflow", "saturate") != "saturate" and format in ("e5m2", "e4m3")
    plus_zero = "dropped" in choices.values()  # negative numbers: +0 comes before or after -0
    full = "int8_range" in choices
    # 0001, 0002 and 0003 of E5M2 are subnormal in float16 too.
    flushed = 3 * ("subnormal_inputs" in choices and (format, float) == ("e5m2", "f16"))
    return MAX_CODE[format] + special + (minus and (plus_zero or full)) - flushed


@pytest.mark.sampled(3)
@pytest.mark.parametrize("stem", WITH_THRESHOLDS)
def test_both_sides_of_every_threshold_are_inputs(stem: str, share: Share) -> None:
    """`ocp`, the other columns of the plain file, and this share of the rest."""
    header, inputs = records(stem)[0], inputs_of(stem)
    op, format, float = where = header["op"], header["format"], header["float"]
    # Largest magnitudes are positive; negative scales of float64 are few.
    signs = (0, 1) if op == "encode" or (op == "encode_scale" and float != "f64") else (0,)
    for index, column in enumerate(header["columns"]):
        if index >= header["plain"] and not share.takes(index + FILES.index(stem), 7):
            continue
        choices = choices_of(column)
        for sign in signs:
            bit = sign << (WIDTH[float] - 1)

            def answer(magnitude: int) -> int:
                return exact_words(*where, [magnitude | bit], column)[0]  # noqa: B023

            found = helpers.steps(answer, 0, INFINITY[float])
            both = {side | bit for step in found for side in (step - 1, step)}
            if all_thresholds_are_asked(op, float, choices):
                assert sorted(both - inputs) == [], column
            if op == "encode":
                count = number_of_thresholds(format, float, choices, minus=sign == 1)
                assert len(found) == count, column
            elif float != "f16" and column in ("ocp", "ocp+scale_rounding=toward_positive"):
                # 00 to FE and FF for infinity; of amax up to 2**127 the scales end before.
                is_short = op == "shared_scale" and float != "f64"
                assert sign or len(found) == 255 - (EMAX[format] if is_short else 0)
            if choices.get("scale_rule") in IN_SOME_BINADES:
                assert sum({step - 1, step} <= inputs for step in found) >= 8, column


@pytest.mark.parametrize("float", ["bf16", "f32"])
def test_the_columns_of_encode_scale_have_the_roundings(float: str) -> None:
    columns = records(f"encode_scale/e8m0.{float}")[0]["columns"]
    spelled = {choices_of(column).get("scale_rounding") for column in columns}
    assert spelled >= {None, "toward_positive", "ties_to_away", "ties_to_even", "to_odd"}


@pytest.mark.parametrize("stem", [stem for stem in ENCODE_FILES if not stem.endswith(".f64")])
def test_the_binade_ladder_is_in_every_file(stem: str) -> None:
    float = stem.rpartition(".")[2]
    width, fraction = WIDTH[float], FRACTION[float]
    last = (1 << fraction) - 1
    ladder = {
        sign | field << fraction | significand
        for field in range(1, (1 << (width - 1 - fraction)) - 1)
        for significand in (0, last // 2 + 1, last)
        for sign in (0, 1 << (width - 1))
    }
    assert ladder | {1 << (fraction - 1)} <= inputs_of(stem)  # and the subnormal rung


# --- right ----------------------------------------------------------------------------------------


def by_hand() -> dict[str, list[list[str]]]:
    """Of each case of answers.txt the answers, and the columns of each."""
    text = uncommented(DATA / "answers.txt")
    text = re.sub(r"(\w+)\*(\d+)", lambda match: " ".join([match[1]] * int(match[2])), text)
    found = (block.split("\n") for block in text.strip().split("\n\n"))
    return {id: [line.strip().split(": ") for line in lines] for id, *lines in found}


@pytest.mark.parametrize(("id", "lines"), by_hand().items())
def test_answers_worked_out_by_hand(id: str, lines: list[list[str]]) -> None:
    header, case = helpers.case_of(id)
    answers = dict(zip(header["columns"], case["outs"], strict=True))
    for answer, columns in lines:
        for column in set(columns.split()) - {"others"}:
            got = answers.pop(column if column == "ocp" else f"ocp+{column}").split()
            want = answer.split()
            pairs = zip(want, got, strict=True)
            assert want == ["_" if word == "_" else other for word, other in pairs], column
    others = [answer for answer, columns in lines if "others" in columns.split()]
    assert not others or {*answers.values()} == {*others}


@pytest.mark.parametrize(("id", "rule", "standing"), rows("golden", "rules"))
def test_what_the_standard_requires(id: str, rule: str, standing: str) -> None:
    header, case = helpers.case_of(id)
    assert case["rule"] == rule
    assert (rule in header["required"]) == (standing == "required")


def changes_an_answer(stem: str, choice: str, member: str) -> bool:
    """Whether a policy that differs from `ocp` in one choice differs on a case of a file."""
    header, cases = records(stem)
    where = header["op"], header["format"], header["float"]
    column = f"ocp+{choice}={member}"
    return any(
        exact_words(*where, words(case["in"]), column) != words(case["outs"][0]) for case in cases
    )


@pytest.mark.parametrize("stem", cases(__file__, "columns"))
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


def test_each_column_differs_from_the_first_in_an_answer() -> None:
    """But bounds of layers: where all orders of adding give one sum, both are the answer."""
    for stem in FILES:
        header, cases = records(stem)
        first, *others = zip(*(case["outs"] for case in cases), strict=True)
        same = {c for c, o in zip(header["columns"][1:], others, strict=True) if o == first}
        bounds = {"lo", "hi"} if stem.startswith(("linear/", "linear_gradients/")) else set()
        assert same <= bounds, stem


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
            assert re.fullmatch("[a-z0-9_]+", name)
            assert not name.startswith("search_")  # the questions beside the cases
            # A name is spelled where it is not the input, and only where that is several words.
            assert ("name" in case) == (" " in case["in"])
        texts = [case["in"] for case in cases]
        assert len(set(texts)) == len(texts), f"{stem} asks the same twice"


@pytest.mark.parametrize("stem", SCALAR)
def test_the_flags_are_true_of_the_input(stem: str) -> None:
    header, cases = records(stem)
    width, fraction = WIDTH[header["float"]], FRACTION[header["float"]]
    inf = INFINITY[header["float"]]
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


@pytest.mark.parametrize("float", ["f32", "bf16"])
@pytest.mark.parametrize(("format", "largest", "step", "subnormals"), LARGEST)
def test_the_flags_of_stochastic_rounding_are_true_of_the_answer(
    format: str, largest: float, step: float, subnormals: range, float: str
) -> None:
    """Past the largest number is what random bits carry there, added to the number's own ones."""
    seen: Counter[str] = Counter()
    for case in records(f"encode_stochastic/{format}.{float}")[1]:
        bits, draw, width = words(case["in"])
        number = abs(np.uint32(bits << (32 - WIDTH[float])).view(np.float32).item())
        rounded = (int(number / step * 2**width) + draw >> width) * step
        code = int(case["outs"][0], 16) % (1 << MAX_CODE[format].bit_length())  # without sign
        want = ["overflow"] * (number > largest and rounded > largest)
        want += ["subnormal"] * (code in subnormals and not want)
        assert case.get("flags", []) == want, case["id"]
        seen.update(want)
    assert seen["overflow"] > 9
    assert (seen["subnormal"] > 9) == (format != "int8")


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
    inf, changed = INFINITY["f64"], 0
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


# --- files ----------------------------------------------------------------------------------------


# That two builds are identical, in several processes and in one, is what `.ci/run` shows: it writes
# the vectors once and checks them twice.


def test_the_manifest_lists_every_file_with_its_digest_and_none_is_large() -> None:
    for entry in json.loads((VECTORS / "manifest.json").read_bytes())["files"]:
        data = (VECTORS / entry["file"]).read_bytes()
        assert entry["sha256"] == hashlib.sha256(data).hexdigest()
        lines, is_json = data.count(b"\n"), entry["file"].endswith(".jsonl")
        if is_json or entry["file"].endswith(".txt"):
            assert entry["cases"] == lines - is_json
        assert len(data) <= 500_000, entry
        assert lines <= 5001 or entry["file"] == "plain/encode.h", entry


@pytest.mark.parametrize("stem", FILES)
def test_the_plain_file_holds_the_same_columns(stem: str) -> None:
    header, cases = records(stem)
    want = [" ".join([case["in"], *case["outs"][: header["plain"]]]) for case in cases]
    assert (VECTORS / f"plain/{stem}.txt").read_text("ascii") == "\n".join(want) + "\n"


def test_the_c_header_holds_the_same_cases(tmp_path: Path) -> None:
    """Saturated and nonsaturated codes; one column serves for both where a file has one."""
    strict = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", f"-I{VECTORS / 'plain'}")
    helpers.built(helpers.tool("gcc"), *strict, DATA / "show.c", "-o", tmp_path / "show")
    want = []
    for format in MAX_CODE:
        header, cases = records(f"encode/{format}.f32")
        last = "ocp+overflow=nonsaturating" if format in ("e5m2", "e4m3") else "ocp"
        index = header["columns"].index(last)
        want += [f"{format} {case['in']} {case['outs'][0]} {case['outs'][index]}" for case in cases]
    assert helpers.run(tmp_path / "show").stdout.splitlines() == want
    text = (VECTORS / "plain/encode.h").read_text("ascii")
    assert {*re.findall(r"mxref_encode_(\w+)\[\d+\] =", text)} == {*MAX_CODE}

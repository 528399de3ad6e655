"""The golden vectors: complete, right, reproducible, whole, and refused when damaged.

Files are read here by a reader of their own; expected answers come from `mxref.exact`, not from the
code that wrote the files.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mxref import exact, golden
from mxref.golden.regen import write_file

VECTORS = Path(__file__).resolve().parent.parent / "vectors"

#: Width and fraction bits of the float types. Source: IEEE 754-2019 §3.4.
FLOATS = {"f16": (16, 10), "bf16": (16, 7), "f32": (32, 23), "f64": (64, 52)}
#: Magnitude codes above zero. Source: OCP MX v1.0 §5.3, Tables 2 to 6; INT8 is used up to 127/64.
MAX_CODE = {"e5m2": 0x7B, "e4m3": 0x7E, "e3m2": 0x1F, "e2m3": 0x1F, "e2m1": 0x7, "int8": 0x7F}
EMAX = {"e5m2": 15, "e4m3": 8, "e3m2": 4, "e2m3": 2, "e2m1": 2, "int8": 0}
ELEMENT = {
    "mxfp8_e5m2": "e5m2",
    "mxfp8_e4m3": "e4m3",
    "mxfp6_e3m2": "e3m2",
    "mxfp6_e2m3": "e2m3",
    "mxfp4_e2m1": "e2m1",
    "mxint8": "int8",
}
EXPECTED_FILES = {
    *(f"encode/{format}.{float}" for format in MAX_CODE for float in FLOATS),
    *(f"decode/{format}.f32" for format in MAX_CODE),
    *(f"encode_scale/e8m0.{float}" for float in FLOATS),
    "decode_scale/e8m0.f32",
    *(f"shared_scale/{format}.{float}" for format in MAX_CODE for float in ("f32", "f64")),
    *(f"quantize/{block}.{float}" for block in ELEMENT for float in ("f32", "bf16", "f64")),
    *(f"dequantize/{block}.{float}" for block in ELEMENT for float in ("f32", "bf16")),
}
FILES = sorted(
    path.relative_to(VECTORS).as_posix().removesuffix(".jsonl") for path in VECTORS.rglob("*.jsonl")
)
ENCODE_FILES = [stem for stem in FILES if stem.startswith("encode/")]


@functools.cache
def records(stem: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Header and cases of a committed file, by a reader that shares nothing with the package."""
    header, *cases = map(json.loads, (VECTORS / f"{stem}.jsonl").read_text("ascii").splitlines())
    return header, cases


def words(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


def inputs_of(stem: str) -> set[int]:
    return {int(case["in"], 16) for case in records(stem)[1]}


def outputs_of(header: dict[str, Any], case: dict[str, Any]) -> list[str]:
    """One output for each column: a single string stands for all of them."""
    out = case["out"]
    return [out] * len(header["columns"]) if isinstance(out, str) else out


def infinity(float: str) -> int:
    width, fraction = FLOATS[float]
    return (1 << (width - 1)) - (1 << fraction)


def choices_of(column: str) -> dict[str, str]:
    profile, *parts = column.split("+")
    assert profile == "ocp"
    return dict(part.split("=") for part in parts)


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Path]:
    """A folder for copies of 12 MB each: removed at once, where `tmp_path` keeps three runs."""
    yield tmp_path
    shutil.rmtree(tmp_path, ignore_errors=True)


# --- complete -------------------------------------------------------------------------------------


def test_every_expected_file_is_there() -> None:
    assert set(FILES) >= EXPECTED_FILES


def steps(function: Callable[[int], int], low: int, high: int) -> list[int]:
    """Every t in (low, high] with function(t - 1) != function(t), of a function of steps."""
    found: list[int] = []
    spans = [(low, function(low), high, function(high))]
    while spans:
        a, at_a, b, at_b = spans.pop()
        if at_a == at_b:
            continue
        if b - a == 1:
            found.append(b)
            continue
        middle = (a + b) // 2
        at_middle = function(middle)
        spans += [(a, at_a, middle, at_middle), (middle, at_middle, b, at_b)]
    return found


def uncovered(thresholds: list[int], inputs: set[int], sign: int = 0) -> list[str]:
    both = [pattern | sign for t in thresholds for pattern in (t - 1, t)]
    return [f"{pattern:x}" for pattern in both if pattern not in inputs]


@pytest.mark.parametrize("stem", ENCODE_FILES)
def test_both_sides_of_every_threshold_of_encode_are_inputs(stem: str) -> None:
    header, _ = records(stem)
    format, float = header["format"], header["float"]
    inputs = inputs_of(stem)
    for column in header["columns"]:
        choices = choices_of(column)
        for sign in (0, 1 << (FLOATS[float][0] - 1)):

            def code(magnitude: int) -> int:
                return exact.encode(magnitude | sign, float, format, **choices)  # noqa: B023

            thresholds = steps(code, 0, infinity(float))
            assert uncovered(thresholds, inputs, sign) == [], column
            # One threshold a magnitude code, and in FP8 one more to Inf or NaN.
            special = choices.get("overflow") == "nonsaturating" and format in ("e5m2", "e4m3")
            assert len(thresholds) == MAX_CODE[format] + special


@pytest.mark.parametrize("format", MAX_CODE)
def test_both_sides_of_every_threshold_of_the_float32_scale_are_inputs(format: str) -> None:
    stem = f"shared_scale/{format}.f32"
    for column in records(stem)[0]["columns"]:
        rule = choices_of(column).get("scale_rule", "floor")

        def scale(amax: int) -> int:
            return exact.shared_scale(amax, "f32", format, rule)  # noqa: B023

        thresholds = steps(scale, 0, infinity("f32"))
        assert uncovered(thresholds, inputs_of(stem)) == [], column
        if rule == "floor":
            # amax reaches 2**127, so the scales are 2**-127 .. 2**(127 - emax), and FF above them.
            assert len(thresholds) == 255 - EMAX[format]


@pytest.mark.parametrize("float", ["f32", "bf16"])
@pytest.mark.parametrize("rounding", ["toward_zero", "toward_positive"])
def test_both_sides_of_every_threshold_of_encode_scale_are_inputs(
    rounding: str, float: str
) -> None:
    stem = f"encode_scale/e8m0.{float}"
    spelled = {choices_of(column).get("scale_rounding") for column in records(stem)[0]["columns"]}
    assert spelled >= {None, "toward_positive"}
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


def answer(op: str, format: str, float: str, inputs: list[int], column: str) -> list[int]:
    choices = choices_of(column)
    match op:
        case "encode":
            return [exact.encode(inputs[0], float, format, **choices)]
        case "decode":
            return [exact.decode(inputs[0], format, float)]
        case "encode_scale":
            return [
                exact.encode_scale(inputs[0], float, choices.get("scale_rounding", "toward_zero"))
            ]
        case "decode_scale":
            return [exact.decode_scale(inputs[0], float)]
        case "shared_scale":
            return [
                exact.shared_scale(inputs[0], float, format, choices.get("scale_rule", "floor"))
            ]
        case "quantize":
            choices["rule"] = choices.pop("scale_rule", "floor")
            scale, codes = exact.quantize(inputs, float, ELEMENT[format], **choices)
            return [scale, *codes]
        case "dequantize":
            scale, *codes = inputs
            return [exact.dequantize(scale, code, ELEMENT[format], float) for code in codes]
    raise AssertionError(f"no such operation: {op}")


@pytest.mark.parametrize("stem", FILES)
def test_every_answer_is_the_exact_one(stem: str) -> None:
    header, cases = records(stem)
    assert len(cases) == header["cases"] > 0
    for case in cases:
        inputs = words(case["in"])
        for column, out in zip(header["columns"], outputs_of(header, case), strict=True):
            want = answer(header["op"], header["format"], header["float"], inputs, column)
            assert words(out) == want, f"{case['id']} under {column}"


@pytest.mark.parametrize(
    ("id", "want"),
    [
        ("encode.e4m3.f32.43e00000", "7e"),  # 448, the largest
        ("encode.e4m3.f32.43e80000", "7e 7e"),  # 464, the tie with 480, goes to the even 448
        ("encode.e4m3.f32.43e80001", "7e 7f"),  # just above it: overflow
        ("encode.e5m2.f32.47700000", "7b 7c"),  # 61440, the tie with 65536, goes to the even 65536
        ("encode.e2m1.f32.40a00000", "6"),  # 5 lies between 4 and 6
        ("encode.e2m1.f32.be800000", "8"),  # -0.25 is a tie of -0 and -0.5
        ("encode.int8.f32.c0000000", "81"),  # -2 is clamped to -127/64
        ("decode.int8.f32.80", "c0000000"),  # but read as -2
        ("decode.e4m3.f32.7e", "43e00000"),
        ("decode.e2m1.f32.09", "bf000000"),
        ("decode_scale.e8m0.f32.00", "00400000"),  # 2**-127
        ("decode_scale.e8m0.f32.fe", "7f000000"),  # 2**127
        ("encode_scale.e8m0.f32.3fc00000", "7f 80 80"),  # 1.5: down, up, a tie that goes away
        ("shared_scale.e4m3.f32.3f800000", "77"),  # 1.0: 2**-8
        ("shared_scale.e2m1.f32.00000000", "0"),
        ("shared_scale.int8.f32.7f800000", "ff"),
    ],
)
def test_answers_worked_out_by_hand(id: str, want: str) -> None:
    op, format, float, _ = id.split(".")
    header, cases = records(f"{op}/{format}.{float}")
    (case,) = [case for case in cases if case["id"] == id]
    got = [word for out in outputs_of(header, case) for word in words(out)]
    assert got in (words(want), words(want) * len(header["columns"]))


def test_ids_are_unique_and_name_the_input() -> None:
    seen: set[str] = set()
    for stem in FILES:
        header, cases = records(stem)
        prefix = f"{header['op']}.{header['format']}.{header['float']}."
        assert prefix[:-1] == stem.replace("/", ".")
        for case in cases:
            assert case["id"].startswith(prefix)
            assert case["id"] not in seen
            seen.add(case["id"])
            if " " not in case["in"]:
                assert case["id"] == prefix + case["in"]
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
            for column in header["columns"]
        )
        assert (case["rule"] == "N36") == differs, case["id"]
        assert not (differs and isinstance(case["out"], str)), case["id"]
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
        ("dequantize.mxfp8_e4m3.f32.7f.40", "MX-5.1", True),
        ("dequantize.mxfp8_e4m3.f32.fe.40", "N20", False),  # "implementation-defined"
    ],
)
def test_what_the_standard_requires(id: str, rule: str, *, required: bool) -> None:
    op, format, float, _ = id.split(".", 3)
    (case,) = [case for case in records(f"{op}/{format}.{float}")[1] if case["id"] == id]
    assert case["rule"] == rule
    assert isinstance(case["out"], str) == required


# --- reproducible ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def texts() -> dict[str, bytes]:
    return golden.build()


# With `test_regen_check_of_the_committed_vectors`, a build in another process with another hash
# seed, this says that two builds are identical.
def test_the_committed_folder_is_what_is_built(texts: dict[str, bytes]) -> None:
    assert golden.check(VECTORS, texts) == []


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


# --- refused when damaged -------------------------------------------------------------------------

DAMAGED = "encode/e2m1.f16.jsonl"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small vector folder: three committed files and a manifest of them."""
    files = [DAMAGED, "decode/e2m1.f32.jsonl", "quantize/mxfp4_e2m1.f32.jsonl"]
    small = tmp_path / "vectors"
    for file in files:
        (small / file).parent.mkdir(parents=True)
        shutil.copy(VECTORS / file, small / file)
    manifest = json.loads((VECTORS / "manifest.json").read_bytes())
    manifest["files"] = [entry for entry in manifest["files"] if entry["file"] in files]
    assert len(manifest["files"]) == len(files)
    (small / "manifest.json").write_text(json.dumps(manifest))
    return small


def reseal(folder: Path) -> None:
    """Bring the manifest's digests and counts up to date with the files."""
    manifest = json.loads((folder / "manifest.json").read_bytes())
    for entry in manifest["files"]:
        data = (folder / entry["file"]).read_bytes()
        entry["sha256"] = hashlib.sha256(data).hexdigest()
        entry["cases"] = data.count(b"\n") - 1
    (folder / "manifest.json").write_text(json.dumps(manifest))


def refusal(folder: Path) -> str:
    with pytest.raises(golden.VectorError) as caught:
        golden.read_vectors(folder)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_the_undamaged_folder_is_read(folder: Path) -> None:
    files = golden.read_vectors(folder)
    assert sorted(f"{file.stem}.jsonl" for file in files) == sorted(
        entry["file"] for entry in json.loads((folder / "manifest.json").read_bytes())["files"]
    )
    for file in files:
        header, cases = records(file.stem)
        assert file.columns == tuple(header["columns"])
        assert (file.op, file.format, file.float) == (
            header["op"],
            header["format"],
            header["float"],
        )
        for case, record in zip(file.cases, cases, strict=True):
            assert (case.id, case.rule, case.model) == tuple(
                record[key] for key in ("id", "rule", "model")
            )
            assert list(case.inputs) == words(record["in"])
            assert [list(out) for out in case.outputs] == list(
                map(words, outputs_of(header, record))
            )
            assert case.required == isinstance(record["out"], str)
            assert list(case.flags) == record.get("flags", [])


Edit = Callable[[list[bytes]], None]


def replace(line: int, old: bytes, new: bytes) -> Edit:
    def edit(lines: list[bytes]) -> None:
        assert old in lines[line - 1], lines[line - 1]
        lines[line - 1] = lines[line - 1].replace(old, new, 1)

    return edit


def change_key(line: int, key: str, value: object) -> Edit:
    """Set a key to a value, or take it away where the value is `...`."""

    def edit(lines: list[bytes]) -> None:
        record = json.loads(lines[line - 1])
        assert value is ... or record.get(key) != value
        record[key] = value
        if value is ...:
            del record[key]
        lines[line - 1] = json.dumps(record, separators=(",", ":")).encode()

    return edit


def upper_case(lines: list[bytes]) -> None:
    number = next(i for i, line in enumerate(lines) if b'"in":"3c00"' in line)  # 1.0
    lines[number] = lines[number].replace(b'"in":"3c00"', b'"in":"3C00"')
    lines[1:] = [lines[number], *lines[1:number], *lines[number + 1 :]]


#: name -> what is done to the lines of the file, the line that is named, the reason that is given
LINE_DAMAGE: dict[str, tuple[Edit, int, str]] = {
    "upper-case hex": (upper_case, 2, "lower-case hex digits, got '3C00'"),
    "too few digits": (change_key(5, "in", "003"), 5, "4 lower-case hex digits, got '003'"),
    "too many digits": (change_key(5, "in", "00003"), 5, "got '00003'"),
    "too many digits out": (change_key(5, "out", "006"), 5, "2 lower-case hex digits, got '006'"),
    "no hex": (change_key(5, "in", "00g3"), 5, "got '00g3'"),
    "signed hex": (change_key(5, "in", "+003"), 5, "got '\\+003'"),
    "underscored hex": (change_key(5, "in", "0_03"), 5, "got '0_03'"),
    "two spaces": (change_key(5, "in", "0003  0003"), 5, "got ''"),
    "a number as input": (change_key(5, "in", 3), 5, "has 3 as 'in'"),
    "a number as output": (change_key(5, "out", [3]), 5, "got '3'"),
    "a line lost": (lambda lines: lines.pop(9), 1, r"says \d+ cases, the file has \d+"),
    "a line twice": (lambda lines: lines.insert(9, lines[8]), 10, "id .* must be new"),
    "header only": (lambda lines: lines.__delitem__(slice(1, -1)), 1, "the file has 0"),
    "no header": (lambda lines: lines.pop(0), 1, "lacks 'mxref_vectors'"),
    "duplicate id": (change_key(5, "id", "encode.e2m1.f16.0000"), 5, "must be new"),
    "id of another file": (change_key(5, "id", "encode.e2m1.f32.0003"), 5, "must .* begin with"),
    "id no string": (change_key(5, "id", 3), 5, "has 3 as 'id'"),
    "extra key": (change_key(5, "note", "x"), 5, "unknown key 'note'"),
    "missing key": (change_key(5, "rule", ...), 5, "lacks 'rule'"),
    "a key twice": (replace(5, b'{"id"', b'{"model":"M1","id"'), 5, "a key stands twice"),
    "keys in another order": (
        lambda lines: lines.__setitem__(
            4,
            b'{"in"'
            + lines[4].partition(b'"in"')[2][:-1]
            + b","
            + lines[4].partition(b',"in"')[0][1:]
            + b"}",
        ),
        5,
        "not in canonical form",
    ),
    "a blank more": (replace(5, b'","', b'", "'), 5, "not in canonical form"),
    "an empty line": (lambda lines: lines.insert(4, b""), 5, "not a JSON object"),
    "no object": (lambda lines: lines.__setitem__(4, b"[]"), 5, "must be a JSON object"),
    "cut-off JSON": (lambda lines: lines.__setitem__(4, lines[4][:40]), 5, "not a JSON object"),
    "unknown flag": (change_key(5, "flags", ["tied"]), 5, "'tied' is no known flag"),
    "unknown model": (change_key(5, "model", "M99"), 5, "'M99' is no known flag, model or rule"),
    "unknown rule": (change_key(5, "rule", "FOO"), 5, "'FOO' is no known flag, model or rule"),
    "a flag no string": (change_key(5, "flags", [["tie"]]), 5, "is no known flag"),
    "rules not explained": (change_key(1, "rules", ...), 1, "lacks 'rules'"),
    "another rule explained": (
        replace(1, b'"rules":{', b'"rules":{"N4":"NaN in a block",'),
        1,
        "not in canonical form",
    ),
    "another explanation of a rule": (
        replace(1, b"clamping", b"clipping"),
        1,
        "not in canonical form",
    ),
    "nested without end": (
        lambda lines: lines.__setitem__(4, b"[" * 100_000),
        5,
        "not a JSON object",
    ),
    "two words in": (change_key(5, "in", "0003 0003"), 5, "must have 1 words in and 1 out"),
    "two words out": (change_key(5, "out", "00 00"), 5, "must have 1 words in and 1 out"),
    "no code of the format": (change_key(5, "out", "ff"), 5, "no code of e2m1"),
    "input of another case": (change_key(5, "in", "0004"), 5, "must end with the input"),
    "empty flags": (change_key(2, "flags", []), 2, "not in canonical form"),
    "too many outputs": (change_key(5, "out", ["00", "00"]), 5, "1 columns, got 2"),
    "wrong count": (change_key(1, "cases", 3), 1, r"says 3 cases, the file has \d+"),
    "count no number": (change_key(1, "cases", True), 1, "has True as 'cases'"),
    "unknown column": (change_key(1, "columns", ["ocq"]), 1, "'ocq' is no policy"),
    "unknown choice": (
        change_key(1, "columns", ["ocp+rounding=up"]),
        1,
        "'ocp\\+rounding=up' is no policy",
    ),
    "column not in its one spelling": (
        change_key(1, "columns", ["ocp+rounding=ties_to_even"]),
        1,
        "must be spelled 'ocp'",
    ),
    "column no string": (change_key(1, "columns", [3]), 1, "column 3 is no policy"),
    "unknown operation": (
        lambda lines: lines.__setitem__(
            slice(None), [line.replace(b"encode", b"encrypt") for line in lines]
        ),
        1,
        "op must be one of",
    ),
    "another version": (change_key(1, "mxref_vectors", "99.0.0"), 1, "version .*got '99.0.0'"),
    "another standard": (change_key(1, "spec", "OCP MX v2.0"), 1, "got .* of 'OCP MX v2.0'"),
    "wrong digits": (change_key(1, "in_digits", 8), 2, "8 lower-case hex digits, got '0000'"),
    "no digits": (change_key(1, "in_digits", 0), 2, "hex digits, got '0000'"),
    "another explanation": (replace(1, b"both signs", b"both sign"), 1, "not in canonical form"),
    "header cut off": (lambda lines: lines.__setitem__(0, lines[0][:50]), 1, "not a JSON object"),
}


@pytest.mark.parametrize("sealed", [False, True], ids=["old manifest", "new manifest"])
@pytest.mark.parametrize("damage", LINE_DAMAGE)
def test_a_damaged_file_is_refused(folder: Path, damage: str, *, sealed: bool) -> None:
    edit, line, reason = LINE_DAMAGE[damage]
    path = folder / DAMAGED
    lines = path.read_bytes().split(b"\n")
    edit(lines)
    damaged = b"\n".join(lines)
    assert damaged != path.read_bytes()
    path.write_bytes(damaged)
    if sealed:
        reseal(folder)
    message = refusal(folder)
    assert message.startswith(f"{path}:{line}: ")
    assert re.search(reason, message)


@pytest.mark.parametrize("sealed", [False, True], ids=["old manifest", "new manifest"])
def test_line_ends_are_named(folder: Path, *, sealed: bool) -> None:
    path = folder / DAMAGED
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    if sealed:
        reseal(folder)
    message = refusal(folder)
    assert message.startswith(f"{path}: has CR line ends")


@pytest.mark.parametrize(
    ("file", "flip", "reason"),
    [
        (DAMAGED, lambda data: flip_digit(data, 7), r":7: id .* must end with the input"),
        (DAMAGED, lambda data: data.replace(b'"06"', b'"07"', 1), "does not have the sha256"),
        (
            "quantize/mxfp4_e2m1.f32.jsonl",
            lambda data: flip_digit(data, 7),
            "does not have the sha256",
        ),
    ],
    ids=["in", "out", "in a block"],
)
def test_a_flipped_digit_is_refused(
    folder: Path, file: str, flip: Callable[[bytes], bytes], reason: str
) -> None:
    path = folder / file
    data = path.read_bytes()
    flipped = flip(data)
    assert flipped != data
    path.write_bytes(flipped)
    message = refusal(folder)
    assert message.startswith(str(path))
    assert re.search(reason, message)


def test_a_file_without_its_last_line_end_is_refused(folder: Path) -> None:
    path = folder / DAMAGED
    data = path.read_bytes()
    path.write_bytes(data[:-1])
    last = data.count(b"\n")
    assert refusal(folder).startswith(f"{path}:{last}: must end with a line end")


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.999])
def test_a_truncated_file_is_refused(folder: Path, share: float) -> None:
    path = folder / DAMAGED
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    assert re.match(re.escape(str(path)) + r":\d+: .*(cut off|JSON)", refusal(folder))


def test_a_byte_beyond_ascii_is_refused(folder: Path) -> None:
    path = folder / DAMAGED
    data = path.read_bytes()
    path.write_bytes(data[:100] + b"\xe9" + data[101:])
    message = refusal(folder)
    assert str(path) in message
    assert "not ASCII text at byte 100" in message


def test_a_missing_file_is_refused(folder: Path) -> None:
    (folder / DAMAGED).unlink()
    message = refusal(folder)
    assert str(folder / DAMAGED) in message
    assert "No such file" in message


def test_a_file_under_another_name_is_refused(folder: Path) -> None:
    shutil.copy(folder / "decode/e2m1.f32.jsonl", folder / DAMAGED)
    reseal(folder)
    assert re.search(r"must hold .* got \d+ of decode/e2m1.f32", refusal(folder))


def entry(**changed: object) -> Callable[[dict[str, Any]], None]:
    def edit(manifest: dict[str, Any]) -> None:
        manifest["files"][0].update(changed)

    return edit


#: name -> what is done to the manifest, the reason that is given
MANIFEST_DAMAGE: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "wrong sha256": (entry(sha256="0" * 64), "does not have the sha256 that the manifest lists"),
    "wrong count": (entry(cases=3), "must hold the 3 cases that the manifest says"),
    "parent folder": (entry(file="../x.jsonl"), "'../x.jsonl', which is no file of its folder"),
    "parent in between": (entry(file="a/../../x.jsonl"), "no file of its folder"),
    "absolute path": (entry(file="/etc/x.jsonl"), "no file of its folder"),
    "backslashes": (entry(file="..\\x.jsonl"), "no file of its folder"),
    "the folder": (entry(file="."), "no file of its folder"),
    "empty path": (entry(file=""), "no file of its folder"),
    "a null byte": (entry(file="a\0.jsonl"), "no file of its folder"),
    "a line end": (entry(file="a.jsonl\n"), "no file of its folder"),
    "a drive": (entry(file="c:x.jsonl"), "no file of its folder"),
    "another ending": (entry(file="encode/e2m1.f16.json"), "no file of its folder"),
    "listed twice": (
        lambda manifest: manifest["files"].append(manifest["files"][0]),
        "twice",
    ),
    "a number as list": (lambda manifest: manifest.update(files=5), "must hold a version and a"),
    "null as list": (lambda manifest: manifest.update(files=None), "must hold a version and a"),
    "extra key": (entry(note=""), "unknown key 'note'"),
    "no path": (entry(file=None), "has None as 'file'"),
    "count no number": (entry(cases="3"), "has '3' as 'cases'"),
    "missing key": (lambda manifest: manifest["files"][0].pop("cases"), "lacks 'cases'"),
    "empty list": (lambda manifest: manifest["files"].clear(), "lists no files"),
    "no list": (lambda manifest: manifest.pop("files"), "cannot be read: KeyError"),
    "entry no object": (lambda manifest: manifest.update(files=["x"]), "must be a JSON object"),
    "no version": (lambda manifest: manifest.pop("mxref_vectors"), "cannot be read: KeyError"),
    "another version": (
        lambda manifest: manifest.update(mxref_vectors="99.0.0"),
        "has vectors version '99.0.0', this is",
    ),
    "version no string": (lambda manifest: manifest.update(mxref_vectors=1), "version 1, this is"),
}


@pytest.mark.parametrize("damage", MANIFEST_DAMAGE)
def test_a_damaged_manifest_is_refused(folder: Path, damage: str) -> None:
    edit, reason = MANIFEST_DAMAGE[damage]
    manifest = json.loads((folder / "manifest.json").read_bytes())
    edit(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    message = refusal(folder)
    assert str(folder) in message
    assert reason in message


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[]", b"5", b"null", b"\xff", b"not JSON", b"[" * 100_000]
)
def test_a_manifest_that_is_no_json_object_is_refused(folder: Path, text: bytes) -> None:
    (folder / "manifest.json").write_bytes(text)
    assert "manifest.json cannot be read: " in refusal(folder)


def test_a_missing_manifest_is_refused(folder: Path) -> None:
    (folder / "manifest.json").unlink()
    assert re.search(r"holds no manifest.json: run `mxref regen` first", refusal(folder))


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


@_UNIX
@pytest.mark.parametrize("limit", [1, 3000, 60_000, 300_000])
def test_a_regen_killed_in_the_middle_of_a_file_leaves_whole_files(
    texts: dict[str, bytes], scratch: Path, limit: int
) -> None:
    old = old_texts(texts)
    folder = scratch / "vectors"
    lay_out(folder, old)
    with start_regen(scratch, texts, limit) as process:
        assert process.wait(60) == -signal.SIGXFSZ
    assert assert_whole(folder, old, texts) == 0  # all new files first lie beside the old ones
    assert_mended(folder, texts)


@_UNIX
@pytest.mark.parametrize("delay", [0.0, 0.003, 0.01, 0.02, 0.04, 0.08])
def test_a_regen_killed_at_any_moment_leaves_whole_files(
    texts: dict[str, bytes], scratch: Path, delay: float
) -> None:
    old = old_texts(texts)
    folder = scratch / "vectors"
    lay_out(folder, old)
    with start_regen(scratch, texts) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
    assert_whole(folder, old, texts)


@_UNIX
def test_the_command_killed_at_any_moment_leaves_whole_files(
    texts: dict[str, bytes], scratch: Path
) -> None:
    old = {**texts, "encode/e5m2.f32.jsonl": b"old\n"}
    delays = [0.05, 0.7]
    processes = []
    for number in range(len(delays)):
        folder = scratch / str(number)
        lay_out(folder, old)
        command = [sys.executable, "-m", "mxref", "regen", "--out", str(folder)]
        processes.append(subprocess.Popen(command, stdout=subprocess.DEVNULL))
    start = time.monotonic()
    for delay, process in zip(delays, processes, strict=True):
        time.sleep(max(0.0, start + delay - time.monotonic()))
        process.kill()
        process.wait(60)
    for number in range(len(delays)):
        assert_whole(scratch / str(number), old, texts)


@_UNIX
def test_a_regen_killed_while_it_mends_one_file_leaves_that_file_old(
    texts: dict[str, bytes], scratch: Path
) -> None:
    path = "encode/e5m2.f32.jsonl"
    old = {**texts, path: flip_digit(texts[path], 3)}
    folder = scratch / "vectors"
    lay_out(folder, old)
    with start_regen(scratch, texts, 1000) as process:
        assert process.wait(60) == -signal.SIGXFSZ
    assert {name: (folder / name).read_bytes() for name in old} == old


@_UNIX
def test_a_regen_that_is_not_killed_completes_the_folder(
    texts: dict[str, bytes], scratch: Path
) -> None:
    folder = scratch / "vectors"
    lay_out(folder, {**texts, "decode/e2m1.f32.jsonl": b"old\n"})
    with start_regen(scratch, texts) as process:
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    size = sum(map(len, texts.values())) / 1e6
    line = f"{len(texts)} files, {size:.1f} MB in {folder}, 1 changed"
    assert output.splitlines() == ["ready", line]
    assert golden.check(folder, texts) == []


def test_leftover_temporary_files_are_not_read(folder: Path) -> None:
    before = golden.read_vectors(folder)
    (folder / "encode" / ".e2m1.f16.jsonl.4711.tmp").write_bytes(b'{"mxref_vec')
    (folder / ".manifest.json.4711.tmp").write_bytes(b"")
    assert golden.read_vectors(folder) == before


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
    want = [" ".join([case["in"], *outputs_of(header, case)]) for case in cases]
    assert (VECTORS / f"plain/{stem}.txt").read_text("ascii") == "\n".join(want) + "\n"


def encode_cases(format: str) -> list[tuple[int, int, int]]:
    """Input, saturated and nonsaturated code; one column serves for both where a file has one."""
    header, cases = records(f"encode/{format}.f32")
    assert header["columns"] in (["ocp"], ["ocp", "ocp+overflow=nonsaturating"])
    outputs = [outputs_of(header, case) for case in cases]
    return [
        (int(case["in"], 16), int(out[0], 16), int(out[-1], 16))
        for case, out in zip(cases, outputs, strict=True)
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
        pytest.skip("no C compiler on this machine")
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

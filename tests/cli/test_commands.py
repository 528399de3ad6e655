"""The command line, from outside: what it prints, where, and with which exit status."""

from __future__ import annotations

import importlib.metadata
import io
import itertools
import json
import math
import os
import re
import shutil
import subprocess
import sys
from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import helpers
import ml_dtypes
import numpy as np
import pytest
from helpers import VECTORS, copy_vectors

import mxref
from mxref import golden
from mxref.cli import main

COMMAND = [sys.executable, "-W", "error", "-m", "mxref"]
VERBS = (
    *("formats", "explain", "quantize", "regen", "export", "score"),
    *("verify", "identify", "fuzz", "sweep", "prompts", "gen", "check"),
)
#: The environment of a user: Python's output is buffered there.
ENVIRONMENT = {k: value for k, value in os.environ.items() if k != "PYTHONUNBUFFERED"}
Result = subprocess.CompletedProcess[str]
Call = Callable[..., Result]


def run(*arguments: object, cwd: Path | None = None) -> Result:
    return helpers.run(*COMMAND, *arguments, cwd=cwd, env=ENVIRONMENT)


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """The same in this process, which is quicker, for what does not depend on the process."""

    def in_process(*arguments: object) -> Result:
        words = list(map(str, arguments))
        status = main(words)
        out, err = capsys.readouterr()
        return subprocess.CompletedProcess(words, status, out, err)

    return in_process


def assert_error(result: Result, reason: str) -> None:
    """Exit status 2, and one line on stderr alone."""
    assert result.returncode == 2
    assert result.stdout == ""
    assert re.fullmatch(r"mxref: error: [^\n]{8,500}\n", result.stderr), result.stderr
    assert "Traceback" not in result.stderr
    assert re.search(reason, result.stderr), result.stderr


def assert_sentence(result: Result, reason: str) -> None:
    """The same, and the line is one sentence."""
    assert_error(result, reason)
    assert not re.search(r"[.?!] +[A-Z(]", result.stderr), result.stderr


def strict_json(text: str) -> Any:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)


# --- the command ----------------------------------------------------------------------------------


def test_the_version() -> None:
    result = run("--version")
    assert (result.returncode, result.stderr) == (0, "")
    said = dict(line.split(" ", 1) for line in result.stdout.splitlines())
    assert said["mxref"] == mxref.__version__
    assert said["vectors"] == mxref.VECTORS_VERSION
    for module in (np, ml_dtypes):
        assert said[module.__name__] == module.__version__
    extras = {"rich": "cli", "hypothesis": "fuzz", "gguf": "io", "shtab": "completion"}
    for name, extra in extras.items():
        assert said[name] == f"{importlib.metadata.version(name)} ({extra})"
    assert "ruff" not in said


def test_the_version_of_a_bare_installation(monkeypatch: pytest.MonkeyPatch, call: Call) -> None:
    """Where a package is not installed, or mxref itself is run from a folder, nothing is said."""
    here = importlib.metadata.version

    def version(name: str) -> str:
        if name in ("rich", "gguf"):
            raise importlib.metadata.PackageNotFoundError(name)
        return here(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    out = call("--version").stdout
    assert "rich" not in out
    assert "safetensors" in out
    missing = importlib.metadata.PackageNotFoundError("mxref")
    monkeypatch.setattr(importlib.metadata, "requires", Mock(side_effect=missing))
    names = [line.split()[0] for line in call("--version").stdout.splitlines()]
    assert names == ["mxref", "vectors", "numpy", "ml_dtypes"]


def test_help_names_every_verb() -> None:
    result = run("--help")
    assert (result.returncode, result.stderr) == (0, "")
    for verb in VERBS:
        assert re.search(rf"^ +{verb} +\w", result.stdout, re.MULTILINE)


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_a_verb_has_an_example(verb: str, call: Call) -> None:
    result = call(verb, "--help")
    assert (result.returncode, result.stderr) == (0, "")
    assert re.search(rf"^example:\n  mxref {verb} \S", result.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--nope"], "required: VERB"),
        (["formats", "--no-such-option"], "unrecognized arguments: --no-such-option"),
        (["quantize", "--format", "mxint8"], "required: FILE"),
        (["verify"], "one of the arguments TARGET --cmd --results is required"),
        (["verify", "a.py", "--cmd", "b"], "--cmd: not allowed with argument TARGET"),
        (["verify", "--results", "a", "--cmd", "b"], "not allowed with argument"),
        (["gen", "encode"], "required: FORMAT"),
    ],
)
def test_misuse_of_the_command(arguments: list[str], reason: str, call: Call) -> None:
    result = call(*arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("usage: mxref ")
    assert reason in result.stderr
    assert "Traceback" not in result.stderr


def test_where_the_benchmark_is(call: Call) -> None:
    for arguments in (["bench"], ["bench", "--op", "encode"], ["bench", "--help"]):
        assert_sentence(call(*arguments), "the benchmark is `python tools/bench.py` of a checkout$")


@pytest.mark.sampled(3)
@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
@pytest.mark.parametrize("arguments", ["formats", "formats e5m2 --all", "regen --help"])
def test_a_reader_that_stops_early(arguments: str) -> None:
    command = f"{' '.join(COMMAND)} {arguments} | head -1"
    result = subprocess.run(["sh", "-c", command], env=ENVIRONMENT, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.count("\n") == 1


def run_without_reader(*arguments: object) -> Result:
    """Run with a standard output that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        return subprocess.run(
            [*COMMAND, *map(str, arguments)],
            env=ENVIRONMENT,
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
        )
    finally:
        os.close(writing)


@pytest.mark.sampled(6)
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX pipes")
@pytest.mark.parametrize(
    "arguments",
    [
        ["formats", "e2m1"],
        ["formats", "e5m2", "--all"],
        ["--help"],
        ["--version"],
        ["formats", "--help"],
    ],
    ids=["short", "long", "help", "version", "help of a verb"],
)
def test_a_reader_that_is_gone(arguments: list[str]) -> None:
    result = run_without_reader(*arguments)
    assert result.returncode != 0  # what was asked for has not been delivered
    assert result.stderr == ""


@pytest.mark.sampled(6)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    ("arguments", "buffered"),
    [
        (["formats"], False),
        (["formats"], True),
        (["formats", "e5m2", "--all"], True),
        (["--help"], True),
    ],
)
def test_a_full_disk(arguments: list[str], *, buffered: bool) -> None:
    environment = ENVIRONMENT if buffered else {**ENVIRONMENT, "PYTHONUNBUFFERED": "1"}
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [*COMMAND, *arguments], env=environment, stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert result.returncode == 2
    assert re.fullmatch(r"mxref: error: [^\n]*No space left on device\n", result.stderr)


@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
@pytest.mark.parametrize("arguments", ["formats", "--help"])
def test_output_that_is_closed(arguments: str) -> None:
    command = ["sh", "-c", f"{sys.executable} -m mxref {arguments} >&-"]
    result = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True)
    assert (result.stdout, result.stderr) == ("", "")


# --- regen ----------------------------------------------------------------------------------------


@pytest.fixture
def altered(tmp_path: Path) -> Path:
    """A copy of the vectors with three differences."""
    folder = tmp_path / "vectors"
    shutil.copytree(VECTORS, folder)
    path = folder / "encode" / "e2m1.f32.jsonl"
    lines = path.read_bytes().split(b"\n")
    lines[6] = lines[6].replace(b'"in":"', b'"in":"f', 1)
    path.write_bytes(b"\n".join(lines))
    (folder / "plain" / "encode.h").unlink()
    (folder / "encode" / "extra.jsonl").write_text("{}\n")
    return folder


def test_regen_to_a_folder_that_is_not_there(tmp_path: Path, call: Call) -> None:
    result = call("regen", "--level", "2", "--out", tmp_path / "new")
    assert_error(result, "no vectors in .*new: ")
    assert "must be a folder" not in result.stderr


def test_regen_to_a_file(tmp_path: Path, call: Call) -> None:
    path = tmp_path / "file"
    path.write_text("mine\n")
    assert_sentence(call("regen", "--out", path), f"--out must be a folder, {path} is a file")
    assert path.read_text() == "mine\n"


@pytest.mark.parametrize("verb", ["explain", "regen", "export", "score", "verify"])
def test_help_names_the_folder_that_is_read(
    verb: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([verb, "--help"]) == 0
    assert "(default: vectors/ of the checkout)" in " ".join(capsys.readouterr().out.split())
    monkeypatch.setattr(mxref, "__file__", str(tmp_path / "site" / "mxref" / "__init__.py"))
    assert main([verb, "--help"]) == 0
    assert "(default: ./vectors)" in " ".join(capsys.readouterr().out.split())
    (tmp_path / "site" / "mxref" / "_vectors").mkdir(parents=True)  # as in a wheel
    assert main([verb, "--help"]) == 0
    default = "./vectors; for --check the package's own" if verb == "regen" else "the package's own"
    assert f"(default: {default})" in " ".join(capsys.readouterr().out.split())


# --- formats --------------------------------------------------------------------------------------

#: Bits, bias, emax, largest and smallest numbers, Inf and NaN codes. Source: OCP MX v1.0 5.3,
#: Tables 2 to 7; OFP8 Rev 1.0 Table 1; IEEE 754-2019 Table 3.5; of the others SPEC_NOTES, Formats.
PROPERTIES: dict[str, tuple[Any, ...]] = {
    "e5m2": (8, 15, 15, 57344, 2**-14, 0.75 * 2**-14, 2**-16, "7c fc", "7d-7f fd-ff"),
    "e4m3": (8, 7, 8, 448, 2**-6, 0.875 * 2**-6, 2**-9, "-", "7f ff"),
    "e3m2": (6, 3, 4, 28, 0.25, 0.1875, 0.0625, "-", "-"),
    "e2m3": (6, 1, 2, 7.5, 1, 0.875, 0.125, "-", "-"),
    "e2m1": (4, 1, 2, 6, 1, 0.5, 0.5, "-", "-"),
    "int8": (8, None, 0, 127 / 64, None, None, None, "-", "-"),
    "e8m0": (8, 127, 127, 2**127, 2**-127, None, None, "-", "ff"),
    "e5m0": (5, 15, 15, 2**15, 2**-15, None, None, "-", "1f"),
    "ue4m3": (7, 7, 8, 448, 2**-6, 0.875 * 2**-6, 2**-9, "-", "7f"),
    "ue5m3": (8, 15, 16, 114688, 2**-14, 0.875 * 2**-14, 2**-17, "-", "ff"),
    "binary8p1uf": (8, 128, 126, 2**126, 2**-127, None, None, "-", "ff"),
    "binary8p3ue": (8, 32, 31, 1.25 * 2**31, 2**-31, 0.75 * 2**-31, 2**-33, "fe", "ff"),
    "binary8p4ue": (8, 16, 15, 53248, 2**-15, 0.875 * 2**-15, 2**-18, "fe", "ff"),
    "e4m3fnuz": (8, 8, 7, 240, 2**-7, 0.875 * 2**-7, 2**-10, "-", "80"),
    "e5m2fnuz": (8, 16, 15, 57344, 2**-15, 0.75 * 2**-15, 2**-17, "-", "80"),
    "e4m3b11fnuz": (8, 11, 4, 30, 2**-10, 0.875 * 2**-10, 2**-13, "-", "80"),
    "e3m4": (8, 3, 3, 15.5, 0.25, 15 * 2**-6, 2**-6, "70 f0", "71-7f f1-ff"),
    "e4m3_ieee": (8, 7, 7, 240, 2**-6, 0.875 * 2**-6, 2**-9, "78 f8", "79-7f f9-ff"),
    "e1m2": (4, 1, 0, 1.75, 1, 0.75, 0.25, "-", "-"),
    "binary8p3": (8, 16, 15, 49152, 2**-15, 0.75 * 2**-15, 2**-17, "7f ff", "80"),
    "binary8p4": (8, 8, 7, 224, 2**-7, 0.875 * 2**-7, 2**-10, "7f ff", "80"),
    "f16": (16, 15, 15, 65504, 2**-14, 1023 * 2**-24, 2**-24, "7c00 fc00", "7c01-7fff fc01-ffff"),
    "bf16": (
        *(16, 127, 127, 255 * 2**120, 2**-126, 127 * 2**-133, 2**-133),
        *("7f80 ff80", "7f81-7fff ff81-ffff"),
    ),
    "f32": (
        *(32, 127, 127, (2**24 - 1) * 2**104, 2**-126, (2**23 - 1) * 2**-149, 2**-149),
        *("7f800000 ff800000", "7f800001-7fffffff ff800001-ffffffff"),
    ),
    "f64": (
        *(64, 1023, 1023, (2**53 - 1) * 2**971, 2.0**-1022, (2**52 - 1) * 2.0**-1074),
        *(2.0**-1074, "7ff0000000000000 fff0000000000000"),
        "7ff0000000000001-7fffffffffffffff fff0000000000001-ffffffffffffffff",
    ),
}
_KEYS = (
    *("bits", "bias", "emax", "max normal", "min normal", "max subnormal", "min subnormal"),
    *("inf", "nan"),
)
BLOCKS = {
    "mxfp8_e5m2": ("e5m2", 264),
    "mxfp8_e4m3": ("e4m3", 264),
    "mxfp6_e3m2": ("e3m2", 200),
    "mxfp6_e2m3": ("e2m3", 200),
    "mxfp4_e2m1": ("e2m1", 136),
    "mxint8": ("int8", 264),
    "nvfp4": ("e2m1", 71),  # UE4M3 has 7 bits
    "fp4_ue4m3": ("e2m1", 71),
    "fp4_ue5m3": ("e2m1", 72),
}


def test_formats_lists_every_format() -> None:
    result = run("formats")
    assert (result.returncode, result.stderr) == (0, "")
    names = [line.split()[0] for line in result.stdout.splitlines() if line]
    assert names == ["format", *(n for n in names if n in PROPERTIES), "block", *BLOCKS]
    assert {*PROPERTIES, *BLOCKS, "format", "block"} == set(names)


def test_formats_as_json(call: Call) -> None:
    result = call("formats", "--json")
    assert (result.returncode, result.stderr) == (0, "")
    record = strict_json(result.stdout)
    assert {row["format"]: tuple(row[key] for key in _KEYS) for row in record["formats"]} == (
        PROPERTIES
    )
    assert {
        row["block format"]: (row["element"], row["bits per block"])
        for row in record["block_formats"]
    } == BLOCKS
    for row in record["block_formats"]:
        stored = 16 * 4 + 8 if row["block size"] == 16 else row["bits per block"]
        assert row["stored bits"] == stored
    keys = ("scale", "block size", "tensor scale")
    others = {"nvfp4": ("ue4m3", 16, True), "fp4_ue4m3": ("ue4m3", 16, False)}
    others["fp4_ue5m3"] = ("ue5m3", 16, False)
    for row in record["block_formats"]:
        want = others.get(row["block format"], ("e8m0", 32, False))
        assert tuple(row[key] for key in keys) == want


UNSIGNED = ("e8m0", "e5m0", "ue4m3", "ue5m3", "binary8p1uf", "binary8p3ue", "binary8p4ue")
#: Codes of NaN and infinity. Source: as of the properties.
NAN_CODES: dict[str, set[int]] = {
    "e5m2": {0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF},
    "e4m3": {0x7F, 0xFF},
    "e8m0": {0xFF},
    "e5m0": {0x1F},
    "ue4m3": {0x7F},
    "ue5m3": {0xFF},
    "binary8p1uf": {0xFF},
    "binary8p3ue": {0xFF},
    "binary8p4ue": {0xFF},
    "e4m3fnuz": {0x80},
    "e5m2fnuz": {0x80},
    "e4m3b11fnuz": {0x80},
    "e3m4": {*range(0x71, 0x80), *range(0xF1, 0x100)},
    "e4m3_ieee": {*range(0x79, 0x80), *range(0xF9, 0x100)},
    "binary8p3": {0x80},
    "binary8p4": {0x80},
}
INF_CODES = {
    "e5m2": {0x7C: "inf", 0xFC: "-inf"},
    "e3m4": {0x70: "inf", 0xF0: "-inf"},
    "e4m3_ieee": {0x78: "inf", 0xF8: "-inf"},
    "binary8p3": {0x7F: "inf", 0xFF: "-inf"},
    "binary8p4": {0x7F: "inf", 0xFF: "-inf"},
    "binary8p3ue": {0xFE: "inf"},
    "binary8p4ue": {0xFE: "inf"},
}


def value_of(code: int, name: str) -> float:
    """The number that a code stands for, from widths and bias; for codes of numbers only."""
    if name == "int8":
        return (code - 256 * (code >= 128)) / 64
    bits, bias = PROPERTIES[name][:2]
    fraction = {"e5m2": 2, "e3m2": 2, "e2m1": 1, "e8m0": 0, "e5m0": 0, "e3m4": 4, "e1m2": 2}.get(
        name
    )
    if fraction is None:
        fraction = 2 if name in ("e5m2fnuz", "binary8p3", "binary8p3ue") else 3
    if name == "binary8p1uf":
        fraction = 0
    negative = name not in UNSIGNED and code >> (bits - 1)
    field, rest = divmod(code % (1 << (bits - 1)) if negative else code, 1 << fraction)
    no_zero = name in ("e8m0", "e5m0")
    if field or no_zero:
        rest += 1 << fraction
    value = math.ldexp(rest, max(field, not no_zero) - bias - fraction)
    return -value if negative else value


#: Formats of which not every code is printed.
LARGE = ("ue4m3", "f16", "bf16", "f32", "f64")


@pytest.mark.parametrize("name", [name for name in PROPERTIES if name not in LARGE])
def test_formats_of_one_format_gives_its_values(call: Call, name: str) -> None:
    result = call("formats", name, "--all", "--json")
    assert (result.returncode, result.stderr) == (0, "")
    record = strict_json(result.stdout)
    assert tuple(record[key] for key in _KEYS) == PROPERTIES[name]
    bits = PROPERTIES[name][0]
    assert [int(row["code"], 16) for row in record["codes"]] == list(range(1 << bits))
    notes = {row["note"] for row in record["codes"]}
    assert any("max" in note for note in notes)
    assert {
        int(row["code"], 16) for row in record["codes"] if row["value"] in ("nan", "-nan")
    } == NAN_CODES.get(name, set())
    infinities = {
        int(row["code"], 16): row["value"]
        for row in record["codes"]
        if row["value"] in ("inf", "-inf")
    }
    assert infinities == INF_CODES.get(name, {})
    for row in record["codes"]:
        code = int(row["code"], 16)
        assert int(row["bits"].replace(" ", ""), 2) == code
        assert len(row["bits"].replace(" ", "")) == bits
        if code in NAN_CODES.get(name, set()) or code in infinities:
            continue
        value = float.fromhex(row["hex value"])
        want = value_of(code, name)
        assert (value, math.copysign(1, value)) == (want, math.copysign(1, want))
        assert float(row["value"]) == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("name", [*LARGE, *BLOCKS])
def test_formats_of_every_other_name(call: Call, name: str) -> None:
    result = call("formats", name, "--json")
    assert (result.returncode, result.stderr) == (0, "")
    record = strict_json(result.stdout)
    if name in BLOCKS:
        assert (record["element"], record["bits per block"]) == BLOCKS[name]
    else:
        assert tuple(record[key] for key in _KEYS) == PROPERTIES[name]


def test_formats_of_a_block_format_in_words(call: Call) -> None:
    lines = call("formats", "nvfp4").stdout.splitlines()
    assert [line.split(maxsplit=2)[-1] for line in lines[:1]] == ["nvfp4"]
    assert {"element        e2m1", "scale          ue4m3", "tensor scale   yes"} < set(lines)
    assert {"bits per block 71", "stored bits    72"} < set(lines)
    assert "bits per block: 16 elements of 4 and a scale of 7 bits" in lines
    assert "stored bits: ue4m3 codes have no sign, and lie in a byte each" in lines
    assert "tensor scale: one float32 for the whole tensor, in neither figure" in lines
    lines = call("formats", "mxfp4_e2m1").stdout.splitlines()
    assert {"bits per block 136", "stored bits    136"} < set(lines)
    assert lines[-1] == "bits per block: 32 elements of 4 and a scale of 8 bits"
    assert "tensor scale   no" in call("formats", "fp4_ue5m3").stdout.splitlines()


def test_formats_of_one_format_in_words(call: Call) -> None:
    result = call("formats", "e2m1")
    assert (result.returncode, result.stderr) == (0, "")
    properties, _, table = result.stdout.partition("\n\n")
    assert dict(re.findall(r"^(.{14}) (.*)$", properties, re.MULTILINE)) == {
        f"{name:14}": value
        for name, value in [
            *(("format", "e2m1"), ("bits", "4"), ("s/e/m", "1/2/1"), ("bias", "1"), ("emax", "2")),
            *(("max normal", "6"), ("min normal", "1"), ("max subnormal", "0.5")),
            *(("min subnormal", "0.5"), ("inf", "-"), ("nan", "-")),
        ]
    }
    header, *rows = table.splitlines()
    assert header.split() == ["code", "bits", "value", "hex", "value", "note"]
    values = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    assert [row.split()[4] for row in rows] == [
        *(f"{value:g}" for value in values),
        *(f"-{value:g}" for value in values),
    ]
    assert rows[9].split()[:6] == ["9", "1", "00", "1", "-0.5", "-0x1p-1"]


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("e2m4", "e[23]m"),
        ("mxfp4_e2m3", "mxfp"),
        ("fnuz", "e[45]m[23]fnuz'"),
    ],
)
def test_formats_of_an_unknown_name(name: str, near: str, call: Call) -> None:
    result = call("formats", name)
    assert_sentence(result, rf"got '{name}' \(did you mean '{near}")


@pytest.mark.parametrize(
    ("typed", "name"), [("E4M3", "e4m3"), ("mxfp4", "mxfp4_e2m1"), ("torch.float8_e5m2", "e5m2")]
)
def test_formats_of_a_name_as_typed(typed: str, name: str, call: Call) -> None:
    assert call("formats", typed).stdout == call("formats", name).stdout


def test_formats_of_a_name_like_no_other(call: Call) -> None:
    assert_sentence(call("formats", "zzzzzz"), "must be one of e5m2, .*got 'zzzzzz'$")


# --- quantize -------------------------------------------------------------------------------------

#: Fraction bits, smallest exponent, largest magnitude code, emax. INT8 is a format of one exponent.
GRIDS = {
    "mxfp8_e5m2": (2, -14, 0x7B, 15),
    "mxfp8_e4m3": (3, -6, 0x7E, 8),
    "mxfp6_e3m2": (2, -2, 0x1F, 4),
    "mxfp6_e2m3": (3, 0, 0x1F, 2),
    "mxfp4_e2m1": (1, 0, 0x07, 2),
    "mxint8": (6, 0, 0x7F, 0),
}


def grid(block: str) -> list[float]:
    """The magnitudes of a format, by their codes. Source: OCP MX v1.0 5.3."""
    m, emin, last, _ = GRIDS[block]
    return [
        math.ldexp(code % 2**m + 2**m * (code >= 2**m), emin + max((code >> m) - 1, 0) - m)
        for code in range(last + 1)
    ]


def signed(code: int, negative: bool, block: str) -> int:
    """A magnitude code with its sign: two's complement in INT8, else the top bit."""
    bits = {"mxfp6_e3m2": 6, "mxfp6_e2m3": 6, "mxfp4_e2m1": 4}.get(block, 8)
    if not negative:
        return code
    return -code % 256 if block == "mxint8" else code | 1 << (bits - 1)


class Reference:
    """Blocks along the last axis, one number at a time in float64; NaN makes a NaN block."""

    def __init__(self, values: np.ndarray, block: str) -> None:
        magnitudes, emax = grid(block), GRIDS[block][3]
        middles = [(low + high) / 2 for low, high in itertools.pairwise(magnitudes)]
        self.scales: list[int] = []
        self.codes: list[int] = []
        self.saturated = self.flushed = self.nans = 0
        self.squares: list[float] = []
        self.errors: list[float] = []
        rows = values.astype(np.float64).reshape(-1, values.shape[-1]).tolist()
        for numbers in (row[i : i + 32] for row in rows for i in range(0, len(row), 32)):
            padding = [0] * (32 - len(numbers))
            if any(map(math.isnan, numbers)):
                self.scales.append(0xFF)
                self.codes += [0] * 32
                self.nans += len(numbers)
                continue
            amax = max(map(abs, numbers))
            exponent = math.frexp(amax)[1] - 1 - emax if amax else -127
            exponent = min(max(exponent, -127), 127)
            self.scales.append(exponent + 127)
            for x in numbers:
                scaled = math.ldexp(abs(x), -exponent)
                code = bisect_right(middles, scaled)
                if code and scaled == middles[code - 1] and code % 2:
                    code -= 1  # a tie goes to the even code
                result = math.copysign(math.ldexp(magnitudes[code], exponent), x)
                self.codes.append(signed(code, math.copysign(1, x) < 0, block))
                self.saturated += scaled > magnitudes[-1]
                self.flushed += x != 0 and result == 0
                self.squares.append(x * x)
                self.errors.append(result - x)
            self.codes += padding

    def report(self, count: int) -> dict[str, Any]:
        noise = math.fsum(error * error for error in self.errors)
        return {
            "blocks": len(self.scales),
            "sqnr_db": 10 * math.log10(math.fsum(self.squares) / noise),
            "saturated": self.saturated / count,
            "flushed": self.flushed / count,
            "largest_error": max(map(abs, self.errors)),
            "not_finite": self.nans / count,
            "nan_blocks": self.scales.count(0xFF),
        }


def tensor(shape: tuple[int, ...] = (5, 70)) -> np.ndarray:
    """Numbers of many sizes, zeros of both signs and ties among them; every one is a bfloat16."""
    generator = np.random.default_rng(20230920)
    values = generator.standard_normal(shape) * 2.0 ** generator.integers(-6, 7, shape)
    values = values.astype(ml_dtypes.bfloat16).astype(np.float64)
    flat = values.reshape(-1)
    flat[::23] = 0.0
    flat[5::29] = -0.0
    flat[7::31] = 2.5  # in some blocks a tie
    return values


#: name -> how the tensor is stored, further options, the dtype that is reported
STORED: dict[str, tuple[Any, list[str], str]] = {
    "float64": (lambda x: x, [], "float64"),
    "float32": (lambda x: x.astype(np.float32), [], "float32"),
    "float16": (lambda x: x.astype(np.float16), [], "float16"),
    "big-endian float32": (lambda x: x.astype(">f4"), [], ">f4"),
    "big-endian float64": (lambda x: x.astype(">f8"), [], ">f8"),
    "Fortran order": (lambda x: np.asfortranarray(x.astype(np.float32)), [], "float32"),
    "bfloat16": (lambda x: x.astype(ml_dtypes.bfloat16), ["--bfloat16"], "bfloat16"),
    "bits of bfloat16": (
        lambda x: x.astype(ml_dtypes.bfloat16).view(np.uint16),
        ["--bfloat16"],
        "bfloat16",
    ),
}


@pytest.mark.parametrize("stored", STORED)
def test_quantize_reports_what_it_costs(tmp_path: Path, stored: str, call: Call) -> None:
    store, options, dtype = STORED[stored]
    values = tensor()
    path = tmp_path / "x.npy"
    np.save(path, store(values))
    result = call("quantize", path, "--format", "mxfp4_e2m1", "--json", *options)
    assert (result.returncode, result.stderr) == (0, "")
    report = strict_json(result.stdout)
    # Every number is the same in each type, but for float16's range.
    kept = values.astype(np.float16) if stored == "float16" else values
    want = Reference(kept, "mxfp4_e2m1").report(values.size)
    assert (report["shape"], report["dtype"]) == ([5, 70], dtype)
    assert (report["file"], report["format"], report["policy"]) == (str(path), "mxfp4_e2m1", "ocp")
    assert {key: report[key] for key in want} == pytest.approx(want, rel=1e-12, abs=1e-15)
    assert 0 < want["saturated"] < 1
    assert 0 < want["flushed"] < 1


@pytest.mark.parametrize("block", GRIDS)
def test_quantize_writes_the_blocks(tmp_path: Path, call: Call, block: str) -> None:
    values = tensor((3, 2, 40)).astype(np.float32)
    path, out = tmp_path / "x.npy", tmp_path / "new" / "x.npz"
    np.save(path, values)
    result = call("quantize", path, "--format", block, "-o", out, "--json")
    assert (result.returncode, result.stderr) == (0, "")
    report = strict_json(result.stdout)
    assert report["out"] == str(out)
    reference = Reference(values, block)
    want = reference.report(values.size)
    assert {key: report[key] for key in want} == pytest.approx(want, rel=1e-12, abs=1e-15)
    with np.load(out) as archive:
        written = {name: archive[name] for name in archive.files}
    assert set(written) == {"codes", "scale_codes", "shape", "axis", "block_size", "format"}
    assert written["codes"].dtype == written["scale_codes"].dtype == np.uint8
    assert written["codes"].shape == (3, 2, 64)
    assert written["scale_codes"].shape == (3, 2, 2)
    assert written["codes"].reshape(-1).tolist() == reference.codes
    assert written["scale_codes"].reshape(-1).tolist() == reference.scales
    assert written["shape"].tolist() == [3, 2, 40]
    assert (int(written["axis"]), int(written["block_size"])) == (2, 32)
    assert str(written["format"]) == block
    blocks = mxref.quantize(values, block)
    assert (written["codes"] == blocks.codes).all()
    assert (written["scale_codes"] == blocks.scale_codes).all()
    assert sorted(path.name for path in out.parent.iterdir()) == ["x.npz"]


def test_quantize_along_another_axis_under_another_policy(tmp_path: Path, call: Call) -> None:
    values = tensor((20, 6)).astype(np.float32)
    path, out = tmp_path / "x.npy", tmp_path / "x.npz"
    np.save(path, values)
    options = ["--axis", "0", "--block-size", "8", "--policy", "ocp+rounding=toward_zero"]
    result = call("quantize", path, "--format", "mxfp8_e4m3", "-o", out, "--json", *options)
    assert (result.returncode, result.stderr) == (0, "")
    report = strict_json(result.stdout)
    assert (report["blocks"], report["policy"]) == (18, "ocp+rounding=toward_zero")
    blocks = mxref.quantize(values, "mxfp8_e4m3", axis=0, block_size=8, rounding="toward_zero")
    assert report["largest_error"] == np.abs(blocks.dequantize(np.float64) - values).max()
    with np.load(out) as written:
        assert (written["codes"] == blocks.codes).all()
        assert (written["scale_codes"] == blocks.scale_codes).all()
        assert (int(written["axis"]), int(written["block_size"])) == (0, 8)


def test_quantize_leaves_nan_blocks_out_of_the_figures(tmp_path: Path, call: Call) -> None:
    values = tensor((4, 32)).astype(np.float32)
    values[2, 3] = np.nan
    path = tmp_path / "x.npy"
    np.save(path, values)
    result = call("quantize", path, "--format", "mxfp6_e3m2", "--json")
    assert (result.returncode, result.stderr) == (0, "")
    report = strict_json(result.stdout)
    want = Reference(values, "mxfp6_e3m2").report(values.size)
    assert (want["nan_blocks"], want["not_finite"]) == (1, 0.25)
    assert {key: report[key] for key in want} == pytest.approx(want, rel=1e-12, abs=1e-15)


def test_quantize_in_words(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    # Scale 1: 7 is clamped to 6, 0.25 is a tie and goes to 0, the others are exact.
    np.save(path, np.float32([7, 0.25, -4, -4, 1, 1, 1, 1]))
    result = run("quantize", path, "--format", "mxfp4_e2m1")
    assert (result.returncode, result.stderr) == (0, "")
    lines = dict(line.split(maxsplit=1) for line in result.stdout.splitlines())
    sqnr = 10 * math.log10((49 + 0.0625 + 32 + 4) / (1 + 0.0625))
    assert lines == {
        "file": str(path),
        "format": "mxfp4_e2m1",
        "policy": "ocp",
        "shape": "[8]",
        "dtype": "float32",
        "blocks": "1",
        "sqnr_db": f"{sqnr:.6g}",
        "saturated": "0.125",
        "flushed": "0.125",
        "largest_error": "1",
        "not_finite": "0",
        "nan_blocks": "0",
    }


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3)])
def test_quantize_of_an_empty_array(tmp_path: Path, call: Call, shape: tuple[int, ...]) -> None:
    path, out = tmp_path / "x.npy", tmp_path / "x.npz"
    np.save(path, np.zeros(shape, np.float32))
    result = call("quantize", path, "--format", "mxfp4_e2m1", "--json", "-o", out)
    assert (result.returncode, result.stderr) == (0, "")
    report = strict_json(result.stdout)
    assert (report["shape"], report["blocks"], report["sqnr_db"]) == (list(shape), 0, None)
    assert (report["saturated"], report["not_finite"], report["largest_error"]) == (0, 0, 0)
    with np.load(out) as written:
        assert written["codes"].size == written["scale_codes"].size == 0


def test_quantize_without_noise_has_no_ratio(tmp_path: Path, call: Call) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.float32([1, 2, 3, -0.0]))
    report = strict_json(call("quantize", path, "--format", "mxfp4_e2m1", "--json").stdout)
    assert (report["sqnr_db"], report["largest_error"], report["flushed"]) == (None, 0, 0)


@pytest.mark.parametrize(
    ("values", "unsaid"),
    [
        ([], {"sqnr_db", "saturated", "flushed", "largest_error", "not_finite"}),
        ([np.nan, 1], {"sqnr_db", "largest_error"}),
        ([0, 0], {"sqnr_db"}),
        ([7, 0.25], set()),
    ],
)
def test_quantize_prints_a_dash_where_nothing_can_be_said(
    values: list[float], unsaid: set[str], tmp_path: Path, call: Call
) -> None:
    np.save(tmp_path / "x.npy", np.float32(values))
    result = call("quantize", tmp_path / "x.npy", "--format", "mxfp4_e2m1")
    found = dict(line.split(maxsplit=1) for line in result.stdout.splitlines())
    assert {name for name, text in found.items() if text == "-"} == unsaid
    assert "None" not in found.values()


def stored(values: Any, **options: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, values, **options)
    return buffer.getvalue()


def archived(values: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, x=values)
    return buffer.getvalue()


def header(shape: str) -> bytes:
    """A file that says that it has this shape, and has one number."""
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}".encode()
    text += b" " * (117 - len(text)) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + b"1234"


_FLOATS = np.zeros(100, np.float32)
#: name -> content of the file, what the message says
BAD_FILES: dict[str, tuple[bytes, str]] = {
    "no content": (b"", "must be a whole .npy file, it does not begin as one"),
    "cut off in the header": (stored(_FLOATS)[:60], "numbers, it is cut or damaged"),
    "a shape beyond memory": (header("(1000000000000,)}"), "must be a whole .npy file"),
    "a shape beyond all numbers": (header("(100000000000000000000,)}"), "must be a whole .npy fi"),
    "an open bracket": (header("(1,"), "must be a whole .npy file"),
    "an open string": (header("'''"), "must be a whole .npy file"),
    "a shape below zero": (header("(-1,)}"), "must be a whole .npy file"),
    "objects": (
        stored(np.array([1.0, "a"], object), allow_pickle=True),
        "must be a whole .npy file of numbers, it holds Python objects",
    ),
    "another version": (b"\x93NUMPY\x09\x00" + stored(_FLOATS)[8:], "must be a whole .npy file"),
    "an archive": (archived(_FLOATS), "must be a whole .npy file, it does not begin as one"),
    "half an archive": (archived(_FLOATS)[:100], "must be a whole .npy file, it does not begin"),
    "the beginning of an archive": (b"PK\x03\x04text", "must be a whole .npy file, it does not"),
    "booleans": (stored(np.zeros(5, bool)), "must be float64, float32, .*got bool"),
    "complex numbers": (stored(np.zeros(5, complex)), "must be float64, .*got complex128"),
    "text array": (stored(np.array(["a"])), "must be float64, .*got <U1"),
    "records": (stored(np.zeros(3, [("a", "f4")])), "must be float64, float32"),
    "bfloat16 unsaid": (stored(_FLOATS.astype(ml_dtypes.bfloat16)), "is it --bfloat16"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_file_that_cannot_be_quantized(tmp_path: Path, call: Call, name: str) -> None:
    content, reason = BAD_FILES[name]
    path, out = tmp_path / "x.npy", tmp_path / "x.npz"
    path.write_bytes(content)
    assert_sentence(call("quantize", path, "--format", "mxfp4_e2m1", "-o", out), reason)
    assert not out.exists()


#: The same, where NumPy's own words are several sentences: content, what the message says.
LONG_WINDED = {
    "cut off in the numbers": (stored(_FLOATS)[:-100], " of numbers, it is cut or damaged"),
    "header only": (stored(_FLOATS)[:128], " of numbers, it is cut or damaged"),
    "cut off in the magic": (stored(_FLOATS)[:5], ", it does not begin as one"),
    "a pickle": (b"\x80\x04]\x94G?\xf0\x00\x00\x00\x00\x00\x00a.", ", it does not begin as one"),
    "text": (b"1.0 2.0\n", ", it does not begin as one"),
}


@pytest.mark.parametrize("name", LONG_WINDED)
def test_a_file_that_is_damaged(tmp_path: Path, name: str, call: Call) -> None:
    content, reason = LONG_WINDED[name]
    path, out = tmp_path / "x.npy", tmp_path / "x.npz"
    path.write_bytes(content)
    result = call("quantize", path, "--format", "mxfp4_e2m1", "-o", out)
    assert_sentence(result, rf"x\.npy must be a whole \.npy file{reason}\n")
    assert "unsafely" not in result.stderr
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["x.npy", "--format", "e2m1"], "element format 'e2m1': use 'mxfp4_e2m1'"),
        (["x.npy", "--format", "mxfp4_e2m"], r"\(did you mean 'mxfp4_e2m1'\?\)"),
        (["x.npy", "--format", "mxint8", "--axis", "1"], r"axis must be in \[-1, 0\] .*got 1"),
        (["x.npy", "--format", "mxint8", "--block-size", "0"], "at least 1, got 0"),
        (
            ["x.npy", "--format", "mxint8", "--policy", "ocq"],
            r"policy must be ocp, or ocp\+choice.*'ocq'",
        ),
        (
            ["x.npy", "--format", "mxint8", "--policy", "ocp+scale_rounding=to_odd"],
            "does not read the choice 'scale_rounding'",
        ),
        (["x.npy", "--format", "mxint8", "--bfloat16"], r"needs uint16 or .* x\.npy has float32"),
        (["x.npy", "--format", "mxint8", "-o", "x.bin"], r"must end in \.npz, .*, got x\.bin"),
        (["x.npy", "--format", "mxint8", "-o", "x"], r"must end in \.npz, .*, got x\n"),
        (["x.npy", "--format", "mxint8", "--block-size", str(10**13)], "must be at most 2"),
    ],
)
def test_misuse_of_quantize(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: Call,
    arguments: list[str],
    reason: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", _FLOATS)
    Path("folder.npz").mkdir()
    before = sorted(tmp_path.rglob("*"))
    assert_sentence(call("quantize", *arguments), reason)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["."], r": \.: Is a directory"),
        (["x.npy", "-o", "x.npy/y.npz"], r"x\.npy/y\.npz: (File exists|Not a directory)"),
        (["x.npy", "-o", "folder.npz"], r"folder\.npz: Is a directory"),
    ],
)
def test_paths_that_quantize_cannot_use(tmp_path: Path, arguments: list[str], reason: str) -> None:
    np.save(tmp_path / "x.npy", _FLOATS)
    (tmp_path / "folder.npz").mkdir()
    before = sorted(tmp_path.rglob("*"))
    assert_sentence(run("quantize", *arguments, "--format", "mxint8", cwd=tmp_path), reason)
    assert sorted(tmp_path.rglob("*")) == before


def test_quantize_of_a_missing_file(tmp_path: Path) -> None:
    result = run("quantize", "x.npy", "--format", "mxint8", "-o", "x.npz", cwd=tmp_path)
    assert_sentence(result, r": x\.npy: No such file or directory\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("dtype", ["i1", "u1", "<i4", ">i2", "i8", "u8"])
def test_quantize_of_an_array_of_integers(tmp_path: Path, call: Call, dtype: str) -> None:
    values = np.arange(96).reshape(2, 48) % 61 - (0 if dtype.startswith("u") else 30)
    archives, reports = [], []
    for name, stored_as in (("integers", dtype), ("floats", "f8")):
        path, out = tmp_path / f"{name}.npy", tmp_path / f"{name}.npz"
        np.save(path, values.astype(stored_as))
        result = call("quantize", path, "--format", "mxfp8_e4m3", "-o", out, "--json")
        assert (result.returncode, result.stderr) == (0, "")
        reports.append(strict_json(result.stdout))
        with np.load(out) as written:
            archives.append({key: written[key].tolist() for key in written.files})
        assert archives[-1].pop("dtype") == str(np.dtype(stored_as))
    assert archives[0] == archives[1]
    assert reports[0].pop("dtype") == str(np.dtype(dtype))
    for key in ("dtype", "file", "out"):
        reports[1].pop(key)
    assert reports[0] == {**reports[1], **{key: reports[0][key] for key in ("file", "out")}}


def test_big_endian_bits_of_bfloat16(tmp_path: Path, call: Call) -> None:
    path = tmp_path / "x.npy"
    bits = tensor().astype(ml_dtypes.bfloat16).view(np.uint16)
    reports = []
    for dtype in ("<u2", ">u2"):
        np.save(path, bits.astype(dtype))
        result = call("quantize", path, "--format", "mxint8", "--bfloat16", "--json")
        assert (result.returncode, result.stderr) == (0, "")
        reports.append(strict_json(result.stdout))
    assert reports[0] == reports[1]


@pytest.mark.parametrize("dtype", ["f2", "i2", "u4", "f8"])
def test_no_other_type_is_taken_for_bfloat16(tmp_path: Path, call: Call, dtype: str) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.ones(32, dtype))
    result = call("quantize", path, "--format", "mxint8", "--bfloat16")
    assert_sentence(result, rf"--bfloat16 needs .* has {np.dtype(dtype)}\n")


@pytest.mark.parametrize("scale", [1e300, 1e-200])
def test_ratio_of_numbers_whose_squares_overflow(tmp_path: Path, call: Call, scale: float) -> None:
    path = tmp_path / "x.npy"
    values = np.array([1.0, 0.3, 0.7]) * scale
    np.save(path, values)
    result = call("quantize", path, "--format", "mxfp4_e2m1", "--json")
    assert (result.returncode, result.stderr) == (0, "")
    report = strict_json(result.stdout)
    # What is lost of numbers beyond every scale is all but all of them, or all.
    assert report["sqnr_db"] == pytest.approx(0, abs=1e-12)
    assert report["largest_error"] == pytest.approx(scale, rel=1e-12)


@pytest.mark.sampled(6)
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX limits")
@pytest.mark.parametrize("old", [None, b"an older file"])
def test_quantize_on_a_full_disk(tmp_path: Path, old: bytes | None) -> None:
    path, out = tmp_path / "x.npy", tmp_path / "x.npz"
    np.save(path, np.zeros(10_000, np.float32))
    if old is not None:
        out.write_bytes(old)
    before = sorted(tmp_path.iterdir())
    # No file may grow beyond one block; the archive would have ten thousand bytes.
    command = ["sh", "-c", 'ulimit -f 1; exec "$@"', "sh", *COMMAND]
    arguments = ["quantize", str(path), "--format", "mxfp4_e2m1", "-o", str(out)]
    result = subprocess.run([*command, *arguments], env=ENVIRONMENT, capture_output=True, text=True)
    assert_sentence(result, "File too large")
    assert sorted(tmp_path.iterdir()) == before
    assert old is None or out.read_bytes() == old


@pytest.mark.skipif(
    os.name != "posix" or os.geteuid() == 0, reason="permissions do not bind this user"
)
def test_quantize_into_a_folder_without_permission(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", _FLOATS)
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    out = folder / "x.npz"
    result = run("quantize", tmp_path / "x.npy", "--format", "mxint8", "-o", out)
    assert_sentence(result, "Permission denied")
    assert list(folder.iterdir()) == []


# --- verify and regen, from a working folder of their own -----------------------------------------

TARGET = """\
import mxref

def decode(codes, format):
    return mxref.decode(codes, format){wrong}
"""


@pytest.fixture
def few_vectors(tmp_path: Path) -> Path:
    """A folder with a copy of one vector file."""
    return copy_vectors(tmp_path / "few", "decode/e2m1.f32.jsonl")


@pytest.mark.sampled(12)
def test_verify_from_another_folder(tmp_path: Path) -> None:
    """A relative path to the target, and the vectors of the checkout."""
    (tmp_path / "target.py").write_text(TARGET.format(wrong=""))
    result = run("verify", "target.py", "--op", "decode", "--format", "e2m1", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines()[-1] == "PASS target.py: 16 cases, 0 failed: conforms"


@pytest.mark.sampled(3)
def test_verify_of_a_module_in_the_working_folder(tmp_path: Path, few_vectors: Path) -> None:
    (tmp_path / "a_target.py").write_text(TARGET.format(wrong=""))
    options = ["--vectors", few_vectors.name, "--json"]
    result = run("verify", "a_target", *options, cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    report = strict_json(result.stdout)
    assert (report["target"], report["compared"], report["passed"]) == ("a_target", 16, True)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("wrong", "line", "verdict"),
    [
        (
            " + 0.0",
            "decode.e2m1.f32.08: code 08 = -0, want 80000000 = -0x0p+0 = -0, "
            "got 00000000 = 0x0p+0 = 0; N25",
            "conforms under ocp+decoded_zero=dropped; it passes with "
            'POLICY = "ocp+decoded_zero=dropped" beside it, or with --policy',
        ),
        (
            " * (1 - 2 * (codes == 9).astype('f4'))",
            "decode.e2m1.f32.09: code 09 = -0.5, want bf000000 = -0x1p-1 = -0.5, "
            "got 3f000000 = 0x1p-1 = 0.5; MX-5.3.3",
            "violates MX-5.3.3",
        ),
    ],
    ids=["sign of zero lost", "sign of a half lost"],
)
def test_verify_of_a_wrong_target(
    tmp_path: Path, few_vectors: Path, wrong: str, line: str, verdict: str
) -> None:
    (tmp_path / "target.py").write_text(TARGET.format(wrong=wrong))
    result = run("verify", "target.py", "--vectors", few_vectors, cwd=tmp_path)
    assert (result.returncode, result.stderr) == (1, "")
    assert re.search(rf"^ +{re.escape(line)}", result.stdout, re.MULTILINE)
    assert result.stdout.splitlines()[-1] == f"FAIL target.py: 16 cases, 1 failed: {verdict}"


@pytest.mark.sampled(3)
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX pipes")
def test_failed_verify_stays_failure_when_reader_is_gone(tmp_path: Path, few_vectors: Path) -> None:
    (tmp_path / "target.py").write_text(TARGET.format(wrong=" + 0.0"))
    result = run_without_reader("verify", tmp_path / "target.py", "--vectors", few_vectors)
    assert result.returncode != 0
    assert result.stderr == ""


@pytest.mark.sampled(6)
@pytest.mark.parametrize("target", ["missing.py", "missing_module", "broken.py"])
def test_verify_of_no_target(tmp_path: Path, few_vectors: Path, target: str) -> None:
    (tmp_path / "broken.py").write_text("def decode(:\n")
    result = run("verify", target, "--vectors", few_vectors, cwd=tmp_path)
    assert_sentence(result, f"target {target} ")


@pytest.fixture
def committed_build(monkeypatch: pytest.MonkeyPatch) -> None:
    """`golden.build` takes seconds; what it makes is what is committed."""
    manifest = (VECTORS / "manifest.json").read_bytes()
    files = [entry["file"] for entry in json.loads(manifest)["files"]]
    texts = {file: (VECTORS / file).read_bytes() for file in files} | {"manifest.json": manifest}
    monkeypatch.setattr(golden, "build", lambda jobs: texts)


@pytest.mark.sampled(3)
@pytest.mark.usefixtures("committed_build")
def test_regen_check_of_altered_vectors(altered: Path, call: Call) -> None:
    before = {path: path.read_bytes() for path in altered.rglob("*") if path.is_file()}
    result = call("regen", "--check", "--out", altered)
    assert (result.returncode, result.stderr) == (1, "")
    *problems, last = result.stdout.splitlines()
    assert sorted(problems) == [
        "encode/e2m1.f32.jsonl differs, first in line 7",
        "encode/extra.jsonl is not a vector file",
        "plain/encode.h is missing",
    ]
    assert re.fullmatch(rf"\d+ files, \d+\.\d MB in {altered} differ", last)
    # Nothing was mended.
    assert before == {path: path.read_bytes() for path in altered.rglob("*") if path.is_file()}


@pytest.mark.sampled(6)
@pytest.mark.usefixtures("committed_build")
def test_regen_of_altered_vectors(altered: Path, call: Call) -> None:
    result = call("regen", "--out", altered)
    assert (result.returncode, result.stderr) == (0, "")
    assert re.fullmatch(rf"\d+ files, \d+\.\d MB in {altered}, 2 changed\n", result.stdout)
    (altered / "encode" / "extra.jsonl").unlink()  # not ours to remove
    result = call("regen", "--check", "--out", altered)
    assert (result.returncode, result.stderr) == (0, "")

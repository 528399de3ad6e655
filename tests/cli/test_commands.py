"""The command line, from outside: what it prints, where, and with which exit status."""

from __future__ import annotations

import functools
import importlib.metadata
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import helpers
import ml_dtypes
import numpy as np
import pytest
from commands import Call
from helpers import copy_vectors

import mxref

COMMAND = [sys.executable, "-W", "error", "-m", "mxref"]
VERBS = (
    *("formats", "explain", "quantize", "regen", "export", "score"),
    *("verify", "identify", "fuzz", "sweep", "prompts", "gen", "check"),
)
#: The environment of a user: Python's output is buffered there.
ENVIRONMENT = {k: value for k, value in os.environ.items() if k != "PYTHONUNBUFFERED"}
posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX")
run = functools.partial(helpers.run, *COMMAND, env=ENVIRONMENT)


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


def test_the_version_of_a_bare_installation(
    monkeypatch: pytest.MonkeyPatch, call: Call, tmp_path: Path
) -> None:
    """Where a package is not installed, or mxref itself is run from a folder, nothing is said."""
    needs = "".join(
        f"Requires-Dist: {name}>=1; extra == '{extra}'\n"
        for name, extra in (("rich", "cli"), ("safetensors", "io"), ("gguf", "io"))
    )
    packages = {"mxref": needs, "numpy": "", "ml_dtypes": "", "safetensors": ""}
    for name, more in packages.items():
        (tmp_path / f"{name}-1.5.dist-info").mkdir()
        (tmp_path / f"{name}-1.5.dist-info/METADATA").write_text(f"Version: 1.5\n{more}\ntext")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    *_, numpy, types, last = call("--version").out.splitlines()
    assert (numpy, types, last) == ("numpy 1.5", "ml_dtypes 1.5", "safetensors 1.5 (io)")
    assert "rich" not in call("--version").out
    (tmp_path / "mxref-1.5.dist-info/METADATA").unlink()
    names = [line.split()[0] for line in call("--version").out.splitlines()]
    assert names == ["mxref", "vectors", "numpy", "ml_dtypes"]


def test_help_names_every_verb() -> None:
    result = run("--help")
    assert (result.returncode, result.stderr) == (0, "")
    for verb in VERBS:
        assert re.search(rf"^ +{verb} +\w", result.stdout, re.MULTILINE)


def test_help_is_a_verb_as_well(call: Call) -> None:
    assert call("help") == call("--help")
    assert call("help", "formats") == call("formats", "--help")


def test_mxref_alone_prints_a_guide(call: Call) -> None:
    alone = call()
    assert (alone.status, alone.err) == (2, "")  # a script without its verb must not pass
    lines = alone.out.splitlines()
    assert len(lines) == 6
    assert lines[1].split()[:2] == ["mxref", "verify"]
    assert max(map(len, lines)) <= 80
    for line in lines[1:-1]:
        assert call(line.split()[1], "--help").status == 0


def with_output(output: int, *words: object) -> subprocess.CompletedProcess[str]:
    """Run with another standard output."""
    command = [*COMMAND, *map(str, words)]
    return subprocess.run(
        command, env=ENVIRONMENT, stdout=output, stderr=subprocess.PIPE, text=True
    )


def without_reader(*words: object) -> subprocess.CompletedProcess[str]:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        return with_output(writing, *words)
    finally:
        os.close(writing)


@pytest.mark.sampled(3)
@posix
@pytest.mark.parametrize("arguments", ["formats", "formats e5m2 --all", "regen --help"])
def test_a_reader_that_stops_early(arguments: str) -> None:
    command = f"{' '.join(COMMAND)} {arguments} | head -1"
    result = helpers.run("sh", "-c", command, env=ENVIRONMENT)
    assert (result.returncode, result.stderr, result.stdout.count("\n")) == (0, "", 1)


@pytest.mark.sampled(6)
@posix
@pytest.mark.parametrize(
    "words", ["formats e2m1", "formats e5m2 --all", "--help", "--version", "formats --help"]
)
def test_a_reader_that_is_gone(words: str) -> None:
    result = without_reader(*words.split())
    assert result.returncode != 0  # what was asked for has not been delivered
    assert result.stderr == ""


@pytest.mark.sampled(6)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    ("words", "unbuffered"),
    [("formats", "1"), ("formats", ""), ("formats e5m2 --all", ""), ("--help", "")],
)
def test_a_full_disk(words: str, unbuffered: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENVIRONMENT, "PYTHONUNBUFFERED", unbuffered)
    with open("/dev/full", "w") as full:
        result = with_output(full.fileno(), *words.split())
    assert result.returncode == 2
    assert re.fullmatch(r"mxref: error: [^\n]*No space left on device\n", result.stderr)


@posix
@pytest.mark.parametrize("arguments", ["formats", "--help"])
def test_output_that_is_closed(arguments: str) -> None:
    command = f"{sys.executable} -m mxref {arguments} >&-"
    result = helpers.run("sh", "-c", command, env=ENVIRONMENT)
    assert (result.stdout, result.stderr) == ("", "")


# --- verify, from a working folder of its own -----------------------------------------------------

TARGET = """\
import mxref

def decode(codes, format):
    return mxref.decode(codes, format){wrong}
"""


@pytest.fixture
def few_vectors(tmp_path: Path) -> Path:
    """A folder with a copy of one vector file."""
    return copy_vectors(tmp_path / "few", "decode/e2m1.f32.jsonl")


@pytest.mark.sampled(3)
def test_verify_of_a_module_in_the_working_folder(tmp_path: Path, few_vectors: Path) -> None:
    """And of a relative path, with the vectors of the checkout."""
    (tmp_path / "a_target.py").write_text(TARGET.format(wrong=""))
    options = ["--vectors", few_vectors.name, "--json"]
    result = run("verify", "a_target", *options, cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    report = json.loads(result.stdout)
    assert (report["target"], report["compared"], report["passed"]) == ("a_target", 16, True)
    result = run("verify", "a_target.py", "--op", "decode", "--format", "e2m1", cwd=tmp_path)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines()[-1] == "PASS a_target.py: 16 cases, 0 failed: conforms"


@pytest.mark.sampled(3)
@posix
def test_failed_verify_stays_failure_when_reader_is_gone(tmp_path: Path, few_vectors: Path) -> None:
    (tmp_path / "target.py").write_text(TARGET.format(wrong=" + 0.0"))  # the sign of zero is lost
    words = ("verify", tmp_path / "target.py", "--vectors", few_vectors)
    result = run(*words)
    assert (result.returncode, result.stderr) == (1, "")
    assert ": 16 cases, 1 failed: conforms under " in result.stdout.splitlines()[-1]
    result = without_reader(*words)
    assert result.returncode != 0
    assert result.stderr == ""


# --- pipes ----------------------------------------------------------------------------------------


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("op", "format"),
    [("quantize_affine", "uint8"), ("pack_int4", "int4"), ("linear_qcs4w", "int4_groups")],
)
def test_formats_of_integer_operations_are_names(
    op: str, format: str, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = call("gen", op, format)
    assert run.status == 0
    lines = run.out.splitlines()
    assert lines[1].split()[1:3] == [op, format]
    # Answers to these questions are compared, here wrong ones.
    text = "\n".join([lines[0], *(f"{line.split()[0]} 00" for line in lines[1:]), ""])
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    run = call("check", op, format)
    assert (run.status, f": {len(lines) - 1} cases, " in run.out) == (1, True)


@pytest.mark.parametrize("verb", ["explain", "regen", "export", "score", "verify"])
def test_help_names_the_folder_that_is_read(
    verb: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, call: Call
) -> None:
    def named(folder: str) -> bool:
        return f"(default: {folder})" in " ".join(call(verb, "--help").out.split())

    assert named("vectors/ of the checkout")
    monkeypatch.setattr(mxref, "__file__", str(tmp_path / "site" / "mxref" / "__init__.py"))
    assert named("./vectors")
    (tmp_path / "site" / "mxref" / "_vectors").mkdir(parents=True)  # as in a wheel
    own = "the package's own"
    assert named(f"./vectors; for --check {own}" if verb == "regen" else own)

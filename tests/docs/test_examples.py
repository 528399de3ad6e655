"""Every example of the documents and of `--help` runs, and prints what is shown."""

from __future__ import annotations

import doctest
import importlib
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from helpers import ROOT, tool
from pages import answered, blocks, checkout, output_of
from safetensors.numpy import save_file

from mxref.cli.command_line import VERBS
from mxref.cli.parsing import Parser

PAGES = ["README.md", "vectors/README.md"]
PAGES += sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))
#: Blocks that no test runs, each by its beginning: they need a network, a GPU or hours, or are the
#: two commands of the README that .ci/run runs, or are lines of a file, which have tests.
NOT_RUN = json.loads((Path(__file__).parent / "data" / "not_run.json").read_text("utf-8"))
SLOW = {"docs/check.md", "docs/ci.md", "docs/consumers.md", "docs/integers.md"}
WITH_COMMANDS = [
    pytest.param(name, marks=pytest.mark.sampled(0 if name in SLOW else 6))
    for name in PAGES
    if name != "docs/field.md" and any(block.commands for block in blocks(ROOT / name))
]


@pytest.mark.parametrize("name", PAGES)
def test_every_block_runs_or_is_listed(name: str) -> None:
    left = [block.text for block in blocks(ROOT / name) if not block.runs]
    listed = NOT_RUN.get(name, [])
    assert len(left) == len(listed)
    assert all(text.startswith(start) for text, start in zip(left, listed, strict=True))


@pytest.mark.parametrize("name", PAGES)
def test_doctests(name: str) -> None:
    result = doctest.testfile(str(ROOT / name), module_relative=False)
    assert result.failed == 0
    assert result.attempted == (ROOT / name).read_text("utf-8").count("\n>>> ")


@pytest.mark.parametrize("name", WITH_COMMANDS)
def test_commands(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(checkout(tmp_path / "checkout"))
    for block in blocks(ROOT / name):
        if block.title:
            Path(block.title).parent.mkdir(parents=True, exist_ok=True)
            Path(block.title).write_text(block.text)
        for command, shown in block.commands:
            if command.split()[0] in ("cc", "g++", "rustc"):
                tool(command.split()[0])
            status, output = output_of(command)
            assert answered(shown, output), output
            assert shown or status == 0, output


def parser() -> Parser:
    """That of the command line, with all verbs."""
    whole = Parser(prog="mxref")
    verbs = whole.add_subparsers(required=True)
    for module in dict.fromkeys(VERBS.values()):
        importlib.import_module(f"mxref.cli.{module}").add_parser(verbs)
    return whole


def test_commands_in_the_text_are_understood() -> None:
    whole = parser()
    tried = 0
    for name in PAGES:
        text = re.sub(r"^```.*?^```$", "", (ROOT / name).read_text("utf-8"), flags=re.S | re.M)
        for words in map(shlex.split, re.findall(r"`mxref ([a-z][^`]*)`", text)):
            if len(words) > 1 and words[0] != "export":
                try:
                    whole.parse_args(words)
                except SystemExit:
                    pytest.fail(f"{name}: mxref {shlex.join(words)}")
                tried += 1
    assert tried > 30


# --- examples of --help ---------------------------------------------------------------------------

KERNEL = """
from mxref import decode, dequantize, encode, quantize
FORMATS = ["e4m3", "mxfp4_e2m1"]
"""


def examples(*words: str) -> list[str]:
    """The commands below "example:" in a verb's help."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "100")
        status, text = output_of(shlex.join(["mxref", *words, "--help"]))
    assert status == 0
    found = re.search(r"^example:\n((?:  .+\n)+)", text, re.MULTILINE)
    assert found is not None
    return [line.strip() for line in found[1].replace("\\\n", " ").splitlines()]


HELPED = [*((verb,) for verb in VERBS), ("export", "table"), ("export", "vectors")]
#: What .ci/run runs; it takes minutes.
ELSEWHERE = ("mxref regen --check",)


@pytest.mark.sampled(0)
@pytest.mark.parametrize("words", HELPED, ids=" ".join)
def test_examples_of_help(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(checkout(tmp_path / "checkout"))
    Path("my_kernel.py").write_text(KERNEL)
    Path("my_kernel").write_text("#!/bin/sh\nsed '/^#/d; s/ .*/ unsupported/'\n")
    Path("my_kernel").chmod(0o755)
    Path("answers.txt").touch()
    weights = np.linspace(-1, 1, 64, dtype=np.float32).reshape(2, 32)
    np.save("weights.npy", weights)
    save_file({"weights": weights}, "model.safetensors")
    for command in set(examples(*words)) - {*ELSEWHERE}:
        status, output = output_of(command.replace("--examples 2000", "--examples 20"))  # seconds
        assert status in (0, 1), output
        assert "mxref: error" not in output, output

"""The help of each verb: an example, formats, what the exit statuses mean, units of columns."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import mxref
from mxref.cases.read import by_stem, read_manifest, vectors_folder
from mxref.cases.records import names_of
from mxref.cli import main
from mxref.cli.command_line import VERBS
from mxref.cli.quantize_verb import _FIGURES
from mxref.conformance.differing.cast_difference import FORMATS
from mxref.conformance.fuzzing.input_words import subjects
from mxref.conformance.identification.identify import settings
from mxref.conformance.sweeping.plan import OwnTarget
from mxref.conformance.sweeping.sweep import sweeps
from mxref.golden.export import encode_table
from mxref.policy.policy import Policy

Capture = pytest.CaptureFixture[str]
WORDS = [(verb,) for verb in VERBS] + [("export", "table"), ("export", "vectors")]


def help_of(capsys: Capture, *words: str) -> str:
    assert main([*words, "--help"]) == 0
    return capsys.readouterr().out


def formats_of(capsys: Capture, *words: str) -> list[str]:
    """The names that a verb's help speaks of."""
    (kind,) = re.findall(r"^formats:\n  `mxref formats --of (\w+)`", help_of(capsys, *words), re.M)
    assert main(["formats", "--of", kind, "--json"]) == 0
    names: list[str] = json.loads(capsys.readouterr().out)
    assert main(["formats", "--of", kind]) == 0
    assert capsys.readouterr().out.split() == names
    return names


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_example_formats_and_exit_statuses(words: tuple[str, ...], capsys: Capture) -> None:
    text = help_of(capsys, *words)
    assert re.search(rf"^example:\n  mxref {' '.join(words)}\b", text, re.MULTILINE)
    assert "` lists the names, `mxref formats` what they are\n" in text
    _, statuses = text.split("\nexit status:\n")
    found = dict(re.findall(r"^  (\d+) +(\S.*)", statuses, re.MULTILINE))
    no_1 = {"explain", "formats", "quantize", "plot", "prompts", "gen", "table", "vectors"}
    assert found.keys() == {"0", "2", "130"} | ({"1"} if words[-1] not in no_1 else set())
    assert not re.search(r"exit status", text.replace("\nexit status:\n", ""))


@pytest.mark.parametrize(
    "words", [("verify",), ("check",), ("gen",), ("prompts",), ("score",), ("regen",), WORDS[-1]]
)
def test_formats_of_the_vectors(words: tuple[str, ...], capsys: Capture) -> None:
    stems = by_stem(read_manifest(vectors_folder()))
    assert {*formats_of(capsys, *words)} == {names_of(stem)[1] for stem in stems}


def test_formats_that_are_searched_and_identified(capsys: Capture) -> None:
    assert {*formats_of(capsys, "fuzz")} == {name for _, name, _ in subjects(Policy())}
    assert {*formats_of(capsys, "identify")} == {setting.format for setting in settings()}


def test_formats_that_numbers_and_tables_have(capsys: Capture) -> None:
    for name in formats_of(capsys, "formats"):
        assert main(["formats", name]) == 0
    for name in formats_of(capsys, "explain"):
        assert main(["explain", "0.3", "--format", name]) == 0
    for name in formats_of(capsys, "export", "table"):
        assert encode_table(name, "ocp", "f16").codes.size


def test_formats_of_blocks(tmp_path: Path, capsys: Capture) -> None:
    names = formats_of(capsys, "quantize")
    assert {*names} == {*mxref.formats.BLOCK_FORMATS, *mxref.formats.OTHER_BLOCK_FORMATS}
    np.save(tmp_path / "x.npy", np.ones(4, np.float32))
    for name in names:
        assert main(["quantize", str(tmp_path / "x.npy"), "--format", name]) == 0


def test_formats_that_differ(capsys: Capture) -> None:
    assert {*formats_of(capsys, "diff")} == {*mxref.formats.BLOCK_FORMATS, *FORMATS}


def test_formats_that_are_swept(capsys: Capture) -> None:
    for name in formats_of(capsys, "sweep"):
        if name not in mxref.formats.BLOCK_FORMATS:
            op = "decode_scale" if name == "e8m0" else "decode"
            assert sweeps(OwnTarget(Policy()), op, (name,), "f32")[0].passed
    with pytest.raises(ValueError, match=r"must be one of .*, got 'nvfp4'") as refused:
        sweeps(OwnTarget(Policy()), "dequantize", ("nvfp4",), "f32")
    assert all(name in str(refused.value) for name in mxref.formats.BLOCK_FORMATS)


def test_units_of_the_figures_of_quantize(capsys: Capture) -> None:
    text = help_of(capsys, "quantize")
    for name in (*_FIGURES, "not_finite", "nan_blocks"):
        assert re.search(
            rf"^  {name} +(number|dB|share of all elements|largest)", text, re.MULTILINE
        )
    assert "largest |decoded - element|, absolute: in the unit of the elements" in text


@pytest.mark.parametrize(
    ("verb", "columns"),
    [
        ("verify", ["cases", "failed", "known"]),
        ("check", ["cases", "failed", "known"]),
        ("fuzz", ["examples"]),
        ("identify", ["shown by"]),
        ("score", ["mutants", "killed", "equivalent", "waiting", "cases", "kills", "alone"]),
        ("formats", ["bits", "bias", "emax", "block size", "bits per block", "stored bits"]),
    ],
)
def test_columns_are_explained(verb: str, columns: list[str], capsys: Capture) -> None:
    text = help_of(capsys, verb)
    for column in columns:
        assert re.search(rf"^  {column}  +\S", text, re.MULTILINE), column

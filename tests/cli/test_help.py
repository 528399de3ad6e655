"""The help of each verb: an example, formats, what the exit statuses mean, units of columns."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from commands import Call
from tables import rows

import mxref
from mxref.cases.names import names_of
from mxref.cases.read import by_stem, read_manifest, vectors_folder
from mxref.cli.command_line import VERBS
from mxref.cli.quantize_file import _FIGURES
from mxref.conformance.differing.cast_difference import FORMATS
from mxref.conformance.fuzzing.input_words import subjects
from mxref.conformance.identification.identify import settings
from mxref.conformance.sweeping.plan import OwnTarget
from mxref.conformance.sweeping.sweep import sweeps
from mxref.formats.catalog import FLOAT_SCALED_FORMATS
from mxref.golden.export import encode_table
from mxref.policy.policy import Policy

WORDS = [(verb,) for verb in VERBS] + [("export", "table"), ("export", "vectors")]


def help_of(call: Call, *words: str) -> str:
    run = call(*words, "--help")
    assert run.status == 0
    return run.out


def formats_of(call: Call, *words: str) -> list[str]:
    """The names that a verb's help speaks of."""
    (kind,) = re.findall(r"^formats:\n  `mxref formats --of (\w+)`", help_of(call, *words), re.M)
    names = json.loads(call("formats", "--of", kind, "--json").out)
    assert call("formats", "--of", kind).out.split() == names
    return [*names]


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_example_formats_and_exit_statuses(words: tuple[str, ...], call: Call) -> None:
    text = help_of(call, *words)
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
def test_formats_of_the_vectors(words: tuple[str, ...], call: Call) -> None:
    stems = by_stem(read_manifest(vectors_folder()))
    assert {*formats_of(call, *words)} == {names_of(stem)[1] for stem in stems}


def test_formats_that_verbs_take(call: Call) -> None:
    every = {*mxref.formats.BLOCK_FORMATS, *mxref.formats.OTHER_BLOCK_FORMATS}
    wanted = {
        "fuzz": {name for _, name, _ in subjects(Policy())},
        "identify": {setting.format for setting in settings()},
        "quantize": every,
        "diff": {one for one in (*every, *FORMATS) if not re.search(r"_\d+x\d+$", one)},  # in rows
    }
    assert {verb: {*formats_of(call, verb)} for verb in wanted} == wanted


def test_formats_that_numbers_and_tables_have(call: Call) -> None:
    for name in formats_of(call, "formats"):
        assert call("formats", name).status == 0
    for name in formats_of(call, "explain"):
        assert call("explain", "0.3", "--format", name).status == 0
    for name in formats_of(call, "export", "table"):
        assert encode_table(name, "ocp", "f16").codes.size


def test_formats_of_blocks(tmp_path: Path, call: Call) -> None:
    np.save(tmp_path / "x.npy", np.ones((4, 4), np.float32))
    for name in formats_of(call, "quantize"):
        assert call("quantize", tmp_path / "x.npy", "--format", name).status == 0


def test_formats_that_are_swept(call: Call) -> None:
    blocks = {*mxref.formats.BLOCK_FORMATS, *mxref.formats.OTHER_BLOCK_FORMATS}
    blocks -= {*FLOAT_SCALED_FORMATS}
    assert not {*FLOAT_SCALED_FORMATS} & {*formats_of(call, "sweep")}
    for name in formats_of(call, "sweep"):
        op = "decode_scale" if name == "e8m0" else "decode"
        if name in blocks:
            assert sweeps(OwnTarget(Policy()), "dequantize", (name,), "f32", end=1)[0].passed
        else:
            assert sweeps(OwnTarget(Policy()), op, (name,), "f32")[0].passed
    with pytest.raises(ValueError, match=r"must be one of .*, got 'e2m1'") as refused:
        sweeps(OwnTarget(Policy()), "dequantize", ("e2m1",), "f32")
    assert all(name in str(refused.value) for name in blocks)


def test_a_sweep_of_small_float_scales_says_what_it_asked(call: Call) -> None:
    said = call("sweep", "--op", "quantize", "--format", "fp4_ue4m3", "--float", "f16", "--jobs", 1)
    first, last = said.out.splitlines()
    assert first.startswith("asked every largest magnitude and every number under each of 127 ")
    assert last.startswith("PASS mxref: quantize fp4_ue4m3 f16 under ocp: 0 of ")
    assert said.status == 0


def test_units_of_the_figures_of_quantize(call: Call) -> None:
    text = help_of(call, "quantize")
    for name in (*_FIGURES, "not_finite", "nan_blocks"):
        assert re.search(
            rf"^  {name} +(number|dB|share of all elements|largest)", text, re.MULTILINE
        )
    assert "largest |decoded - element|, absolute: in the unit of the elements" in text


@pytest.mark.parametrize(("verb", "columns"), rows("cli", "tables", "columns"))
def test_columns_are_explained(verb: str, columns: str, call: Call) -> None:
    text = help_of(call, verb)
    for column in columns.split(", "):
        assert re.search(rf"^  {column}  +\S", text, re.MULTILINE), column

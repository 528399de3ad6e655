"""The museum of mutants: complete, each one wrong where it says so, and all of them caught."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import re
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

import figures
import numpy as np
import pytest
from helpers import ROOT, all_files
from made_once import texts_once

import mxref
from mxref import golden
from mxref.cases.words import models
from mxref.conformance import score as score_module
from mxref.conformance.score import Cell, first_kill, score, sole_killers
from mxref.formats.catalog import BLOCK_FORMATS, ELEMENT_FORMATS
from mxref.mutants import EQUIVALENT, MUTANTS, Equivalent, Mutant, equivalents
from mxref.mutants import nvfp4_mutants as scaled
from mxref.mutants import packing_mutants as layout
from mxref.mutants import tensor_mutants as tensors
from mxref.mutants.block_mutants import quantizer
from mxref.mutants.decoder import decoder, dequantizer
from mxref.mutants.encoder import encoder
from mxref.mutants.shared_scale_mutants import scaler
from mxref.mutants.sources import SOURCES, link, sources
from mxref.operands.splitmix import splitmix64
from mxref.operations.registry import CALL_OPERATIONS
from mxref.reports.summary_pictures import write_kills_picture

VECTORS = ROOT / "vectors"
#: How many classes each letter has; I is of integers, L of lanes, P of pairs, S of stochastic ones.
CLASSES = {"A": 18, "B": 19, "C": 24, "D": 9, "E": 11, "F": 5, "G": 14, "H": 64}
CLASSES |= {"I": 28, "L": 11, "P": 8, "S": 8}
#: Gradients that have no vectors, so that they are not asked.
LAYERS_WITHOUT_VECTORS = {"linear_gradients/mxfp8_e5m2.bf16", "linear_gradients/mxfp8_e5m2.f16"}
#: How many parts the files are scored in.
PARTS = 8
BY_ID = {mutant.id: mutant for mutant in MUTANTS}
RUNNING = [mutant for mutant in MUTANTS if not mutant.waiting]
WAITING = [mutant for mutant in MUTANTS if mutant.waiting]


@functools.cache
def files() -> dict[str, golden.VectorFile]:
    return {file.stem: file for file in all_files()}


@pytest.fixture(scope="session")
def cells(tmp_path_factory: pytest.TempPathFactory) -> tuple[Cell, ...]:
    """All mutants against all files; each worker of a run tries those of some files."""
    stems = list(files())
    parts = [stems[i::PARTS] for i in range(PARTS)]
    texts: dict[int, dict[str, str]] = {}
    # The second worker begins with the last part: they meet, and none waits for long.
    is_second = os.environ.get("PYTEST_XDIST_WORKER") == "gw1"
    for i in sorted(range(PARTS), reverse=is_second):
        texts[i] = texts_once(tmp_path_factory, f"cells_{i}", partial(scored, parts[i]))
    found = {stem: json.loads(text) for some in texts.values() for stem, text in some.items()}
    return tuple(
        Cell(BY_ID[id], stem, killers, verdict)
        for stem in stems
        for id, killers, verdict in found[stem]
    )


def scored(stems: list[str], folder: Path) -> dict[str, str]:
    """What is known of each cell of some files, as JSON."""
    return {
        stem: json.dumps([(c.mutant.id, c.killers, c.verdict) for c in score([files()[stem]])])
        for stem in stems
    }


def one(mutant: Mutant, stem: str) -> Cell:
    (cell,) = score([files()[stem]], [mutant])
    return cell


def test_every_class_is_there() -> None:
    wanted = [f"{letter}{i}" for letter, last in CLASSES.items() for i in range(1, last + 1)]
    assert list(dict.fromkeys(mutant.group for mutant in MUTANTS)) == wanted


def test_nothing_waits() -> None:
    assert WAITING == []
    assert all(mutant.run is not None for mutant in RUNNING)


def test_ids_and_names_are_unique_and_texts_are_sentences() -> None:
    assert len(BY_ID) == len(MUTANTS) == len({mutant.name for mutant in MUTANTS})
    for mutant in MUTANTS:
        assert re.fullmatch(r"[A-IPS]\d+[a-z]*|L\d+([a-z]|\.\d\d)", mutant.id)
        assert re.fullmatch(r"[a-z0-9_]+", mutant.name)
        assert re.fullmatch(r"[a-z].*[^.]", mutant.text)
        assert "\n" not in mutant.text
        assert mutant.model in models()


def test_every_encoder_stands_in_every_place() -> None:
    """In blocks and tensors of its formats, and E2M1's in NVFP4, from its float types."""
    encoders = [m for m in RUNNING if m.op == "encode" and {*m.formats} & {*ELEMENT_FORMATS}]
    lifted = {mutant.id: mutant for mutant in RUNNING if mutant.lifted_from}
    assert {mutant.lifted_from for mutant in lifted.values()} == {mutant.id for mutant in encoders}
    for mutant in encoders:
        blocks = {fmt.name for fmt in BLOCK_FORMATS.values() if fmt.element.name in mutant.formats}
        blocks |= {"fp4_e8m0"} if "e2m1" in mutant.formats else set()
        own = lifted[f"{mutant.id}q"]
        assert (own.op, {*own.formats}) == ("quantize", blocks)
        assert {*own.floats} - {"f16"} == {*mutant.floats} - {"f16"}
        assert ("f16" in own.floats) == ("f32" in mutant.floats)
        assert (f"{mutant.id}t" in lifted) == bool({"f32", "bf16"} & {*mutant.floats})
        for letter in "nv":
            assert (f"{mutant.id}{letter}" in lifted) == ("e2m1" in mutant.formats)
            if "e2m1" in mutant.formats:
                short = {"f32", "bf16", "f16"} if "f32" in mutant.floats else set()
                floats = {*lifted[f"{mutant.id}{letter}"].floats}
                assert floats == short | ({*mutant.floats} & {"f64"})


def test_every_lane_has_every_fault() -> None:
    for fault in range(1, 8):
        for lane in range(32):
            mutant = BY_ID[f"L{fault}.{lane:02}"]
            assert {*BLOCK_FORMATS} <= {*mutant.formats}
            for sixteen in ("fp4_ue4m3", "fp4_e8m0"):
                assert (sixteen in mutant.formats) == (lane < 16)
            assert {*mutant.floats} == {"f32", "bf16"}


def test_links() -> None:
    assert list(BY_ID["A17a"].links) == ["https://github.com/tenstorrent/tt-metal/issues/42989"]
    assert list(BY_ID["C15a"].links) == ["docs/ledger/mlx_0_31.md"]


@pytest.mark.sampled(0)
def test_the_vectors_kill_every_mutant(cells: tuple[Cell, ...]) -> None:
    assert [(cell.verdict, cell.mutant.id, cell.file) for cell in cells if cell.fails] == []
    killed = {cell.mutant.id for cell in cells if cell.verdict == "killed"}
    everywhere = {entry.id for entry in EQUIVALENT if not entry.formats and not entry.floats}
    right = "B10b D4b" + "".join(
        f" {id}{letter}"
        for id in ["B5b", "B6b", "B13a", "B13b", "B13c", "B13d", "B14", "B15", "B16", "B10b", "B1c"]
        for letter in "qtnv"
    )
    assert everywhere == {*right.split()} & BY_ID.keys()
    assert killed == {mutant.id for mutant in RUNNING} - everywhere


@pytest.mark.sampled(0)
def test_the_picture_of_the_docs_is_of_these_kills(tmp_path: Path, cells: tuple[Cell, ...]) -> None:
    """What `mxref score --picture docs/pictures/kills.svg` draws."""
    write_kills_picture(drawn := tmp_path / "kills.svg", cells)
    assert drawn.read_bytes() == (ROOT / "docs" / "pictures" / "kills.svg").read_bytes()


@pytest.mark.sampled(0)
def test_every_format_and_float_type_of_a_mutant_has_been_tried(cells: tuple[Cell, ...]) -> None:
    tried = {(cell.mutant.id, cell.file) for cell in cells}
    wanted = {
        (mutant.id, f"{mutant.op}/{format}.{float}")
        for mutant in RUNNING
        for format in mutant.formats
        for float in mutant.floats
        if f"{mutant.op}/{format}.{float}" not in LAYERS_WITHOUT_VECTORS
        # The format of a call has one type.
        if mutant.op not in CALL_OPERATIONS or float == CALL_OPERATIONS[mutant.op].slot_of(format)
    }
    assert tried == wanted
    assert len(tried) == len(cells)


@pytest.mark.sampled(0)
def test_the_expected_model_kills(cells: tuple[Cell, ...]) -> None:
    found: dict[str, set[str]] = {}
    for cell in cells:
        found.setdefault(cell.mutant.id, set()).update(cell.killers)
    missed = {m.id for m in RUNNING if found[m.id] and m.model not in found[m.id]}
    assert missed == set()


@pytest.mark.sampled(0)
def test_what_the_pages_count_is_what_is_killed(cells: tuple[Cell, ...]) -> None:
    counted = {(mutant.id, file.stem, is_wrong) for mutant, file, is_wrong in figures.cells()}
    assert counted == {(c.mutant.id, c.file, c.verdict == "killed") for c in cells}
    assert len(figures.cells()) == len(cells)


@pytest.mark.sampled(0)
@pytest.mark.parametrize("model", models())
def test_without_a_model_a_mutant_survives(model: str, cells: tuple[Cell, ...]) -> None:
    alone = sole_killers(cells)[model]
    assert {cell.verdict for cell in alone} == {"killed"}
    cell = alone[0]
    (left,) = score([files()[cell.file]], [cell.mutant], [model])
    assert (left.verdict, left.fails, left.applicable, left.killers) == ("survived", True, True, {})


#: What the mutants are made of, with nothing wrong in it.
UNMUTATED = [
    ("encode", encoder(), "encode/e4m3.f32"),
    ("encode", encoder(), "encode/e2m1.bf16"),
    ("encode", encoder(), "encode/int8.f64"),
    ("encode", encoder(), "encode/e5m2.f16"),
    ("shared_scale", scaler(), "shared_scale/e4m3.f64"),
    ("quantize", quantizer(), "quantize/mxfp6_e3m2.f32"),
    ("quantize", quantizer(), "quantize/mxint8.bf16"),
    ("quantize", quantizer(), "quantize/fp4_e8m0.f32"),
    ("decode", decoder(), "decode/e5m2.f32"),
    ("dequantize", dequantizer(), "dequantize/mxfp8_e4m3.bf16"),
    ("dequantize", dequantizer(), "dequantize/mxfp8_e5m2.f32"),
    ("dequantize", dequantizer(), "dequantize/fp4_e8m0.bf16"),
    ("quantize", scaled.quantizer(), "quantize/fp4_ue4m3.f32"),
    ("quantize", scaled.quantizer(), "quantize/fp4_ue4m3.bf16"),
    ("dequantize", scaled.dequantizer(), "dequantize/fp4_ue4m3.f32"),
    ("quantize", scaled.quantizer(), "quantize/nvfp4.f32"),
    ("dequantize", scaled.dequantizer(), "dequantize/nvfp4.f32"),
    ("pack", mxref.pack, "pack/e3m2.bytes"),
    ("pack", lambda codes, format: mxref.pack(layout.filled(codes, 2), format), "pack/e2m1.bytes"),
    ("unpack", mxref.unpack, "unpack/e2m1.low_nibble_first"),
    ("quantize_tensor", tensors.pair, "quantize_tensor/mxint8.bf16"),
    ("quantize_tensor", tensors.by_blocks(quantizer()), "quantize_tensor/mxfp6_e2m3.f32"),
]


@pytest.mark.parametrize(("op", "run", "stem"), UNMUTATED)
def test_without_a_mutation_nothing_differs(op: str, run: score_module.Mutant, stem: str) -> None:
    file = files()[stem]
    healthy = Mutant("A1", "none", "nothing", op, run, (file.format,), (file.float,), "M1")  # type: ignore[arg-type]
    healthy = dataclasses.replace(healthy, id="A99")
    cell = one(healthy, stem)
    # Right everywhere, which the ledger does not list: that is an error, too.
    assert (cell.verdict, cell.killers) == ("unlisted", {})
    assert (cell.fails, cell.applicable) == (True, False)
    assert first_kill(healthy, file) is None


def test_a_survivor_is_seen() -> None:
    """Wrong for one bfloat16 only, which is no case."""
    file = files()["encode/e2m1.bf16"]
    inputs = set(file.input_words()[:, 0].tolist())
    missed = next(bits for bits in range(0x4000, 0x4100) if bits not in inputs)

    def run(values: Any, format: str) -> Any:
        codes = encoder()(values, format)
        return np.where(values.view(np.uint16) == missed, codes ^ 1, codes).astype(np.uint8)

    mutant = Mutant("A99", "one_input", "wrong once", "encode", run, ("e2m1",), ("bf16",), "M1")
    assert one(mutant, file.stem).verdict == "survived"


def test_a_wrong_entry_of_the_ledger_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = Equivalent("A1", (), (), "It is not.")
    monkeypatch.setattr(equivalents, "EQUIVALENT", (*EQUIVALENT, entry))
    cell = one(BY_ID["A1"], "encode/e2m1.f16")
    assert (cell.verdict, cell.fails) == ("mislisted", True)


@pytest.mark.sampled(0)
def test_the_ledger(cells: tuple[Cell, ...]) -> None:
    """Every entry is of some use, says why, and its check runs."""
    for entry in EQUIVALENT:
        mutant = BY_ID[entry.id]
        assert set(entry.formats) <= set(mutant.formats)
        assert set(entry.floats) <= set(mutant.floats)
        assert re.fullmatch(r"[A-Z].+\.", entry.proof)
    listed = {
        (entry.id, format, float)
        for entry in EQUIVALENT
        for format in entry.formats or BY_ID[entry.id].formats
        for float in entry.floats or BY_ID[entry.id].floats
    }
    found = {
        (cell.mutant.id, *cell.file.partition("/")[2].rsplit(".", 1))
        for cell in cells
        if cell.verdict == "equivalent"
    }
    assert found == listed


CHECKS = {entry.check for entry in EQUIVALENT if entry.check is not None}


@pytest.mark.parametrize("check", sorted(CHECKS, key=lambda check: check.__name__))
def test_the_checks_of_the_ledger(check: object) -> None:
    assert callable(check)
    assert check() is True


def test_any_part_of_splitmix64_can_be_had_alone() -> None:
    """The first outputs are published, see the docstring."""
    whole = splitmix64(12345, 100)
    assert whole.dtype == np.uint64
    assert splitmix64(12345, 30, 50).tolist() == whole[50:80].tolist()


# Sources.

#: The forms of citations; a thread begins with a name and a number other than 0.
FORMS = (
    r"[\w-]+/[\w.-]+#[1-9][0-9]*",
    r"[\w-]+/[\w.-]+@[0-9a-f]{7,40}:[\w./-]+\.[a-z]+",
    r"[a-z][\w-]*==[0-9][\w.]*:[\w./]+",
    r"arXiv:[0-9]{4}\.[0-9]{5}",
    r"docs/(reports|ledger)/[\w-]+\.md",
)


@pytest.mark.parametrize("citation", SOURCES)
def test_a_citation_has_a_form_and_a_page_is_there(citation: str) -> None:
    assert any(re.fullmatch(form, citation) for form in FORMS)
    if citation.startswith("docs/"):
        assert (ROOT / citation).is_file()


@pytest.mark.parametrize("citation", SOURCES)
def test_every_id_is_that_of_a_mutant(citation: str) -> None:
    """One that is listed itself: what is inside blocks has the sources of its mutant of encode."""
    patterns = SOURCES[citation].split()
    assert patterns
    for pattern in patterns:
        named = [one for one in MUTANTS if fnmatchcase(one.id, pattern)]
        assert named
        assert not any(one.lifted_from for one in named)
        assert all(citation in one.seen for one in named)


def test_an_id_is_named_once_beside_a_citation() -> None:
    for citation, patterns in SOURCES.items():
        for mutant in MUTANTS:
            assert sum(fnmatchcase(mutant.id, one) for one in patterns.split()) < 2, citation


def test_the_sources_of_a_mutant() -> None:
    assert BY_ID["A16b"].seen == ("onnx/onnx#7784",)
    assert BY_ID["A16bq"].seen == ("onnx/onnx#7784",)
    assert BY_ID["A3"].seen == ()
    assert list(sources("C5cq")) == ["vllm-project/vllm#53110", "vllm-project/vllm#53668"]
    assert list(BY_ID["L1.17"].seen) == ["ooples/AiDotNet.Tensors#440"]
    for mutant in MUTANTS:
        if mutant.lifted_from:
            assert mutant.seen == BY_ID[mutant.lifted_from].seen


GITHUB = "https://github.com/"
ADDRESSES = {
    "google-ai/a.b-c#12": f"{GITHUB}google-ai/a.b-c/issues/12",
    "microsoft/mx@7bc41952:mx/ops.py": f"{GITHUB}microsoft/mx/blob/7bc41952/mx/ops.py",
    "arXiv:2403.00232": "https://arxiv.org/abs/2403.00232",
    "numpy==2.4.6:exp2": "numpy==2.4.6:exp2",
    "docs/ledger/gguf.md": "docs/ledger/gguf.md",
}


@pytest.mark.parametrize("citation", ADDRESSES)
def test_the_address_of_a_citation(citation: str) -> None:
    assert link(citation) == ADDRESSES[citation]


def test_texts_are_true_of_all_formats_and_of_both_signs() -> None:
    """Each is read behind the formats and the classes of a report, such as negative codes."""
    example = re.compile(r"\bE[2-5]M\d|\b(240|416|448|464|480)\b|(?<!\*)-127\b")
    assert not [one.id for one in MUTANTS if len(one.formats) > 1 and example.search(one.text)]
    signed = [one for one in MUTANTS if one.op in ("encode", "decode", "quantize", "dequantize")]
    named = [one for one in signed if re.search(r"\bcode 7F\b", one.text)]
    assert {format for one in named for format in one.formats} <= {"fp4_ue4m3", "nvfp4_16x16"}
    texts = {one.id: one.text for one in MUTANTS}
    assert texts["E6"] == "reads NaN as 480 with its sign"
    assert texts["L3.07"] == (
        "compares lane 7 with its sign: a negative number in it does not count"
    )

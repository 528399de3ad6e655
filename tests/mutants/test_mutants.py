"""The museum of mutants: complete, each one wrong where it says so, and all of them caught."""

from __future__ import annotations

import dataclasses
import functools
import re
from typing import Any

import figures
import numpy as np
import pytest
from helpers import ROOT, all_files

import mxref
from mxref import golden
from mxref.cases.answers import exact_answer
from mxref.cases.words import models
from mxref.conformance import score as score_module
from mxref.conformance.score import Cell, covers, first_kill, score, sole_killers
from mxref.formats.catalog import BLOCK_FORMATS, ELEMENT_FORMATS
from mxref.mutants import (
    EQUIVALENT,
    MUTANTS,
    Equivalent,
    Mutant,
    equivalents,
)
from mxref.mutants import layout_mutants as places
from mxref.mutants import nvfp4_mutants as scaled
from mxref.mutants import packing_mutants as layout
from mxref.mutants import tensor_mutants as tensors
from mxref.mutants.block_mutants import quantizer
from mxref.mutants.decoder import decoder, dequantizer
from mxref.mutants.encoder import encoder
from mxref.mutants.shared_scale_mutants import scaler
from mxref.operands.splitmix import splitmix64
from mxref.policy.policy import Policy

VECTORS = ROOT / "vectors"
#: How many known classes each letter has.
CLASSES = {"A": 18, "B": 18, "C": 20, "D": 8, "E": 10, "F": 5, "G": 10, "H": 23}
#: Gradients that have no vectors, so that they are not asked.
LAYERS_WITHOUT_VECTORS = {
    "linear_gradients/mxfp8_e5m2.bf16",
    "linear_gradients/mxfp8_e5m2.f16",
}
BY_ID = {mutant.id: mutant for mutant in MUTANTS}
RUNNING = [mutant for mutant in MUTANTS if not mutant.waiting]
WAITING = [mutant for mutant in MUTANTS if mutant.waiting]


@functools.cache
def files() -> dict[str, golden.VectorFile]:
    return {file.stem: file for file in all_files()}


@functools.cache
def cells() -> tuple[Cell, ...]:
    return tuple(score(list(files().values())))


def one(mutant: Mutant, stem: str) -> Cell:
    (cell,) = score([files()[stem]], [mutant])
    return cell


def test_every_class_is_there() -> None:
    wanted = [f"{letter}{i}" for letter, last in CLASSES.items() for i in range(1, last + 1)]
    assert len(wanted) == 112
    wanted.insert(wanted.index("C20") + 1, "C21")
    wanted.insert(wanted.index("C21") + 1, "C22")  # of infinities in blocks
    wanted.insert(wanted.index("C22") + 1, "C23")  # of 4 over 6
    wanted.insert(wanted.index("B18") + 1, "B19")  # of FNUZ
    wanted.insert(wanted.index("E10") + 1, "E11")
    after = wanted.index("G10") + 1
    wanted[after:after] = [f"G{i}" for i in range(11, 15)]  # of scale layouts
    wanted += [f"I{i}" for i in range(1, 22)]  # of integers
    wanted += [f"L{i}" for i in range(1, 12)]  # of lanes
    wanted += [f"P{i}" for i in range(1, 9)]  # of pairs
    wanted += [f"S{i}" for i in range(1, 9)]  # of stochastic rounding
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
        own = lifted[f"{mutant.id}q"]
        assert (own.op, {*own.formats}) == ("quantize", blocks)
        assert {*own.floats} - {"f16"} == {*mutant.floats} - {"f16"}
        assert ("f16" in own.floats) == ("f32" in mutant.floats)
        assert (f"{mutant.id}t" in lifted) == bool({"f32", "bf16"} & {*mutant.floats})
        narrow = "e2m1" in mutant.formats and "f32" in mutant.floats
        assert (f"{mutant.id}n" in lifted) == (f"{mutant.id}v" in lifted) == narrow


def test_every_lane_has_every_fault() -> None:
    for fault in range(1, 8):
        for lane in range(32):
            mutant = BY_ID[f"L{fault}.{lane:02}"]
            assert {*BLOCK_FORMATS} <= {*mutant.formats}
            assert ("fp4_ue4m3" in mutant.formats) == (lane < 16)
            assert {*mutant.floats} == {"f32", "bf16"}


def test_links() -> None:
    assert list(BY_ID["A17a"].links) == ["https://github.com/tenstorrent/tt-metal/issues/42989"]
    assert list(BY_ID["C15a"].links) == ["docs/ledger/mlx_0_31.md"]


@pytest.mark.sampled(0)
def test_the_vectors_kill_every_mutant() -> None:
    assert [(cell.verdict, cell.mutant.id, cell.file) for cell in cells() if cell.fails] == []
    killed = {cell.mutant.id for cell in cells() if cell.verdict == "killed"}
    everywhere = {entry.id for entry in EQUIVALENT if not entry.formats and not entry.floats}
    right = "B10b D4b" + "".join(
        f" {id}{letter}"
        for id in ["B5b", "B6b", "B13a", "B13b", "B13c", "B13d", "B14", "B15", "B16", "B10b", "B1c"]
        for letter in "qtnv"
    )
    assert everywhere == {*right.split()} & BY_ID.keys()
    assert killed == {mutant.id for mutant in RUNNING} - everywhere


@pytest.mark.sampled(0)
def test_every_format_and_float_type_of_a_mutant_has_been_tried() -> None:
    tried = {(cell.mutant.id, cell.file) for cell in cells()}
    wanted = {
        (mutant.id, f"{mutant.op}/{format}.{float}")
        for mutant in RUNNING
        for format in mutant.formats
        for float in mutant.floats
        if f"{mutant.op}/{format}.{float}" not in LAYERS_WITHOUT_VECTORS
    }
    assert tried == wanted
    assert len(tried) == len(cells())


@pytest.mark.sampled(0)
def test_the_expected_model_kills() -> None:
    found: dict[str, set[str]] = {}
    for cell in cells():
        found.setdefault(cell.mutant.id, set()).update(cell.killers)
    missed = {m.id for m in RUNNING if found[m.id] and m.model not in found[m.id]}
    assert missed == set()


@pytest.mark.sampled(0)
def test_what_the_pages_count_is_what_is_killed() -> None:
    counted = {(mutant.id, file.stem, is_wrong) for mutant, file, is_wrong in figures.cells()}
    assert counted == {(c.mutant.id, c.file, c.verdict == "killed") for c in cells()}
    assert len(figures.cells()) == len(cells())


@pytest.mark.sampled(0)
@pytest.mark.parametrize("model", models())
def test_without_a_model_a_mutant_survives(model: str) -> None:
    alone = sole_killers(cells())[model]
    assert {cell.verdict for cell in alone} == {"killed"}
    cell = alone[0]
    (left,) = score([files()[cell.file]], [cell.mutant], [model])
    assert (left.verdict, left.fails, left.applicable, left.killers) == ("survived", True, True, {})


#: Answers of mutants, worked out by hand: id, file, input, wrong answer.
BY_HAND = [
    ("A1", "encode/e2m1.f32", "3fa00000", "03"),  # 1.25 -> 1.5
    ("A1b", "encode/e2m1.f32", "3fa00000", "03"),  # in the smallest normal binade
    ("A2", "encode/e2m1.f32", "40a00001", "06"),  # just above 5 -> 4
    ("A3", "encode/e2m1.f32", "3fa00000", "03"),
    ("A4", "encode/e2m1.f32", "3fe00000", "03"),  # 1.75 -> 1.5
    ("A5", "encode/e2m1.f32", "00000001", "01"),
    ("A6", "encode/e2m1.f32", "80000001", "09"),
    ("A7", "encode/e2m1.f32", "3e800000", "01"),  # 0.25 -> 0.5
    ("A8", "encode/e2m1.f32", "3fa00001", "02"),
    ("A11b", "encode/e2m1.f32", "3f3fffff", "02"),  # just below 0.75: 0.75 -> 1
    ("A14", "encode/e2m1.f64", "3fd0000000000001", "00"),  # ml_dtypes#401
    ("A15", "encode/e2m1.f32", "3fe00000", "02"),  # 1.75 -> 1 instead of 2
    ("A15b", "encode/e4m3.f32", "42fc0000", "68"),  # 126 -> 64 instead of 128: triton#9808
    ("A17a", "encode/e5m2.f32", "00400000", "7b"),
    ("A18a", "encode/int8.bf16", "3f81", "41"),  # 64.5/64, the one bit that is cut off
    ("B1", "encode/e2m1.f32", "3f000000", "00"),  # 0.5
    ("B1b", "encode/e2m1.f32", "3f000000", "00"),
    ("B3", "encode/e4m3.f32", "3a800000", "01"),  # 2^-10
    ("B4c", "encode/e4m3.f32", "3c400000", "02"),  # 1.5 * 2^-7: 6 units of 2^-9, without 4 of them
    ("B5a", "encode/e4m3.f32", "7f800000", "7f"),
    ("B8a", "encode/e4m3.f32", "43800000", "7e"),  # 256 -> 448
    ("B9a", "encode/e4m3.f32", "43e00000", "77"),  # 448 -> 240
    ("B10", "encode/e4m3.f32", "43e00001", "7f"),  # 448 + 1 ulp -> NaN
    ("B11", "encode/e4m3.f32", "43e80001", "7f"),  # 464 + 1 ulp -> NaN
    ("B12", "encode/e2m1.f32", "ff7fffff", "07"),
    ("B17", "encode/e2m1.f32", "80000000", "00"),
    ("B19g", "encode/e4m3fnuz.f32", "c3700000", "fe"),  # -240
    ("C1", "shared_scale/e4m3.f32", "437fffff", "7f"),  # just below 256 -> 1
    ("C2", "shared_scale/e2m1.f32", "3effffff", "7c"),  # just below 0.5: -1.00 -> -1
    ("C6a", "encode_scale/e8m0.f32", "3f800000", "7d"),
    ("E1", "decode_scale/e8m0.f32", "00", "00000000"),
    ("E2a", "decode_scale/e8m0.f32", "ff", "7f800000"),
    ("E4", "decode/e2m1.f32", "08", "00000000"),
    ("E5", "decode/e2m1.f32", "01", "3f400000"),  # 0.5 -> 0.75
    ("E5h", "decode/e2m1.f32", "08", "bf000000"),  # -0 -> -0.5
    ("E5h", "decode/e4m3.f32", "00", "3c000000"),  # 0 -> 2^-7
    ("E6", "decode/e4m3.f32", "7f", "43f00000"),  # 480
    ("E10", "decode_scale/e8m0.f32", "7f", "42fe0000"),  # 127
    ("F2", "encode/int8.f32", "3f800000", "01"),
    ("F3", "encode/int8.f32", "3fff0000", "80"),  # 127.5/64
    ("F4", "encode/int8.f32", "bf000000", "a0"),  # -32/64: e0
    ("F1b", "decode/int8.f32", "80", "bffe0000"),
]


@pytest.mark.parametrize(("id", "stem", "word", "wrong"), BY_HAND)
def test_a_wrong_answer_by_hand(id: str, stem: str, word: str, wrong: str) -> None:
    mutant, file = BY_ID[id], files()[stem]
    assert covers(mutant, file)
    assert mutant.run is not None
    inputs = np.array([[int(word, 16)]], np.uint64)
    got = score_module.call_operation(mutant.run, file, inputs)
    assert f"{int(got[0, 0]):0{file.out_digits}x}" == wrong
    right = exact_answer(
        file.op, file.format, file.float, [int(word, 16)], Policy.parse(mutant.policy)
    )
    assert right != (int(wrong, 16),)


#: What the mutants are made of, with nothing wrong in it.
UNMUTATED = [
    ("encode", encoder(), "encode/e4m3.f32"),
    ("encode", encoder(), "encode/e2m1.bf16"),
    ("encode", encoder(), "encode/int8.f64"),
    ("encode", encoder(), "encode/e5m2.f16"),
    ("shared_scale", scaler(), "shared_scale/e4m3.f64"),
    ("quantize", quantizer(), "quantize/mxfp6_e3m2.f32"),
    ("quantize", quantizer(), "quantize/mxint8.bf16"),
    ("decode", decoder(), "decode/e5m2.f32"),
    ("dequantize", dequantizer(), "dequantize/mxfp8_e4m3.bf16"),
    ("dequantize", dequantizer(), "dequantize/mxfp8_e5m2.f32"),
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
    assert (cell.verdict, cell.killers, cell.fails, cell.applicable) == (
        "unlisted",
        {},
        True,
        False,
    )
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
def test_the_ledger() -> None:
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
        for cell in cells()
        if cell.verdict == "equivalent"
    }
    assert found == listed


CHECKS = {entry.check for entry in EQUIVALENT if entry.check is not None}


@pytest.mark.parametrize("check", sorted(CHECKS, key=lambda check: check.__name__))
def test_the_checks_of_the_ledger(check: object) -> None:
    assert callable(check)
    assert check() is True


def test_the_packing_mutants() -> None:
    """Bytes by hand: the right ones are 21 43, 81 34 d2 and 10 32."""
    codes = np.array([1, 2, 3, 4], np.uint8)
    assert layout.high_nibble_first(codes, "e2m1").tolist() == [0x12, 0x34]
    sixes = np.array([[0x01, 0x12, 0x23, 0x34]] * 2, np.uint8)
    assert layout.most_significant_first(sixes, "e2m3").tolist() == [[0x05, 0x28, 0xF4]] * 2
    ramp = np.tile(np.arange(16, dtype=np.uint8), 4).reshape(2, 32)
    assert layout.halves(ramp, "e2m1")[1].tolist() == [0x11 * i for i in range(16)]
    scales = np.arange(1024).reshape(256, 4) // 8
    tile = places.swapped_tiles(scales.astype(np.uint8)).reshape(2, 512)
    healthy = places.swizzled((0, 3, 2, 1, 4))(scales.astype(np.uint8))
    tiles = mxref.pack_scales(scales.astype(np.uint8), scale_layout="tiles_128x4")
    assert healthy.tolist() == tiles.tolist()
    for row in range(128):
        wrong = row // 4 * 16 + row % 4 * 4  # right: row % 32 * 16 + row // 32 * 4
        assert tile[0, wrong] == row // 2
        assert tile[1, wrong + 3] == (128 + row) // 2


def test_splitmix64() -> None:
    """The first outputs are published, see the docstring; any part can be had alone."""
    whole = splitmix64(12345, 100)
    assert whole.dtype == np.uint64
    assert splitmix64(12345, 30, 50).tolist() == whole[50:80].tolist()
    # By Python's integers.
    mask, state, wanted = (1 << 64) - 1, 12345, []
    for _ in range(100):
        state = state + 0x9E3779B97F4A7C15 & mask
        z = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
        wanted.append(z ^ z >> 31)
    assert whole.tolist() == wanted

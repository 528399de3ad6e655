"""Vectors of packings, scale layouts, stored blocks, tensors and NVFP4, and checking with them."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import ROOT, all_files

import mxref
from mxref.cases.answers import answerable, exact_answers, fast_answers
from mxref.cases.read import VectorError, parse
from mxref.cases.records import VectorFile
from mxref.conformance import target_of, verify
from mxref.conformance.compare.failure_text import describe
from mxref.operands.word_rows import NO_WORD, same_width
from mxref.operations.registry import LAYOUT_OPERATIONS, REGISTRY
from mxref.policy.policy import Policy

VECTORS = ROOT / "vectors"
BEFORE, AFTER = "scale_place=before", "scale_place=after"


@functools.cache
def files() -> dict[str, VectorFile]:
    is_mine = ("fp4_ue4m3", "nvfp4")
    return {f.stem: f for f in all_files() if f.op in LAYOUT_OPERATIONS or f.format in is_mine}


@pytest.mark.sampled(0)
def test_which_files_there_are() -> None:
    ops = [file.op for file in files().values()]
    wanted = {"pack": 3, "unpack": 15, "pack_scales": 1, "unpack_scales": 4, "pack_blocks": 6}
    wanted |= {"unpack_blocks": 6, "quantize_tensor": 12, "quantize": 3, "dequantize": 2}
    assert {op: ops.count(op) for op in ops} == wanted
    assert sum(len(file.cases) for file in files().values()) > 1400


TIES = "07 00 02 02 04 04 06 06 08 0a 0a 0c 0c 0e 0e 08"
NIBBLES = "10 32 54 76 98 ba dc fe"
#: File, case, column, answer: by hand, from SPEC_NOTES N29, N32 and N41.
BY_HAND = [
    ("pack/e2m1.bytes", "up_4", "ocp", "10 32"),
    ("pack/e2m1.bytes", "up_4", "ocp+fp4_packing=high_nibble_first", "01 23"),
    ("pack/e2m1.bytes", "up_4", "ocp+fp4_packing=middle_bits", "00 04 08 0c"),
    ("pack/e2m1.bytes", "up_4", "ocp+fp4_packing=byte_each", "00 01 02 03"),
    ("pack/e2m1.bytes", "up_4", "ocp+fp4_packing=halves", "00 01 02 03" + " 00" * 12),
    ("pack/e2m1.bytes", "up_32", "ocp+fp4_packing=halves", "00 11 22 33 44 55 66 77"
     " 88 99 aa bb cc dd ee ff"),
    ("pack/e2m1.bytes", "down_3", "ocp", "ef 0d"),
    ("pack/e2m1.bytes", "down_3", "ocp+fp4_packing=high_nibble_first", "fe d0"),
    ("pack/e3m2.bytes", "up_4", "ocp", "40 20 0c"),
    ("pack/e3m2.bytes", "down_4", "ocp", "bf df f3"),
    ("pack/e2m3.bytes", "down_4", "ocp+fp6_packing=quark", "ff fe dc"),
    ("pack/e2m3.bytes", "up_4", "ocp+fp6_packing=torchao_quads", "00 00 1e"),
    ("pack/e2m3.bytes", "up_5", "ocp", "40 20 0c 04 00 00"),
    ("pack/e2m3.bytes", "up_5", "ocp+fp6_packing=torchao_planar",
     "00 10" + " 00" * 14 + " 1b" + " 00" * 7),
    ("unpack/e2m1.middle_bits", "up_3", "ocp+fp4_packing=middle_bits", "00 01 02"),
    ("unpack/e3m2.quark", "down_5", "ocp+fp6_packing=quark", "3f 3e 3d 3c 3b"),
    ("pack_blocks/mxfp4_e2m1.bytes", "up", f"ocp+fp4_packing=halves+{BEFORE}",
     "85 00 11 22 33 44 55 66 77 88 99 aa bb cc dd ee ff"),
    ("pack_blocks/mxfp4_e2m1.bytes", "up", f"ocp+{AFTER}", f"{NIBBLES} {NIBBLES} 85"),
    ("pack_blocks/mxfp4_e2m1.bytes", "up", f"ocp+{BEFORE}+scale_byte=signed",
     f"06 {NIBBLES} {NIBBLES}"),
    ("quantize_tensor/mxfp4_e2m1.f32", "last_of_row_0_2x33_axis_1", "ocp",
     "7d 8a 7d 7d" + " 06" * 32 + " 0f" + " 00" * 31 + " 06" * 33 + " 00" * 31),
    ("quantize_tensor/mxfp4_e2m1.bf16", "first_of_row_1_2x33_axis_1", "ocp+tail=short",
     "7d 7d 8a 7d" + " 06" * 33 + " 0f" + " 00" * 31 + " 06"),
    ("quantize/fp4_ue4m3.f32", "at_ties_under_38", "ocp", f"38 {TIES}"),
    ("quantize/fp4_ue4m3.bf16", "at_ties_under_3c", "ocp", f"3c {TIES}"),
    ("quantize/fp4_ue4m3.f32", "zeros", "ocp", "00" + " 00" * 16),
    ("quantize/fp4_ue4m3.f32", "nan_15", "ocp", "7f" + " 00" * 16),
    ("quantize/nvfp4.f32", "3f800000_ties_under_38", "ocp", "38 07 00 02 02 04 04 06 06"
     " 08 0a 0a 0c 0c 0e 0e 00"),
]  # fmt: skip


def words(text: str) -> tuple[int, ...]:
    return tuple(int(word, 16) for word in text.split())


@pytest.mark.parametrize(("stem", "name", "column", "answer"), BY_HAND)
def test_answers_by_hand(stem: str, name: str, column: str, answer: str) -> None:
    file = files()[stem]
    (case,) = (case for case in file.cases if case.name == name)
    assert case.output(file.columns.index(column)) == words(answer)


def test_tiles_by_hand() -> None:
    """Row r, column c of a tile at r % 32 * 16 + r // 32 * 4 + c, tiles of 512 bytes."""
    file = files()["pack_scales/e8m0.bytes"]
    cases = {case.name: case.output(1) for case in file.cases}
    assert file.columns[1] == "ocp+scale_layout=tiles_128x4"
    rows, columns = cases["rows_130x4"], cases["columns_130x4"]
    assert len(rows) == len(columns) == 1024
    assert rows[:20] == words("00 " * 4 + "20 " * 4 + "40 " * 4 + "60 " * 4 + "01 " * 4)
    assert rows[508:532] == words("7f " * 4 + "80 " * 4 + "00 " * 12 + "81 " * 4)
    assert columns[:8] == words("00 01 02 03 00 01 02 03")
    assert columns[512:520] == words("00 01 02 03 00 00 00 00")
    hashed = next(case for case in file.cases if case.name == "hashed_256x8")
    codes = np.array(hashed.inputs[2:]).reshape(256, 8)
    # Tiles lie row by row: that of rows 128 to 255, columns 4 to 7 is the last one.
    assert hashed.output(1)[3 * 512 + 5 * 16 + 2 * 4 + 1] == codes[128 + 2 * 32 + 5, 4 + 1]


def test_columns_of_a_tensor_by_hand() -> None:
    """Rows 1, 2, ..., 40 along axis 0 in MXFP4: scale 2**3, 40 / 8 is a tie and goes to 4."""
    (case,) = (
        case
        for case in files()["quantize_tensor/mxfp4_e2m1.f32"].cases
        if case.name == "rows_40x3_axis_0"
    )
    scales, codes = case.output(0)[:6], np.array(case.output(0)[6:]).reshape(64, 3)
    assert scales == words("82 82 82 82 82 82")
    assert {tuple(row) for row in codes[[0, 3, 7, 15, 31, 39, 40, 63]].tolist()} == {
        *((0,) * 3, (1,) * 3, (2,) * 3, (4,) * 3, (6,) * 3)
    }
    assert codes[[0, 3, 7, 15, 31, 39, 40], 0].tolist() == [0, 1, 2, 4, 6, 6, 0]


@pytest.mark.parametrize(
    ("stem", "name", "word", "bits"),
    [
        ("dequantize/fp4_ue4m3.f32", "39", 1, 0x3F100000),  # 0.5 * 9/8
        ("dequantize/fp4_ue4m3.f32", "01", 2, 0x3B000000),  # 1 * 2**-9
        ("dequantize/fp4_ue4m3.f32", "7e", 15, 0xC5280000),  # -6 * 448
        ("dequantize/fp4_ue4m3.f32", "00", 9, 0x80000000),  # -0.5 * 0
        ("dequantize/nvfp4.f32", "40400000_38", 2, 0x40400000),  # 1 * 1 * 3
    ],
)
def test_numbers_by_hand(stem: str, name: str, word: int, bits: int) -> None:
    (case,) = (case for case in files()[stem].cases if case.name == name)
    assert case.output(0)[word] == bits


@pytest.mark.sampled(6)
@pytest.mark.parametrize("op", [*LAYOUT_OPERATIONS, "quantize", "dequantize"])
def test_both_references_give_every_answer(op: str) -> None:
    for file in files().values():
        if file.op != op:
            continue
        questions = [case.inputs for case in file.cases]
        for index, column in enumerate(file.columns):
            policy = Policy.parse(column)
            assert answerable(op, file.format, file.float, policy)
            slow = exact_answers(op, file.format, file.float, questions, policy)
            assert slow == [case.output(index) for case in file.cases]
            got = fast_answers(op, file.format, file.float, file.input_words(), policy)
            one, other = same_width(got.astype(np.uint64), file.outputs(index))
            assert (one == other).all()


@pytest.mark.parametrize("name", ["e2m1", "e3m2"])
def test_addresses_tell_all_bits_apart(name: str) -> None:
    cases = [c for c in files()[f"pack/{name}.bytes"].cases if "address" in c.flags]
    bits = 4 if name == "e2m1" else 6
    seen = {
        tuple(case.inputs[i] >> bit & 1 for case in cases) for i in range(32) for bit in range(bits)
    }
    assert len(seen) == 32 * bits
    assert not seen & {(0,) * len(cases), (1,) * len(cases)}


def test_no_word_is_no_word() -> None:
    for file in files().values():
        top = 1 << 4 * max(file.in_digits, file.out_digits)
        assert top <= NO_WORD
        array = file.input_words()
        widths = {len(case.inputs) for case in file.cases}
        assert array.shape == (len(file.cases), max(widths))
        assert bool((array == np.uint64(NO_WORD)).any()) == (len(widths) > 1)


# Checking.


def _pack_blocks(**choices: Any) -> Any:
    return lambda s, c, f: mxref.pack_blocks(s, c.reshape(-1), f, **choices)


def _unpack_blocks(packed: Any, format: str, **choices: Any) -> Any:
    scales, codes = mxref.unpack_blocks(packed, format, **choices)
    return scales, codes.reshape(len(packed), -1)


def right(**choices: Any) -> dict[str, Any]:
    """A target with every operation, by the fast path."""
    tail = {n: v for n, v in choices.items() if n == "tail"}
    layout = {n: v for n, v in choices.items() if n == "scale_layout"}
    place = {"scale_place": "before", **{n: v for n, v in choices.items() if "scale_b" in n}}
    packing = {n: v for n, v in choices.items() if "packing" in n}
    return {
        "pack": lambda codes, format: mxref.pack(codes, format, **packing),
        "unpack": lambda packed, format, n: mxref.unpack(packed, format, n, **packing),
        "pack_scales": lambda codes: mxref.pack_scales(codes, **layout),
        "unpack_scales": lambda packed, shape: mxref.unpack_scales(packed, shape, **layout),
        "pack_blocks": _pack_blocks(**place, **packing),
        "unpack_blocks": lambda p, f: _unpack_blocks(p, f, **place, **packing),
        "quantize_tensor": lambda v, f, axis: mxref.quantize(v, f, axis=axis, **tail),
    }


def report_on(policy: str = "ocp", **operations: Any) -> Any:
    target = target_of(SimpleNamespace(POLICY=policy, **operations), "mine")
    return verify(target, list(files().values()))


def test_a_right_target_passes() -> None:
    report = report_on(f"ocp+{BEFORE}", **right())
    assert report.passed
    assert report.verdict.startswith("conforms")
    assert {row.op for row in report.rows} == set(LAYOUT_OPERATIONS)
    # NVFP4 is not asked for, and neither are bytes of other packings.
    assert "quantize" in report.not_covered
    assert any(s.startswith("unpack e3m2 (quark, torchao_planar") for s in report.not_covered)
    assert "unpack_scales e8m0 (tiles_128x4, mn_major_words, tiles_gfx950)" in report.not_covered


def test_stored_blocks_need_a_place() -> None:
    report = report_on("ocp", pack_blocks=_pack_blocks(scale_place="before"))
    assert (report.compared, report.passed) == (0, False)
    assert "pack_blocks" in report.not_covered


WRONG = [
    ("pack", {"fp4_packing": "high_nibble_first"}, "e2m1"),
    ("pack", {"fp4_packing": "byte_each"}, "e2m1"),
    ("pack", {"fp6_packing": "quark"}, "e3m2"),
    ("unpack", {"fp4_packing": "high_nibble_first"}, "e2m1"),
    ("pack_scales", {"scale_layout": "tiles_128x4"}, "e8m0"),
    ("pack_blocks", {"fp4_packing": "halves"}, "mxfp4_e2m1"),
    ("unpack_blocks", {"scale_byte": "signed"}, "mxint8"),
    ("quantize_tensor", {"tail": "short"}, "mxfp6_e2m3"),
]


@pytest.mark.parametrize(("op", "choice", "format"), WRONG)
def test_another_layout_is_named(op: str, choice: dict[str, str], format: str) -> None:
    claimed = f"ocp+{BEFORE}" if op.endswith("blocks") else "ocp"
    report = report_on(claimed, **{op: right(**choice)[op]})
    (row,) = (row for row in report.rows if row.format == format)
    assert row.failures
    assert not report.passed
    found = Policy().replace(**choice)
    if op.endswith("blocks"):
        found = found.replace(scale_place="before")
    assert [(cause.policy, cause.complete) for cause in row.causes] == [(str(found), True)]


def test_bytes_of_another_size_are_still_named_where_they_can_be() -> None:
    """Halves agree with neighbours on no odd length: it is no policy, but a known bug."""

    def unpack(packed: Any, format: str, count: int) -> Any:
        whole = np.pad(packed, (0, -len(packed) % 16))
        return mxref.unpack(whole, format, 2 * len(whole), fp4_packing="halves")[:count]

    (row,) = report_on(FORMATS=["e2m1"], unpack=unpack).rows
    assert [(cause.name, cause.complete) for cause in row.causes] == [("G3u", True)]


@pytest.mark.parametrize("op", LAYOUT_OPERATIONS)
def test_an_error_in_one_case_hides_no_other(op: str) -> None:
    calls = 0
    function = right()[op]

    def fails_once(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise RuntimeError("no")
        return function(*arguments)

    report = report_on(f"ocp+{BEFORE}", **{op: fails_once})
    (failure,) = (failure for _, failure in report.failures)
    assert failure.error.startswith("RuntimeError: no")
    assert calls == report.compared


@pytest.mark.sampled(6)
def test_results_of_another_kind() -> None:
    report = report_on(pack=lambda codes, format: codes.astype(np.float32))
    assert {f.error for _, f in report.failures} == {
        "codes must come back as integers, got float32"
    }
    report = report_on(pack=lambda codes, format: codes[np.newaxis])
    assert all("must have one axis" in f.error for _, f in report.failures)
    report = report_on(quantize_tensor=lambda values, format, axis: values)
    assert {f.error for _, f in report.failures} == {
        "quantize_tensor must return two arrays, got ndarray"
    }


def test_half_of_the_tensors_are_not_contiguous() -> None:
    seen: list[tuple[bool, bool]] = []

    def look(values: Any, format: str, axis: int) -> Any:
        owner = values
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        seen.append((values.flags.c_contiguous, owner.size == values.size))
        return mxref.quantize(values, format, axis=axis)

    report = report_on(FORMATS=["mxint8"], FLOATS=["bf16"], quantize_tensor=look)
    assert report.passed
    flags = ["strided" in c.flags for c in files()["quantize_tensor/mxint8.bf16"].cases]
    assert flags == [bool(i % 2) for i in range(len(flags))]
    assert all(
        contiguous for (contiguous, _), is_set in zip(seen, flags, strict=True) if not is_set
    )
    odd = [pair for pair, is_set in zip(seen, flags, strict=True) if is_set]
    assert sum(not contiguous for contiguous, _ in odd) >= 4
    assert any(not whole for _, whole in odd)  # a part of a larger array


def test_nvfp4_is_asked_for_by_name() -> None:
    asked: list[Any] = []

    def quantize(values: Any, format: str, tensor_scale: Any = None) -> Any:
        asked.append((format, values.shape, tensor_scale))
        return mxref.quantize(values, format, tensor_scale=tensor_scale)

    report = report_on(FORMATS=["nvfp4", "fp4_ue4m3"], quantize=quantize)
    assert report.passed
    assert asked[0] == ("fp4_ue4m3", (len(files()["quantize/fp4_ue4m3.f32"].cases), 16), None)
    tensors = [case.inputs[0] for case in files()["quantize/nvfp4.f32"].cases]
    assert [shape for name, shape, _ in asked if name == "nvfp4"] == [
        (tensors.count(bits), 16)
        for bits in sorted(set(tensors))  # one call for each
    ]
    assert isinstance(asked[-1][2], np.float32)
    wrong = report_on(
        FORMATS=["fp4_ue4m3"], quantize=lambda v, f: mxref.quantize(v, f, scale_arithmetic="cublas")
    )
    (row,) = wrong.rows
    assert [(cause.policy, cause.complete) for cause in row.causes] == [
        ("ocp+scale_arithmetic=cublas", True)
    ]
    assert wrong.verdict == "conforms under ocp+scale_arithmetic=cublas"


SAID = [
    (
        "pack",
        {"fp4_packing": "high_nibble_first"},
        "up_2",
        "byte 0 holding element 0 = 00 and element 1 = 01, want 10, got 01 (holding 01 and 00)",
    ),
    (
        "unpack",
        {"fp4_packing": "high_nibble_first"},
        "up_2",
        "element 0 from byte 0 = 10, want 00, got 01",
    ),
    ("pack_scales", {"scale_layout": "tiles_128x4"}, "hashed_1x1", "word 1, want the end, got 00"),
    (
        "pack_blocks",
        {"fp4_packing": "halves"},
        "up",
        "byte 1 holding element 0 = 00 and element 1 = 01, want 10, got 00 (holding 00 and 00)",
    ),
    (
        "quantize_tensor",
        {"tail": "short"},
        "rows_40x3_axis_0",
        "40 x 3 tensor, blocks along axis 0: element of row 40, column 0: padding, "
        "want 00 = 0, got the end",
    ),
]


@pytest.mark.parametrize(("op", "choice", "name", "text"), SAID)
def test_failures_in_words(op: str, choice: dict[str, str], name: str, text: str) -> None:
    claimed = f"ocp+{BEFORE}" if op == "pack_blocks" else "ocp"
    report = report_on(claimed, FORMATS=["e2m1", "mxfp4_e2m1"], **{op: right(**choice)[op]})
    file, failure = next((file, f) for file, f in report.failures if f.case.name == name)
    assert describe(file, failure).startswith(f"{failure.case.id}: {text}; ")


# Reading.


@pytest.mark.parametrize("stem", [
    "pack/e2m1.bytes", "unpack/e3m2.quark", "pack_scales/e8m0.bytes",
    "unpack_scales/e8m0.tiles_128x4", "pack_blocks/mxfp6_e2m3.bytes",
    "unpack_blocks/mxint8.bytes", "quantize_tensor/mxfp8_e4m3.bf16", "quantize/nvfp4.f32",
    "dequantize/nvfp4.f32",
])  # fmt: skip
@pytest.mark.parametrize("side", ["in", "out"])
def test_wrong_numbers_of_words_are_refused(stem: str, side: str) -> None:
    lines = list(files()[stem].lines())
    number = 11 if stem.startswith("pack/") else 5
    start = lines[number - 1].index('"', lines[number - 1].index(f'"{side}":') + len(side) + 3)
    end = lines[number - 1].index('"', start + 1)
    cut = lines[number - 1][:end].rpartition(" ")[0] + lines[number - 1][end:]
    with pytest.raises(VectorError, match=f":{number}: .* words in and .* out|is no case of"):
        parse("\n".join([*lines[: number - 1], cut, *lines[number:]]) + "\n", "x")


def test_codes_out_of_range_are_refused() -> None:
    lines = list(files()["unpack_blocks/mxfp4_e2m1.bytes"].lines())
    at = lines[1].index('"out":["') + len('"out":["')
    wrong = f"{lines[1][: at + 3]}10{lines[1][at + 5 :]}"
    with pytest.raises(VectorError, match=r":2: holds what is no code of e2m1"):
        parse("\n".join([lines[0], wrong, *lines[2:]]) + "\n", "x")


def test_a_case_that_cannot_be_is_refused() -> None:
    for op, inputs in (("quantize_tensor", (2, 2)), ("pack_scales", (1,)), ("unpack_scales", ())):
        with pytest.raises(ValueError, match=f"{op} must have more words in"):
            REGISTRY[op].counts("mxint8", inputs, Policy())
    with pytest.raises(ValueError, match="axis"):
        REGISTRY["quantize_tensor"].counts("mxint8", (1, 1, 2, 0), Policy())

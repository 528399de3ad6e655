"""Vectors of packings, scale layouts, stored blocks, tensors and NVFP4, and checking with them."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import ROOT, all_files
from tables import rows

import mxref
from mxref.cases.read import VectorError, parse
from mxref.cases.records import VectorFile
from mxref.conformance import target_of, verify
from mxref.conformance.compare.failure_text import describe
from mxref.operands.word_rows import NO_WORD
from mxref.operations.registry import LAYOUT_OPERATIONS, REGISTRY
from mxref.policy.policy import Policy

VECTORS = ROOT / "vectors"
BEFORE = "scale_place=before"


@functools.cache
def files() -> dict[str, VectorFile]:
    is_mine = ("fp4_ue4m3", "fp4_ue5m3", "nvfp4", "fp4_e8m0")
    return {f.stem: f for f in all_files() if f.op in LAYOUT_OPERATIONS or f.format in is_mine}


@pytest.mark.sampled(0)
def test_which_files_there_are() -> None:
    ops = [file.op for file in files().values()]
    wanted = {"pack": 3, "unpack": 15, "pack_scales": 1, "unpack_scales": 4, "pack_blocks": 6}
    wanted |= {"unpack_blocks": 6, "quantize_tensor": 12, "quantize": 16, "dequantize": 15}
    assert {op: ops.count(op) for op in ops} == wanted
    assert sum(len(file.cases) for file in files().values()) > 4000


def test_tiles_lie_row_by_row() -> None:
    """That of rows 128 to 255, columns 4 to 7 is the last one."""
    file = files()["pack_scales/e8m0.bytes"]
    (case,) = (case for case in file.cases if case.name == "hashed_256x8")
    codes = np.array(case.inputs[2:]).reshape(256, 8)
    packed = case.output(file.columns.index("ocp+scale_layout=tiles_128x4"))
    assert packed[3 * 512 + 5 * 16 + 2 * 4 + 1] == codes[128 + 2 * 32 + 5, 4 + 1]


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
        array = file.input_words()
        widths = {len(case.inputs) for case in file.cases}
        assert top <= NO_WORD or len(widths) == 1
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


@pytest.mark.parametrize("row", rows("golden", "layouts"), ids=lambda row: " ".join(row[:3]))
def test_another_layout_is_named_and_told(row: list[str]) -> None:
    op, spelled, format, *told = row
    choice = dict([spelled.split("=")])
    found = Policy().replace(**choice)
    if op.endswith("blocks"):
        found = found.replace(scale_place="before")
    claimed = f"ocp+{BEFORE}" if op.endswith("blocks") else "ocp"
    report = report_on(claimed, FORMATS=[format], **{op: right(**choice)[op]})
    (wrong,) = (row for row in report.rows if row.format == format)
    assert wrong.failures
    assert not report.passed
    assert [(cause.policy, cause.complete) for cause in wrong.causes] == [(str(found), True)]
    for name, text in [told] if told else []:
        file, failure = next((file, f) for file, f in report.failures if f.case.name == name)
        assert describe(file, failure).startswith(f"{failure.case.id}: {text}; ")


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
    assert len(seen) == len(flags)
    assert all(contiguous for contiguous, _ in seen[::2])
    assert sum(not contiguous for contiguous, _ in seen[1::2]) >= 4
    assert any(not whole for _, whole in seen[1::2])  # a part of a larger array


def test_nvfp4_is_asked_for_by_name() -> None:
    asked: list[Any] = []

    def quantize(values: Any, format: str, tensor_scale: Any = None) -> Any:
        asked.append((format, type(tensor_scale)))
        how = {"scale_arithmetic": "cublas"} if format == "fp4_ue4m3" else {}
        return mxref.quantize(values, format, tensor_scale=tensor_scale, **how)

    report = report_on(FORMATS=["nvfp4", "fp4_ue4m3"], quantize=quantize)
    assert {*asked} == {("fp4_ue4m3", type(None)), ("nvfp4", np.float32)}
    assert {row.format: bool(row.failures) for row in report.rows} == {
        **{"nvfp4": False, "fp4_ue4m3": True},
    }
    (row,) = (row for row in report.rows if row.failures)
    assert [(cause.policy, cause.complete) for cause in row.causes] == [
        ("ocp+scale_arithmetic=cublas", True)
    ]


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

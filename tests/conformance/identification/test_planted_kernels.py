"""Kernels that are nearly of a policy: `identify` does not call them equal to one."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import vector_file
from right_calls import dequantize, quantized
from right_calls import quantize_affine as quantized_affine

import mxref
from mxref.cases.records import VectorFile
from mxref.cli import main
from mxref.conformance import PythonTarget, identify, target_of
from mxref.conformance.compare.compare import fast_right_answers
from mxref.conformance.identification.identified_text import lines
from mxref.conformance.identification.identify import identify_one, settings
from mxref.conformance.identification.integer_identification import (
    _questions,
    identify_integers,
    integer_lines,
)
from mxref.conformance.identification.setting import Setting
from mxref.formats.catalog import block_format
from mxref.operations.registry import CALL_OPERATIONS
from mxref.policy.policy import Policy
from mxref.targets.calls import Answers

Array = Any
Quantize = Callable[[Array, str], tuple[Array, Array]]
NAN = {"mxfp8_e4m3": 0xFF, "mxfp8_e5m2": 0x7D}


def scaled_by(seen: Callable[[Array], Array], **choices: str) -> Quantize:
    """A kernel that takes the scale of a block from what it sees of it, and writes a NaN code."""

    def quantize(values: Array, format: str) -> tuple[Array, Array]:
        scales, _ = quantized(seen(values), format, **choices)
        block = mxref.formats.block_format(format)
        exponents = scales.astype(np.int64)[:, np.newaxis] - 127
        wide = np.ldexp(values.astype(np.float64), -exponents)
        codes = mxref.encode(wide, block.element.name)
        codes[np.isnan(wide) | (scales == 0xFF)[:, np.newaxis]] = NAN.get(format, 0)
        return scales, codes

    return quantize


def signed(values: Array) -> Array:
    """What a maximum without abs sees; zero is its start."""
    return np.where(values < 0, values.dtype.type(0), values)


def without(lane: int) -> Callable[[Array], Array]:
    """What a loop sees that leaves a lane out."""
    return lambda values: np.where(np.arange(32) == lane, values.dtype.type(0), values)


def nan_of_first_half(values: Array) -> Array:
    """What a reduction sees in which the second half is joined by a maximum that drops NaN."""
    dropped = np.isnan(values) & (np.arange(32) >= 16)
    return np.where(dropped, values.dtype.type(0), values)


def wrapped(values: Array, format: str) -> Array:
    """Codes whose exponent has six bits on the way, and a NaN that keeps no sign."""
    large = np.abs(values) >= 2.0**40
    _, exponents = np.frexp(np.where(large & np.isfinite(values), values, 1))
    less = np.where(large & np.isfinite(values) & (exponents < 104), exponents // 64 * 64, 0)
    codes = mxref.encode(np.ldexp(values, -less), format)
    return np.where(np.isnan(values), 0x7F, codes)


def low_bits(values: Array, bits: Array, width: int, format: str) -> Array:
    """Random bits four places too low where there are more than four, and a NaN without a sign."""
    bits = bits >> 4 if width > 4 else bits
    drawn: Any = {"random_bits": bits, "random_width": width}
    codes = mxref.encode(values, format, rounding="stochastic_a", **drawn)
    return np.where(np.isnan(values), 0x7F, codes)


def quiet_alone(values: Array) -> Array:
    """What a scale is taken from if NaN is one bit pattern."""
    is_nan = values.view(np.uint32) & 0x7FFFFFFF > 0x7FC00000
    return np.where(is_nan, np.float32(0), values)


def one_code(codes: Array, format: str) -> Array:
    """Numbers, of which one of those that are not asked is another one."""
    return mxref.decode(np.where(codes == UNASKED, UNASKED + 1, codes), format)


UNASKED = 0x4D

#: Operation, format, float type and kernel; each but lane 0 was called equal to a policy before.
IN_PROBES = [
    ("quantize", "mxfp8_e4m3", "f32", scaled_by(signed)),
    ("quantize", "mxfp8_e5m2", "bf16", scaled_by(signed)),
    ("quantize", "mxfp4_e2m1", "f16", scaled_by(signed)),
    ("quantize", "mxfp8_e4m3", "f32", scaled_by(without(31))),
    ("quantize", "mxfp4_e2m1", "f16", scaled_by(without(31))),
    ("quantize", "mxfp8_e4m3", "f32", scaled_by(without(0))),
    ("quantize", "mxfp8_e4m3", "f32", scaled_by(nan_of_first_half, scale_rule="rceil")),
    ("quantize", "mxfp8_e5m2", "bf16", scaled_by(nan_of_first_half, scale_rule="rceil")),
    ("encode", "e4m3", "f32", wrapped),
    ("encode_stochastic", "e4m3", "f32", low_bits),
]
#: Those that the probes do not tell from a policy.
IN_VECTORS = [
    ("quantize", "mxfp8_e4m3", "f32", scaled_by(quiet_alone)),
    ("decode", "e4m3", "f32", one_code),
]


def made(op: str, kernel: Any) -> PythonTarget:
    return target_of(SimpleNamespace(**{op: kernel}), "mine")


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("op", "format", "float", "kernel"), [*IN_PROBES, *IN_VECTORS])
def test_a_kernel_of_no_policy_equals_none(op: str, format: str, float: str, kernel: Any) -> None:
    (found,) = identify(made(op, kernel), [op], [format], [float])
    assert not found.consistent
    assert found.profiles == ()
    assert list(found.policies) == []
    assert lines([found])[2][-1].startswith("equals no policy")


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("op", "format", "float", "kernel"), IN_PROBES)
def test_probes_alone_contradict_it(op: str, format: str, float: str, kernel: Any) -> None:
    """So that formats without vectors are told, too."""
    assert identify_one(made(op, kernel), Setting(op, format, float)).clashes


@pytest.mark.parametrize(("op", "format", "float", "kernel"), IN_VECTORS)
def test_the_vectors_contradict_what_the_probes_fit(
    op: str, format: str, float: str, kernel: Any
) -> None:
    assert identify_one(made(op, kernel), Setting(op, format, float)).consistent
    (found,) = identify(made(op, kernel), [op], [format], [float])
    assert found.contradicted
    assert found.vectors is not None
    cases = vector_file(f"{op}/{format}.{float}").cases
    assert found.vectors.asked == found.vectors.cases == len(cases)
    assert 0 < found.vectors.wrong < len(cases)


def test_the_report_of_one_that_the_vectors_contradict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.py"
    path.write_text(
        "import mxref\nFORMATS = ['e4m3', 'e2m1']\n"
        "def decode(codes, format):\n"
        f"    return mxref.decode(codes + (codes == {UNASKED}), format)\n"
    )
    assert main(["identify", str(path)]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert "equals on 49 probes and 16 vectors: ocp" in "\n".join(printed)
    fits = "fits 62 probes as ocp, but 1 of 256 answers to the vectors differ"
    assert f"equals no policy: {fits}" in printed
    (first,) = (line for line in printed if line.startswith("vectors: "))
    assert first.startswith("vectors: decode.e4m3.f32.4d: ")  # 6.5 as 7
    assert "want 40d00000 = " in first
    assert "got 40e00000 = " in first
    command = f"mxref verify {path}"
    told = (
        f"1 of 2 contradicted by the vectors: `{command}` says more; else equals ocp on 49 probes"
    )
    assert printed[-1].startswith(f"{path}: {told} and 16 vectors; `{command} --policy ocp`")
    assert main(["identify", str(path), "--format", "e4m3", "--json"]) == 1
    (record,) = json.loads(capsys.readouterr().out)
    assert (record["consistent"], record["policy"], record["nearest"]) == (False, None, "ocp")
    assert (record["policies"], record["profiles"]) == (0, [])
    assert record["vectors"]["cases"] == record["vectors"]["asked"] == 256
    assert (record["vectors"]["different"], record["vectors"]["first"]) == (1, [first[9:]])
    command += " --policy ocp --op decode --format e4m3"
    assert record["note"] == f"{fits}; `{command}` says more"


def test_of_a_slow_target_a_part_of_the_vectors_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second for each number: as many are asked as probes, spread over all."""
    clock = [0.0]

    def encode(values: Array, format: str) -> Array:
        clock[0] += len(values)
        return mxref.encode(values, format)

    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    (found,) = identify(made("encode", encode), formats=["e2m1"], floats=["f32"])
    assert found.vectors is not None
    assert (found.vectors.cases, found.vectors.asked) == (1764, len(found.probes))
    assert lines([found])[2][-1].startswith("equals on 63 probes and 63 of 1764 vectors: ocp; ")
    ((file,),) = ([one.file for one in found.vectors.outcomes],)
    every = [case.id for case in vector_file("encode/e2m1.f32").cases]
    places = [every.index(case.id) for case in file.cases]
    assert max(np.diff([0, *places, 1764])) <= 2 * 1764 / 63


def test_a_call_that_is_slow_whatever_its_size_is_asked_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [0.0]

    def encode(values: Array, format: str) -> Array:
        clock[0] += 1
        return mxref.encode(values, format)

    monkeypatch.setattr(time, "perf_counter", lambda: clock[0])
    (found,) = identify(made("encode", encode), formats=["e2m1"], floats=["f32"])
    assert found.vectors is not None
    assert found.vectors.asked == 1764


def test_where_there_are_no_vectors_that_is_said() -> None:
    target = made("dequantize", dequantize)
    (found,) = identify(target, formats=["mxfp4_e2m1"], floats=["f64"])
    on = f"equals on {len(found.probes)} probes, without vectors: ocp; "
    assert lines([found])[2][-1].startswith(on)


def test_a_policy_of_integers_is_compared_with_the_vectors() -> None:
    """It is wrong in a call that is not among the probes."""
    format = "int8"
    probes = {words[2] for words in _questions(CALL_OPERATIONS["quantize_affine"], format)}
    cases = vector_file("quantize_affine/int8.f32").cases
    scale = next(case.inputs[2] for case in cases if case.inputs[2] not in probes)

    def quantize_affine(values: Array, by: Array, *rest: Any) -> Array:
        return quantized_affine(values, by, *rest) + (np.float32(by).view(np.uint32) == scale)

    target = made("quantize_affine", quantize_affine)
    (found,) = identify_integers(target, ["quantize_affine"], [format])
    assert found.policies == ()
    assert found.contradicted
    wrong = sum(case.inputs[2] == scale for case in cases)
    _, _, rest = integer_lines(found)
    said = f"but {wrong} of {len(cases)} answers to the vectors differ"
    assert rest[-1] == f"equals no policy: fits {found.probes} probes as {found.nearest}, {said}"


# --- what the probes have -------------------------------------------------------------------------


@dataclass
class Fast:
    """A target that follows a policy by the fast path, as far as probes matter here."""

    policy: Policy
    name: str = "fast"

    def covers(self, op: str, format: str, float: str) -> bool:
        return True

    def ask(self, file: VectorFile, inputs: Array) -> Answers:
        return fast_right_answers(file, inputs, self.policy)


BLOCKS = [
    one
    for one in settings(lambda op, format, float: op in ("quantize", "quantize_tensor"))
    if one.format in ("mxfp8_e4m3", "mxint8") or one.float == "bf16"
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("setting", BLOCKS, ids=str)
def test_every_place_of_a_block_is_asked(setting: Setting) -> None:
    """Each lane has a largest element, some of them negative; each quarter each special alone."""
    found = identify_one(Fast(Policy()), setting)
    asked = [probe.words for probe in found.probes]
    if setting.op == "quantize_tensor":
        asked = [words[3:] for words in asked if words[1:3] == (32, 1)]
    size = block_format(setting.format).elements_per_block
    blocks_of = [words[len(words) % size :] for words in asked]  # without the tensor's scale
    bits = np.array([word for words in blocks_of for word in words], setting.layout.uint)
    with np.errstate(invalid="ignore"):  # a signalling NaN
        blocks = bits.view(setting.layout.dtype).reshape(-1, size).astype(np.float64)
    finite = np.isfinite(blocks)
    largest = np.where(finite.all(axis=1), np.abs(blocks).argmax(axis=1), -1)
    alone = np.partition(np.abs(blocks), -2, axis=1)[:, -2] * 4 < np.abs(blocks).max(axis=1)
    # Of tiles and blocks of 128 there are more places than a kernel is asked questions.
    tiled = block_format(setting.format).is_tiled
    places = range(0, size, 4) if setting.is_float_scaled else range(16 if tiled else size)
    assert {*largest[alone].tolist()} >= {*places}
    assert (blocks.min(axis=1) < -blocks.max(axis=1)).sum() >= 8
    quarters = set()
    for block, row in zip(blocks, ~finite, strict=True):
        if row.sum() == 1:
            (lane,) = np.flatnonzero(row)
            special = "nan" if np.isnan(block[lane]) else "inf"
            quarters.add((special, bool(np.signbit(block[lane])), int(lane) * 4 // size))
    assert quarters == {*itertools.product(("nan", "inf"), (False, True), range(4))}
    minus_zero = (blocks == 0) & np.signbit(blocks)
    assert (minus_zero.sum(axis=1) == 1)[(blocks == 0).all(axis=1)].any()
    assert minus_zero.reshape(-1, 4, size // 4).any(axis=(0, 2)).all()

"""``mxref quantize`` in several ways: figures by the slow twin, marks, omissions, progress."""

from __future__ import annotations

import itertools
import math
import re
import struct
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from commands import Call
from safetensors.numpy import save_file
from tables import rows

from mxref import exact, files
from mxref.cli import screen
from mxref.cli.quantize_table import _marks, in_short
from mxref.cli.quantize_ways import ways_of

RULES = ("floor", "rceil", "even", "ceil")
#: The elements of formats, and the code of their largest number.
ELEMENTS = {
    "mxfp4_e2m1": ("e2m1", 7),
    "mxfp8_e4m3": ("e4m3", 0x7E),
    "nvfp4": ("e2m1", 7),
    "mxfp6_e3m2": ("e3m2", 0x1F),
    "mxint8": ("int8", 0x7F),
}
EVERY = [f"--format={name}" for name in ELEMENTS]
FORMATS = EVERY[:3]
POLICIES = [f"--policy=ocp+scale_rule={rule}" for rule in RULES]


def numbers(seed: int, shape: tuple[int, ...]) -> np.ndarray:
    generator = np.random.default_rng(seed)
    values = generator.standard_normal(shape) * 2.0 ** generator.integers(-3, 4, shape)
    values.reshape(-1)[::13] = 0
    return values.astype(np.float32)


TENSORS = {"a": numbers(1, (3, 64)), "b": numbers(2, (2, 32)), "c": numbers(3, (1, 96))}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "x.safetensors"
    save_file({**TENSORS, "ids": np.arange(5)}, path)
    return path


# --- figures --------------------------------------------------------------------------------------


class Twin:
    """Figures of tensors by the slow twin, an element at a time, in fractions."""

    def __init__(self) -> None:
        self.signal = self.noise = self.largest = Fraction(0)
        self.count = self.saturated = self.flushed = 0

    def add(self, values: np.ndarray, format: str, rule: str) -> None:
        element, top = ELEMENTS[format]
        bits = values.reshape(-1, 16 if format == "nvfp4" else 32).view(np.uint32).tolist()
        if format == "nvfp4":
            args = ("f32", element, "ue4m3", "exact", "dynamic")
            factor, blocks = exact.quantize_scaled(bits, *args)
            assert factor is not None
            tensor = Fraction(struct.unpack("<f", factor.to_bytes(4, "little"))[0])
            scales = [exact.value(scale, "e4m3") * tensor for scale, _ in blocks]
        else:
            blocks = [exact.quantize(row, "f32", element, rule=rule) for row in bits]
            scales = [Fraction(2) ** (scale - 127) for scale, _ in blocks]
        most = exact.value(top, element)
        flat = iter(values.reshape(-1).tolist())
        for scale, (_, codes) in zip(scales, blocks, strict=True):
            for code in codes:
                x, got = Fraction(next(flat)), exact.value(code, element) * scale
                self.count += 1
                self.saturated += abs(x) > most * scale
                self.flushed += x != 0 and got == 0
                self.signal += x**2
                self.noise += (x - got) ** 2
                self.largest = max(self.largest, abs(x - got))

    def agrees(self, figures: dict[str, Any]) -> None:
        assert figures["saturated"] == self.saturated / self.count
        assert figures["flushed"] == self.flushed / self.count
        assert figures["largest_error"] == float(self.largest)
        ratio = self.signal / self.noise
        assert figures["sqnr_db"] == pytest.approx(10 * math.log10(ratio), rel=1e-14)


def test_figures_by_the_slow_twin(model: Path, quantize: Call) -> None:
    run = quantize(model, *EVERY, "--policy=ocp", *POLICIES[1:], "--json")
    assert (run.status, run.err) == (0, "")
    report = run.json
    ways = [(way["format"], way["policy"]) for way in report["ways"]]
    policies = ["ocp", *(f"ocp+scale_rule={rule}" for rule in RULES[1:])]
    reading = [name for name in ELEMENTS if name != "nvfp4"]
    assert sorted(ways) == sorted([*itertools.product(reading, policies), ("nvfp4", "ocp")])
    bits = {way["format"]: way["bits"] for way in report["ways"]}
    assert [*bits.values()] == [4.25, 8.25, 4.5, 6.25, 8.25]
    assert [(one["format"], one["policy"]) for one in report["left_out"]] == [
        ("nvfp4", policy) for policy in policies[1:]
    ]
    assert [one["name"] for one in report["tensors"]] == list(TENSORS)
    for number, (format, policy) in enumerate(ways):
        rule = "floor" if policy == "ocp" else policy.rpartition("=")[2]
        total = Twin()
        for about in report["tensors"]:
            alone = Twin()
            for twin in (alone, total):
                twin.add(TENSORS[about["name"]], format, rule)
            alone.agrees(about["ways"][number])
        total.agrees(report["total"]["ways"][number])
    assert report["total"]["tensors"] == len(TENSORS)


def test_each_way_as_if_it_were_alone(model: Path, tmp_path: Path, quantize: Call) -> None:
    profiles = ["--profile=torchao_0_18_floor", "--profile=ocp"]
    report = quantize(model, *FORMATS, *POLICIES[1:2], *profiles, "--json").json
    for way, wanted in zip(report["ways"], rows("cli", "ways"), strict=True):
        assert list(way.values())[:2] == wanted
    for number, way in enumerate(report["ways"]):
        way.pop("bits")
        options = [f"--{name}={value}" for name, value in way.items()]
        alone = quantize(model, *options, "--json").json
        assert alone.pop("total") == {"tensors": 3, **report["total"]["ways"][number]}
        for one, about in zip(alone["tensors"], report["tensors"], strict=True):
            figures = about["ways"][number]
            assert {name: one[name] for name in figures} == figures
    np.savez(tmp_path / "x.npz", **TENSORS, ids=np.arange(5))
    archive = quantize(tmp_path / "x.npz", *FORMATS, *POLICIES[1:2], *profiles, "--json").json
    assert archive["skipped"] == [{"name": "ids", "reason": "it holds int64, no floats"}]
    for name in ("tensors", "total"):
        assert archive[name] == report[name]
    np.save(tmp_path / "x.npy", TENSORS["a"])
    one = quantize(tmp_path / "x.npy", *FORMATS, "--json").json
    assert one["total"]["ways"] == one["tensors"][0]["ways"]
    assert one["tensors"][0]["name"] == "x"


# --- the table: data/quantize.txt has others -----------------------------------------------------


def test_eight_ways_fit_100_columns(model: Path, quantize: Call) -> None:
    out = quantize(model, *FORMATS[:2], *POLICIES).out
    assert max(map(len, out.splitlines())) <= 100
    assert sum(re.match(r"\d  +mx", line) is not None for line in out.splitlines()) == 8
    by_tensor = re.findall(r"^([abc])  .*float32((?: +\d+\.\d\d[*+^]?){8})$", out, re.M)
    assert [name for name, _ in by_tensor] == [*TENSORS]  # one row a tensor


def figures(sqnr_db: float | None, largest_error: float, not_finite: float = 0.0) -> dict[str, Any]:
    return {"sqnr_db": sqnr_db, "largest_error": largest_error, "not_finite": not_finite}


def test_marks() -> None:
    ways, _ = ways_of(["mxfp4_e2m1", "nvfp4", "mxfp8_e4m3"], [], [])

    def marks(*row: dict[str, Any]) -> list[str]:
        found = _marks(ways, row)
        return ["".join(one.get(name, "-") for name in row[0]) for one in found]

    assert marks(figures(1, 3), figures(2, 3), figures(3, 1)) == ["---", "+--", "**-"]
    assert marks(figures(5, 3), figures(2, 1), figures(3, 1)) == ["*--", "-*-", "-*-"]
    # All as good: none is the best; no error is better than any ratio.
    assert marks(figures(1, 3), figures(1, 3), figures(1, 3)) == ["---"] * 3
    assert marks(figures(1, 3), figures(None, 0), figures(99, 1)) == ["---", "**-", "---"]
    # A way that loses elements is no better for it.
    assert marks(figures(9, 1, 0.5), figures(2, 3), figures(1, 4)) == ["---", "**-", "---"]


@pytest.mark.parametrize(("formats", "rules", "ratios", "want"), rows("cli", "last_sentences"))
def test_the_last_sentence(formats: str, rules: str, ratios: str, want: str) -> None:
    ways, _ = ways_of(formats.split(), [f"ocp+scale_rule={one}" for one in rules.split()], [])
    row = [None if one == "none" else float(one) for one in ratios.split()]
    assert in_short(ways, [figures(one, 1) for one in row]) == want
    if len(row) > 1:  # a way that loses elements is no better for it
        assert in_short(ways, [figures(one, 1, i / 2) for i, one in enumerate(row)]) == ""


def test_the_last_sentence_is_the_last_line(model: Path, quantize: Call) -> None:
    out = quantize(model, *FORMATS).out
    report = quantize(model, *FORMATS, "--json").json
    assert out.splitlines()[-1] == report["in_short"]
    assert " dB better than " in report["in_short"]
    ratios = [one["sqnr_db"] for one in report["total"]["ways"]]
    assert report["in_short"].startswith(("mxfp8_e4m3 is", "")[ratios[1] != max(ratios)])


# --- vectors --------------------------------------------------------------------------------------


def test_vectors_of_a_file_of_several_are_left_out_and_named(
    tmp_path: Path, quantize: Call
) -> None:
    """Two norms of ones would lift the total by the power that they have and no noise."""
    norms = {f"n{i}": np.ones(96, np.float32) for i in range(2)}
    save_file({**TENSORS, **norms}, tmp_path / "x.safetensors")
    save_file(TENSORS, tmp_path / "y.safetensors")
    out = tmp_path / "out.npz"
    words = [FORMATS[0], "-o", out, "--json"]
    alone = quantize(tmp_path / "y.safetensors", *words).json
    report = quantize(tmp_path / "x.safetensors", *words).json
    assert (report["tensors"], report["total"]) == (alone["tensors"], alone["total"])
    assert [one["name"] for one in report["skipped"]] == [*norms]
    assert {*files.read_blocks(out)} == {*TENSORS}
    shown = quantize(tmp_path / "x.safetensors", FORMATS[0]).out
    said = "skipped n0, n1: a vector, such as a norm or a bias (--all takes vectors)\n"
    assert said in shown
    report = quantize(tmp_path / "x.safetensors", *words, "--all").json
    assert [one["name"] for one in report["tensors"]] == [*TENSORS, *norms]
    assert report["total"]["sqnr_db"] > alone["total"]["sqnr_db"] + 0.1
    assert {*files.read_blocks(out)} == {*TENSORS, *norms}
    save_file(norms, tmp_path / "z.safetensors")
    run = quantize(tmp_path / "z.safetensors", FORMATS[0])
    assert (run.status, "the first: a vector, such as" in run.err) == (2, True)


@pytest.mark.parametrize("formats", [FORMATS[:1], FORMATS])
def test_shares_are_explained_under_the_table(
    model: Path, quantize: Call, formats: list[str]
) -> None:
    lines = quantize(model, *formats).out.splitlines()
    assert any("  saturated  " in line for line in lines)
    for name in ("saturated", "flushed"):
        assert sum(line.startswith(f"{name}: share of elements ") for line in lines) == 1


# --- what is refused, left out or skipped ---------------------------------------------------------


def test_a_tensor_that_one_way_does_not_take_is_skipped(tmp_path: Path, quantize: Call) -> None:
    """So that totals are of the same elements."""
    half = numbers(5, (1, 32)).astype(np.float16)
    bf16 = numbers(5, (1, 40)).astype(ml_dtypes.bfloat16)
    save_file({**TENSORS, "h": half, "t": bf16}, tmp_path / "x.safetensors")
    by = ["--profile=torchao_0_18_floor", "--policy=ocp+tail=refused", "--format=mxint8"]
    report = quantize(tmp_path / "x.safetensors", *by, *FORMATS[:1], "--json").json
    assert [one["name"] for one in report["tensors"]] == [*TENSORS]
    reasons = {one["name"]: one["reason"] for one in report["skipped"]}
    assert reasons["h"] == "it holds F16, which torchao_0_18_floor does not take"
    assert reasons["t"].startswith("40 on the axis is no multiple of 32")
    assert len(report["ways"]) == 3
    reason = "torchao_0_18_floor does not quantize it"
    assert report["left_out"] == [
        {"format": "mxint8", "profile": "torchao_0_18_floor", "reason": reason}
    ]


def test_the_same_way_twice_is_one(model: Path, quantize: Call) -> None:
    once = quantize(model, "--format=mxint8", "--policy=ocp")
    assert quantize(model, *2 * ("--format=mxint8", "--policy=ocp"), "--format=MXINT8") == once


# --- progress -------------------------------------------------------------------------------------


def test_progress_on_a_terminal(
    model: Path, quantize: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screen, "_QUIET", 0.0)
    assert quantize(model, *FORMATS).err == ""  # no terminal
    monkeypatch.setattr(screen, "_REDRAW", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    lines = quantize(model, *FORMATS).err.split("\r")
    assert lines[1].startswith("quantizing: 18%, about ")  # 192 of 3 * 352 elements
    assert lines[-3].startswith("quantizing: 100%, about 0 s to go")
    assert lines[-2:] == [" " * 70, ""]
    monkeypatch.setattr(screen, "_QUIET", 60.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert quantize(model, *FORMATS).err == ""  # done before

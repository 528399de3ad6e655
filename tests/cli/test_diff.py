"""``mxref diff``: what it prints, its exit status, its JSON, its data."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from commands import Call, Example, assert_sentence, caller, examples
from file_helpers import gguf_file
from safetensors.numpy import save_file

FP4 = ("--format", "mxfp4_e2m1")
RCEIL = ("ocp", "ocp+scale_rule=rceil", *FP4)
FILE = Path(__file__).resolve().parent / "data" / "diff.txt"


@pytest.fixture
def diff(capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(capsys, "diff")


@pytest.mark.parametrize("example", examples(FILE))
def test_in_words(example: Example, tmp_path: Path, call: Call) -> None:
    np.save(tmp_path / "seven.npy", np.full((2, 3, 32), 7.0, np.float32))
    example.check(call, DIR=tmp_path)


def test_json(diff: Call) -> None:
    run = diff("ocp", "ocp+scale_ff=inf", "--json", "--float", "bf16", *FP4)
    assert run.status == 1
    report = run.json
    assert (report["a"], report["b"], report["float"]) == ("ocp", "ocp+scale_ff=inf", "bf16")
    assert report["quantizing"] == []
    assert report["reading"] == [
        {"kind": "scale ff", "pairs": 14, "scale": "ff", "code": "01", "a": "7fc0", "b": "7f80"}
    ]
    assert [one["data"] for one in report["data"]] == ["normal", "log-uniform"]
    assert report["data"][0]["other_scale"] == 0


@pytest.mark.sampled(0)
def test_an_error_in_json(diff: Call) -> None:
    report = diff("gfloat", "ocp", "--json", *FP4).json
    nan = {one["kind"]: one for one in report["quantizing"]}["NaN block"]
    assert (nan["a"], nan["b"]["scale"]) == ({"error": True}, "ff")
    assert nan["in"].startswith("7fc00000 00000000 ")


@pytest.mark.sampled(0)
def test_data_that_a_side_refuses(diff: Call, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.float32([np.nan, 1.0]))
    run = diff("gfloat", "ocp", *FP4, "--data", tmp_path / "x.npy")
    assert_sentence(run, "values must not be NaN")


@pytest.mark.sampled(3)
def test_casts_of_data_in_json(diff: Call, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.float32([1.0, 500.0]))
    data = ("--data", tmp_path / "x.npy", "--json", "--float", "bf16")
    report = diff("ml_dtypes", "mlx_0_31", "--format", "e4m3", *data).json
    assert report["data"][-1] == {
        "data": "x.npy", "numbers": 2, "other_code": 0.5, "other_value": 0.5
    }  # fmt: skip
    kinds = {one["kind"]: one for one in report["casting"]}
    assert kinds["NaN"]["a"]["code"] == "7f"
    assert kinds["NaN"]["b"] == {"code": "7e", "read": "43e00000", "read_by_the_other": "43e00000"}
    assert report["reading"] == [
        {"kind": "NaN code", "codes": 2, "code": "7f", "a": "7fc00000", "b": "43f00000"}
    ]


@pytest.mark.sampled(3)
def test_data_of_several_tensors(diff: Call, tmp_path: Path) -> None:
    """The total is what one tensor of all rows has; each has a row of its own."""
    a = np.random.default_rng(7).standard_normal((6, 64)).astype(np.float32)
    b = np.full((1, 64), 7, np.float32)
    small = np.float32([1, 2, 3]).astype(ml_dtypes.float8_e4m3fn)
    path, whole = tmp_path / "x.safetensors", tmp_path / "x.npy"
    save_file({"a": a, "b": b, "ids": np.arange(3), "no": a[:0], "small": small}, path)
    np.save(whole, np.concatenate([a, b]))
    by = ("torchao_0_18_floor", "ocp+scale_rule=rceil", *FP4)
    report = diff(*by, "--data", path, "--json").json
    *_, of_a, of_b = report["data"]
    assert [of_a["data"], of_b["data"], len(report["data"])] == ["a", "b", 4]
    assert (of_b["other_scale"], of_b["elements"], of_b["blocks"]) == (1, 64, 2)
    want = diff(*by, "--data", whole, "--json").json
    assert {**want["data"][-1], "data": "total"} == report["total"]
    assert "total" not in want
    reasons = {one["name"]: one["reason"] for one in report["skipped"]}
    assert reasons == {
        "ids": "it holds I64, no floats",
        "no": "it holds no numbers",
        "small": "it holds F8_E4M3, which --small-floats takes",
    }
    lines = diff(*by, "--data", path, "--small-floats").out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("tensor "))
    names = [line.split()[0] for line in lines[start + 1 : start + 4]]
    assert names == ["a", "b", "small"]
    # 7 is 6 by floor and 8 by rceil: 10 log10(49) dB for both, 9.54 of one beside the other.
    assert lines[start + 2].split()[1:] == [*("16.90", "dB") * 2, "9.54", "dB", *("100", "%") * 3]
    assert lines[start - 9].split() == ["on", "data", "normal", "log-uniform", "total"]


def test_data_in_other_files(diff: Call, tmp_path: Path) -> None:
    seven = np.full((2, 32), 7, np.float16)
    gguf_file(tmp_path / "x.gguf", {"w": (seven, None)})
    report = diff(*RCEIL, "--json", "--data", tmp_path / "x.gguf", "--tensor", "w*").json
    assert "total" not in report
    assert [(one["data"], one["other_value"]) for one in report["data"][2:]] == [("w", 1)]
    half = tmp_path / "half.npy"
    np.save(half, seven.astype(ml_dtypes.bfloat16).view(np.uint16))
    report = diff(*RCEIL, "--data", half, "--bfloat16", "--json").json
    assert report["data"][-1]["other_scale"] == 1

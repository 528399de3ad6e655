"""``mxref diff``: what it prints, its exit status, its JSON, its errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import gguf
import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import save_file

from mxref.cli import main

Run = Callable[..., tuple[int, str, str]]
FP4 = ("--format", "mxfp4_e2m1")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def run_it(*arguments: object) -> tuple[int, str, str]:
        status = main(["diff", *map(str, arguments)])
        return status, *capsys.readouterr()

    return run_it


def test_one_screen(run: Run) -> None:
    status, out, err = run("torchao_0_18_floor", "ocp", *FP4)
    assert (status, err) == (1, "")
    lines = out.splitlines()
    assert len(lines) < 24
    first = "torchao_0_18_floor and ocp, mxfp4_e2m1: 2 kinds of difference in "
    assert lines[0].startswith(first)
    assert lines[0].endswith(" blocks from f32")
    tiny = [line.split() for line in lines if line.startswith("tiny block")]
    assert " ".join(tiny[0][2:-1]) == "0x1p-127 00 01 = 0x1p-128 00 02 = 0x1p-127"
    shares = next(line for line in lines if line.startswith("blocks with another scale"))
    assert shares.split()[-4:] == ["0", "%", "0", "%"]
    assert "reads in" not in out
    assert "reading: both read every code under every scale alike" in lines


def test_no_difference(run: Run) -> None:
    status, out, err = run("ocp", "ocp+tail=short", *FP4)
    assert (status, err) == (0, "")
    assert out.startswith("ocp and ocp+tail=short, mxfp4_e2m1: no difference in ")
    assert "the same" in out


@pytest.mark.sampled(3)
def test_what_the_other_one_reads(run: Run) -> None:
    status, out, _ = run("ocp+zero_sign=dropped", "ocp+decoded_zero=dropped", *FP4)
    assert status == 1
    assert "00 08 = 0 (ocp+zero_sign=dropped reads -0)" in out
    assert "SQNR of what ocp+decoded_zero=dropped reads in ocp+zero_sign=dropped's bytes" in out
    (zero,) = [line.split() for line in out.splitlines() if line.startswith("zero  ")]
    assert zero == ["zero", "7f", "08", "-0", "0", "255"]  # under FF it is NaN
    assert "reading: both" not in out
    beside = next(line for line in out.splitlines() if " beside " in line)
    assert beside.endswith("the same")  # but for the sign of zeros
    own = "ocp+zero_sign=dropped's bytes that ocp+decoded_zero=dropped reads otherwise"
    assert f"elements of {own}" in out


def test_json(run: Run) -> None:
    status, out, _ = run("ocp", "ocp+scale_ff=inf", "--json", "--float", "bf16", *FP4)
    report = json.loads(out)
    assert status == 1
    assert (report["a"], report["b"], report["float"]) == ("ocp", "ocp+scale_ff=inf", "bf16")
    assert report["quantizing"] == []
    assert report["reading"] == [
        {"kind": "scale ff", "pairs": 14, "scale": "ff", "code": "01", "a": "7fc0", "b": "7f80"}
    ]
    assert [one["data"] for one in report["data"]] == ["normal", "log-uniform"]
    assert report["data"][0]["other_scale"] == 0


@pytest.mark.sampled(0)
def test_an_error_in_json(run: Run) -> None:
    report = json.loads(run("gfloat", "ocp", "--json", *FP4)[1])
    nan = {one["kind"]: one for one in report["quantizing"]}["NaN block"]
    assert (nan["a"], nan["b"]["scale"]) == ({"error": True}, "ff")
    assert nan["in"].startswith("7fc00000 00000000 ")


def test_data(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.full((2, 3, 32), 7.0, np.float32))
    status, out, err = run("ocp", "ocp+scale_rule=rceil", *FP4, "--data", path)
    assert (status, err) == (1, "")
    columns = next(line for line in out.splitlines() if line.startswith("on data")).split()
    assert columns[-1] == "x.npy"
    assert "blocks with another scale" in out
    scale = next(line for line in out.splitlines() if line.startswith("blocks with another"))
    assert scale.endswith("100 %")
    beside = next(line for line in out.splitlines() if " beside " in line)
    assert beside.endswith("9.54 dB")  # 6 and 8
    half = tmp_path / "half.npy"
    np.save(half, np.full(32, 7.0).astype(ml_dtypes.bfloat16).view(np.uint16))
    out = run("ocp", "ocp+scale_rule=rceil", *FP4, "--data", half, "--bfloat16", "--json")[1]
    assert json.loads(out)["data"][-1]["other_scale"] == 1


def test_casts(run: Run) -> None:
    status, out, err = run("torch", "torch_2_12", "--format", "float8_e4m3fn", "--float", "bf16")
    assert (status, err) == (1, "")
    first = (
        "torch and torch_2_12, casts to e4m3: 2 kinds of difference in all 65536 numbers of bf16"
    )
    assert out.splitlines()[0] == first
    beyond = next(line for line in out.splitlines() if line.startswith("beyond"))
    assert beyond.split() == ["beyond", "512", "7e", "=", "448", "7f", "=", "nan", "30510"]
    assert "\n\nreading: both read every code alike\n\non data " in out
    assert "\nreading  code " not in out
    status, out, _ = run("ocp", "ocp+tail=short", "--format", "e8m0", "--float", "f16")
    assert status == 0
    assert out.startswith("ocp and ocp+tail=short, casts to e8m0: no difference in all 65536 ")


@pytest.mark.sampled(3)
def test_casts_of_data_and_in_json(run: Run, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.float32([1.0, 500.0]))
    data = ("--data", tmp_path / "x.npy", "--json", "--float", "bf16")
    report = json.loads(run("ml_dtypes", "mlx_0_31", "--format", "e4m3", *data)[1])
    assert report["data"][-1] == {
        "data": "x.npy", "numbers": 2, "other_code": 0.5, "other_value": 0.5
    }  # fmt: skip
    kinds = {one["kind"]: one for one in report["casting"]}
    assert kinds["NaN"]["a"]["code"] == "7f"
    assert kinds["NaN"]["b"] == {"code": "7e", "read": "43e00000", "read_by_the_other": "43e00000"}
    assert report["reading"] == [
        {"kind": "NaN code", "codes": 2, "code": "7f", "a": "7fc00000", "b": "43f00000"}
    ]
    status, out, _ = run("ocp", "gfloat", "--format", "e2m1", "--float", "f16")
    assert (status, "an error" in out) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("torchao_0_18_flor", "ocp", *FP4), "(did you mean 'torchao_0_18_floor'?)"),
        (("ocp", "ocp+rounding=up", *FP4), "rounding must be one of"),
        (("ocp", "cuda", *FP4), "format must be one of which both have something"),
        (("torch", "cuda", "--format", "e5m2"), "got e5m2: torch no encode; torch no decode"),
        (("ocp", "ocp", "--format", "mxfp4_e2m"), "(did you mean 'mxfp4_e2m1'?)"),
        (("ocp", "ocp", *FP4, "--float", "f8"), "float must be one of f32, f16, bf16, f64"),
        (("ocp", "ocp", *FP4, "--data", "x.gguf"), "x.gguf: No such file"),
        (("ocp", "ocp", *FP4, "--data", "missing.npy"), "missing.npy: No such file"),
        (("ocp", "ocp", *FP4, "--bfloat16"), "--bfloat16 must be given with --data"),
        (("ocp", "ocp", *FP4, "--tensor", "a"), "--tensor must be given with --data"),
        (("ocp", "ocp", *FP4, "--vectors", "nowhere"), "no vectors in"),
        (("ocp", "ocp"), "--format"),
    ],
)
def test_misuse(run: Run, arguments: tuple[str, ...], text: str) -> None:
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert text in err


@pytest.mark.sampled(0)
def test_data_that_are_no_floats(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.arange(5))
    status, out, err = run("ocp", "ocp", *FP4, "--data", path)
    assert (status, out) == (2, "")
    assert "x.npy must be float64, float32, float16 or bfloat16, got int64" in err
    np.save(path, np.float32([np.nan, 1.0]))
    status, out, err = run("gfloat", "ocp", *FP4, "--data", path)
    assert (status, out) == (2, "")
    assert "values must not be NaN" in err


@pytest.mark.sampled(3)
def test_data_of_several_tensors(run: Run, tmp_path: Path) -> None:
    """The total is what one tensor of all rows has; each has a row of its own."""
    a = np.random.default_rng(7).standard_normal((6, 64)).astype(np.float32)
    b = np.full((1, 64), 7, np.float32)
    small = np.float32([1, 2, 3]).astype(ml_dtypes.float8_e4m3fn)
    path, whole = tmp_path / "x.safetensors", tmp_path / "x.npy"
    save_file({"a": a, "b": b, "ids": np.arange(3), "no": a[:0], "small": small}, path)
    np.save(whole, np.concatenate([a, b]))
    by = ("torchao_0_18_floor", "ocp+scale_rule=rceil", *FP4)
    report = json.loads(run(*by, "--data", path, "--json")[1])
    *_, of_a, of_b = report["data"]
    assert [of_a["data"], of_b["data"], len(report["data"])] == ["a", "b", 4]
    assert (of_b["other_scale"], of_b["elements"], of_b["blocks"]) == (1, 64, 2)
    want = json.loads(run(*by, "--data", whole, "--json")[1])
    assert {**want["data"][-1], "data": "total"} == report["total"]
    assert "total" not in want
    reasons = {one["name"]: one["reason"] for one in report["skipped"]}
    assert reasons == {
        "ids": "it holds I64, no floats",
        "no": "it holds no numbers",
        "small": "it holds F8_E4M3, which --small-floats takes",
    }
    lines = run(*by, "--data", path, "--small-floats")[1].splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("tensor "))
    names = [line.split()[0] for line in lines[start + 1 : start + 4]]
    assert names == ["a", "b", "small"]
    # 7 is 6 by floor and 8 by rceil: 10 log10(49) dB for both, 9.54 of one beside the other.
    assert lines[start + 2].split()[1:] == [*("16.90", "dB") * 2, "9.54", "dB", *("100", "%") * 3]
    assert lines[start - 9].split() == ["on", "data", "normal", "log-uniform", "total"]
    status, out, err = run(*by, "--data", path, "--tensor", "ids")
    assert (status, out) == (2, "")
    assert "must have a tensor of floats, the first: it holds I64, no floats" in err


def test_data_in_other_files(run: Run, tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "x.gguf", "test")
    writer.add_tensor("w", np.full((2, 32), 7, np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    by = ("ocp", "ocp+scale_rule=rceil", *FP4, "--json")
    report = json.loads(run(*by, "--data", tmp_path / "x.gguf", "--tensor", "w*")[1])
    assert "total" not in report
    assert [(one["data"], one["other_value"]) for one in report["data"][2:]] == [("w", 1)]

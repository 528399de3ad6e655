"""The intrinsics of cuda_fp8.h, cuda_fp6.h and cuda_fp4.h in the program of the CUDA fast path."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import nvidia.cu13
import pytest

ROOT = Path(__file__).resolve().parents[2]
FORMATS = ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cuda") / "mx_check"
    flags = ["-std=c++17", "-O0", "-w", "-DMX_INTRINSICS", "-DMX_HOST_ONLY"]
    include = Path(next(iter(nvidia.cu13.__path__)), "include")
    source = ROOT / "tools" / "fastpath" / "cuda" / "mx_check.cpp"
    subprocess.run(["g++", *flags, "-I", include, source, "-o", path], check=True)
    return path


def rows(program: Path, *words: object) -> list[dict[str, Any]]:
    result = subprocess.run([program, *map(str, words), "--json"], capture_output=True, text=True)
    assert result.stderr == ""
    report = json.loads(result.stdout)
    assert report["target"] == "intrinsics"
    assert result.returncode == (not report["pass"])
    return [row for row in report["rows"] if row.get("covered", True)]


def test_all_vectors_but_infinite_scales(program: Path) -> None:
    """With __NV_SATFINITE infinity becomes the largest scale; SPEC_NOTES N23."""
    found = rows(program, "vectors", ROOT / "vectors" / "plain")
    roundings = ("", " ocp+scale_rounding=toward_positive", " ocp+scale_rounding=ties_to_away")
    failed = {row["file"]: row["failed"] for row in found if row["failed"]}
    assert failed == {f"encode_scale/e8m0.{x}{r}": 2 for x in ("f32", "bf16") for r in roundings}
    assert {row["first"][-17:] for row in found if row["failed"]} == {", want ff, got fe"}
    assert {row["file"] for row in found} - failed.keys() == {
        *(f"encode/{name}.{x}" for name in FORMATS for x in ("f32", "bf16")),
        *(
            f"encode/{name}.{x} ocp+overflow=nonsaturating"
            for name in ("e5m2", "e4m3")
            for x in ("f32", "bf16")
        ),
        *(f"decode/{name}.f32" for name in FORMATS),
        "decode_scale/e8m0.f32",
    }


@pytest.mark.parametrize(("float", "least"), [("bf16", 1 << 16), ("f32", 1 << 20)])
def test_all_numbers(float: str, least: int, program: Path) -> None:
    thresholds = ROOT / "vectors" / "thresholds"
    found = rows(program, "sweep", thresholds, "--float", float, "--stride", "4001")
    assert [(row["format"], row["wrong"]) for row in found] == [(name, 0) for name in FORMATS]
    assert all(row["inputs"] >= least for row in found)

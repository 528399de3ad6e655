"""Names of formats elsewhere: each stands for the format with the same numbers, or is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from tables import rows

import mxref
from mxref import formats
from mxref.cli import main
from mxref.formats.aliases import ALIASES, own_name

SMALL = (
    "float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e4m3b11fnuz float8_e4m3 "
    "float8_e3m4 float6_e2m3fn float6_e3m2fn float4_e2m1fn"
)


@pytest.mark.parametrize("name", SMALL.split())
def test_a_dtype_of_ml_dtypes_has_the_numbers_of_its_format(name: str) -> None:
    dtype = np.dtype(getattr(ml_dtypes, name))
    fmt = formats.element_format(name)
    codes = np.arange(fmt.code_count, dtype=np.uint8)
    want = codes.view(dtype).astype(np.float64)
    assert np.array_equal(mxref.decode(codes, name, np.float64), want, equal_nan=True)
    for other in (f"ml_dtypes.{name}", f"torch.{name}", dtype, dtype.type):
        assert formats.element_format(other) is fmt


@pytest.mark.parametrize(
    ("names", "own"),
    rows("formats", "aliases"),
)
def test_names_of_onnx_and_short_ones(names: str, own: str) -> None:
    x = np.float32([0.3, 460.0, -1000.0, np.inf])
    for name in names.split():
        assert formats.element_format(name).name == own
        assert mxref.encode(x, name).tolist() == mxref.encode(x, own).tolist()


def test_scales_and_blocks() -> None:
    scales: tuple[Any, ...] = ("float8_e8m0fnu", ml_dtypes.float8_e8m0fnu, "FLOAT8E8M0")
    assert {formats.scale_format(scale).name for scale in scales} == {"e8m0"}
    assert formats.block_format("mxfp4").name == "mxfp4_e2m1"
    assert mxref.quantize([1.0], "mxfp4").format.name == "mxfp4_e2m1"


def test_every_alias_is_a_name_of_a_format_and_none_is_its_own() -> None:
    own = {
        **formats.ELEMENT_FORMATS,
        **formats.OTHER_FORMATS,
        **formats.SCALE_FORMATS,
        **formats.BLOCK_FORMATS,
        **formats.OTHER_BLOCK_FORMATS,
    }
    assert {*ALIASES.values()} <= {*own}
    assert not {*ALIASES} & {*own}
    assert [own_name("format", name) for name in own] == list(own)


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "x.npy", np.float32([1, 2]))
    path = str(tmp_path / "x.npy")
    assert main(["quantize", path, "--format", "mxfp4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["format"] == "mxfp4_e2m1"
    shown = []
    for name in ("torch.float8_e4m3fn", "e4m3"):
        assert main(["explain", "2.25", "--format", name]) == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]
    assert main(["quantize", path, "--format", "mxfp8"]) == 2
    want = "mxref: error: --format must be 'mxfp8_e5m2' or 'mxfp8_e4m3', got 'mxfp8': name one\n"
    assert capsys.readouterr().err == want

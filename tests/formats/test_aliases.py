"""Names of formats elsewhere: each stands for the format with the same numbers, or is refused."""

from __future__ import annotations

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from helpers import sentence

import mxref
from mxref import formats
from mxref.cli import main
from mxref.formats.aliases import ALIASES, own_name

SMALL = [
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "float8_e4m3b11fnuz",
    "float8_e4m3",
    "float8_e3m4",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float4_e2m1fn",
]


@pytest.mark.parametrize("name", SMALL)
def test_a_dtype_of_ml_dtypes_has_the_numbers_of_its_format(name: str) -> None:
    dtype = np.dtype(getattr(ml_dtypes, name))
    fmt = formats.element_format(name)
    codes = np.arange(fmt.code_count, dtype=np.uint8)
    want = codes.view(dtype).astype(np.float64)
    assert np.array_equal(mxref.decode(codes, name, np.float64), want, equal_nan=True)
    for other in (f"ml_dtypes.{name}", f"torch.{name}", dtype, dtype.type):
        assert formats.element_format(other) is fmt


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("E4M3FN", "e4m3"),
        ("E4M3FNUZ", "e4m3fnuz"),
        ("E5M2", "e5m2"),
        ("FLOAT8E4M3FN", "e4m3"),
        ("FLOAT8E5M2", "e5m2"),
        ("FLOAT8E4M3FNUZ", "e4m3fnuz"),
        ("FLOAT8E5M2FNUZ", "e5m2fnuz"),
        ("FLOAT4E2M1", "e2m1"),
        ("onnx.TensorProto.FLOAT4E2M1", "e2m1"),
        ("float8_e4m3", "e4m3_ieee"),
    ],
)
def test_names_of_onnx_and_short_ones(name: str, own: str) -> None:
    x = np.float32([0.3, 460.0, -1000.0, np.inf])
    assert formats.element_format(name).name == own
    assert mxref.encode(x, name).tolist() == mxref.encode(x, own).tolist()


def test_scales_and_blocks() -> None:
    assert formats.scale_format("float8_e8m0fnu").name == "e8m0"
    assert formats.scale_format(ml_dtypes.float8_e8m0fnu).name == "e8m0"  # type: ignore[arg-type]
    assert formats.scale_format("FLOAT8E8M0").name == "e8m0"
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


@pytest.mark.parametrize(("name", "both"), [("mxfp8", "fp8_e5m2 fp8_e4m3"), ("mxfp6", "")])
def test_a_name_of_two_formats_names_both(name: str, both: str) -> None:
    first, second = (f"mx{one}" for one in (both or "fp6_e3m2 fp6_e2m3").split())
    want = f"must be {first!r} or {second!r}, got {name!r}: name one"
    assert sentence(ValueError, lambda: formats.block_format(name)) == f"block_format {want}"
    assert sentence(ValueError, lambda: mxref.encode([1.0], name)) == f"format {want}"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("float4_e2m1fn_x2", "two codes in a byte: unpack them, and name 'e2m1'"),
        ("torch.float4_e2m1fn_x2", "two codes in a byte"),
        ("uint8", "integers"),
        ("int4", "integers"),
        ("torch.int8", "64ths, is named 'int8'"),
        (np.int8, "64ths, is named 'int8'"),
        (np.dtype(np.int32), "integers"),
        ("torch.bool", "integers"),
    ],
)
def test_what_is_no_format_is_refused(name: str, why: str) -> None:
    for call in (mxref.encode, mxref.quantize):
        text = sentence(ValueError, lambda call=call: call([1.0], name))  # type: ignore[misc]
        assert "must be the name of a format, got " in text
        assert why in text


def test_floats_of_16_bits_and_more_are_unknown() -> None:
    assert sentence(ValueError, lambda: mxref.encode([1.0], "float32")).startswith("format must be")
    assert sentence(TypeError, lambda: mxref.encode([1.0], np.float32)) == (  # type: ignore[arg-type]
        "format must be an element format or its name, got type"
    )


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "x.npy", np.float32([1, 2]))
    path = str(tmp_path / "x.npy")
    assert main(["quantize", path, "--format", "mxfp4", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["format"] == "mxfp4_e2m1"
    assert main(["explain", "2.25", "--format", "torch.float8_e4m3fn"]) == 0
    first = capsys.readouterr().out
    assert main(["explain", "2.25", "--format", "e4m3"]) == 0
    assert capsys.readouterr().out == first
    assert main(["quantize", path, "--format", "mxfp8"]) == 2
    want = "mxref: error: --format must be 'mxfp8_e5m2' or 'mxfp8_e4m3', got 'mxfp8': name one\n"
    assert capsys.readouterr().err == want

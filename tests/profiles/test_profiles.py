"""Profiles: each equals the implementation of its name, on every input or on very many."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from helpers import SMALL_FLOATS
from refused import assert_says, refusals

import mxref
from mxref.bits.floats import LAYOUTS
from mxref.cases.probes import probes
from mxref.cli import main
from mxref.conformance.identification.identify import identify_one
from mxref.conformance.identification.setting import Setting
from mxref.profiles import PROFILES, profile
from mxref.targets.profile_target import profile_target

ML_DTYPES = profile("ml_dtypes")


def floats(op: str, format: str, source: str) -> np.ndarray:
    """All floats of 16 bits, or the steps and their neighbours and many random ones."""
    layout = LAYOUTS[source]
    words = probes(op, format, source)[:, 0]
    if len(words) > 1 << 18:
        words = np.concatenate([words[: -(1 << 20)], words[-(1 << 17) :]])
    return words.astype(layout.uint).view(layout.dtype)


def test_names_and_the_default() -> None:
    assert all(name == one.name for name, one in PROFILES.items())
    assert mxref.profile is profile
    assert profile("ocp").policy == mxref.Policy()
    assert profile("ocp").speaks_of("pack_scales", "e8m0")


@pytest.mark.parametrize("source", LAYOUTS)
@pytest.mark.parametrize("format", ["e5m2", "e4m3", "e3m2", "e2m3", "e2m1"])
def test_ml_dtypes_encodes_so_nan_codes_included(format: str, source: str) -> None:
    assert ML_DTYPES.speaks_of("encode", format)
    values = floats("encode", format, source)
    with np.errstate(all="ignore"):
        theirs = values.astype(SMALL_FLOATS[format]).view(np.uint8)
    assert (mxref.encode(values, format, ML_DTYPES.policy) == theirs).all()


@pytest.mark.parametrize("source", LAYOUTS)
def test_ml_dtypes_encodes_scales_so(source: str) -> None:
    values = floats("encode_scale", "e8m0", source)
    with np.errstate(all="ignore"):
        theirs = values.astype(ml_dtypes.float8_e8m0fnu).view(np.uint8)
    assert (mxref.encode_scale(values, ML_DTYPES.policy) == theirs).all()


@pytest.mark.parametrize("format", ["e5m2", "e4m3", "e3m2", "e2m3", "e2m1"])
def test_ml_dtypes_decodes_so(format: str) -> None:
    codes = np.arange(mxref.formats.ELEMENT_FORMATS[format].code_count, dtype=np.uint8)
    theirs = codes.view(SMALL_FLOATS[format]).astype(np.float32)
    ours = mxref.decode(codes, format, np.float32, ML_DTYPES.policy)
    nan = np.isnan(theirs)  # whose payloads are not compared
    assert (np.isnan(ours) == nan).all()
    assert ours[~nan].view(np.uint32).tolist() == theirs[~nan].view(np.uint32).tolist()
    scales = np.arange(255, dtype=np.uint8)
    theirs = scales.view(ml_dtypes.float8_e8m0fnu).astype(np.float32)
    ours = mxref.decode_scale(scales, np.float32, ML_DTYPES.policy)
    assert ours.view(np.uint32).tolist() == theirs.view(np.uint32).tolist()


@pytest.mark.sampled(0)
@pytest.mark.parametrize("name", ["torchao_0_18_rceil"])
def test_identify_names_a_profile_that_no_policy_equals(name: str) -> None:
    setting = Setting("quantize", "mxfp4_e2m1", "f32")
    found = identify_one(profile_target(profile(name)), setting)
    assert (found.consistent, found.profiles) == (False, (name,))


def test_identify_ends_with_the_profile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "box.py"
    path.write_text(
        "import mxref\nFORMATS, FLOATS = ['e2m1'], ['f32']\n"
        "def encode(x, f): return mxref.profile('torchao_0_18_rceil').encode(x, f)\n"
    )
    assert main(["identify", str(path)]) == 1
    last = capsys.readouterr().out.splitlines()[-1]
    named = last.partition("box.py: equals no policy; profiles: ")[2].split(", ")
    assert "torchao_0_18_rceil" in named
    assert "mlx_0_32" not in named


@pytest.mark.parametrize("name", ["ocp", "torchao_0_18_floor", "onnx"])
def test_codes_are_packed_by_a_format_object(name: str) -> None:
    one, e2m1 = profile(name), mxref.formats.element_format("e2m1")
    assert one.pack([2, 12], e2m1).tolist() == [0xC2]
    assert one.unpack(np.uint8([0xC2]), e2m1, 2).tolist() == [2, 12]


@pytest.mark.parametrize(("call", "kind", "text"), refusals("profiles"))
def test_what_is_refused(call: Callable[[], object], kind: type[Exception], text: str) -> None:
    assert_says(call, kind, text)


@pytest.mark.parametrize("name", PROFILES)
def test_the_repr_is_a_line(name: str) -> None:
    text = repr(PROFILES[name])
    assert text.startswith(f"<Profile {name}: ")
    assert len(text) <= 120
    assert text.isprintable()
    assert PROFILES[name].version in text


@pytest.mark.parametrize("name", ["torchao_0_18_floor", "transformer_engine_mxfp8", "ocp"])
def test_blocks_of_another_size_are_blocks_beside_zeros(name: str) -> None:
    x = (np.arange(160, dtype=np.float32) % 37 - 11).reshape(10, 16) * np.float32(1.37)
    some = mxref.profile(name).quantize(x, "mxfp8_e4m3", block_size=16)
    whole = mxref.profile(name).quantize(np.pad(x, ((0, 0), (0, 16))), "mxfp8_e4m3")
    assert np.array_equal(some.scale_codes, whole.scale_codes)
    assert np.array_equal(some.codes, whole.codes[:, :16])


@pytest.mark.parametrize(("above", "zero"), [(0, 0x0B), (1, 0x00)])
def test_zeros_of_torchao_where_a_reciprocal_is_infinite(above: int, zero: int) -> None:
    """A = 21 * 2**-115: T is 2**-122, and 2**122 / 2**-6 is infinite. It is not one ulp above.

    The other block has the scale 448, whose reciprocal is finite.
    """
    x = np.zeros((2, 16), np.float32)
    x[0, :2] = 2.0**-129, -(2.0**-129)
    x[1, :1] = (np.float32(21 * 2.0**-115).view(np.uint32) + np.uint32(above)).view(np.float32)
    x[0, 3] = -0.0
    model = mxref.profile("torchao_0_18_nvfp4")
    rest = [zero] * 14 if zero else [0, 8, *[0] * 12]
    for blocks in (
        model.quantize(x, "nvfp4"),
        model.quantize(x.T.copy(), "nvfp4", axis=0).T,
        model.quantize(x, "nvfp4", out=(np.empty((2, 16), np.uint8), np.empty((2, 1), np.uint8))),
    ):
        assert blocks.scale_codes.tolist() == [[0x08], [0x7E]]
        first = [7, 15] if zero else [0x01, 0x09]
        assert blocks.codes.tolist() == [[*first, *rest], [7] + [0] * 15]

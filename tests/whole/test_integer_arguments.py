"""NumPy's integers of every width are integers; True is none, although Python counts it as one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from helpers import sentence

import mxref
from mxref.profiles.registry import PROFILES

X = np.ones((2, 32), np.float32)
BLOCKS = mxref.quantize(X, "mxfp4_e2m1")


@pytest.mark.parametrize("value", [True, False, np.True_])
@pytest.mark.parametrize(
    ("parameter", "call"),
    [
        ("axis", lambda v: mxref.quantize(X, "mxint8", axis=v)),
        ("axis", lambda v: mxref.quantize(X, "mxint8", axis=(v,), block_size=(2,))),
        ("axis", lambda v: mxref.profile("torchao_0_18_floor").quantize(X, "mxfp4_e2m1", axis=v)),
        ("axis", lambda v: mxref.result_shapes((2, 3), "mxint8", axis=v)),
        (
            "axis",
            lambda v: mxref.Blocks(BLOCKS.codes, BLOCKS.scale_codes, BLOCKS.format, v, (2, 32)),
        ),
        ("axes", lambda v: BLOCKS.transpose(v, 0)),
        ("block_size", lambda v: mxref.quantize(X, "mxint8", block_size=v)),
        ("block_size", lambda v: mxref.quantize(X, "mxint8", axis=(0, 1), block_size=(2, v))),
        ("block_size", lambda v: mxref.pack(BLOCKS.codes, "e2m1", block_size=v)),
        ("count", lambda v: mxref.packed_size(v, "e2m1")),
        ("count", lambda v: mxref.unpack([1], "e2m1", v)),
        ("threads", lambda v: mxref.quantize(X, "mxint8", threads=v)),
        ("threads", lambda v: mxref.encode(X, "e2m1", threads=v)),
        ("threads", lambda v: mxref.pack(BLOCKS.codes, "e2m1", threads=v)),
        ("tensor_scale", lambda v: mxref.quantize(X, "nvfp4", tensor_scale=v)),
        ("", lambda v: mxref.result_shapes((v, 3), "mxint8")),
        ("shape", lambda v: mxref.unpack_scales([1] * 512, (v, 3), scale_layout="tiles_128x4")),
        (
            "random_width",
            lambda v: mxref.encode(
                X, "e2m1", rounding="stochastic_a", random_bits=[0], random_width=v
            ),
        ),
    ],
)
def test_a_bool_is_a_type_error(
    parameter: str, call: Callable[[object], object], value: object
) -> None:
    assert sentence(TypeError, lambda: call(value)).startswith(parameter)


IMAGE, CENTRE = np.int8([[[1, 2], [3, 4]]]), np.int16([[[0, 0]]])


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint64])
@pytest.mark.parametrize(
    "call",
    [
        lambda kind: mxref.encode(
            X, "e2m1", rounding="stochastic_a", random_bits=200, random_width=kind(8)
        ),
        lambda kind: (
            mxref.quantize(X, "mxint8", axis=kind(0), block_size=kind(2), threads=kind(2)).codes
        ),
        lambda kind: mxref.quantize([3.0], "nvfp4", tensor_scale=kind(64)).codes,
        lambda kind: mxref.pack(BLOCKS.codes, "e2m1", fp4_packing="halves", block_size=kind(16)),
        lambda kind: mxref.unpack([1, 2], "e2m1", kind(4)),
        lambda kind: mxref.unpack_scales([1] * 100, (kind(100), kind(1))),
        lambda kind: mxref.integer.unpack_int4([[1] * 64], kind(127)),
        lambda kind: mxref.integer.multiplier_shift(0.3, kind(32))[0],
        lambda kind: mxref.integer.rescale(IMAGE, 1 << 30, 30, kind(100), kind(99), bits=kind(32)),
        lambda kind: mxref.integer.grid_sample(
            IMAGE, CENTRE, align_corners=True, zero_point=kind(3)
        ),
        lambda kind: mxref.integer.choose_qparams(-1.0, 1.0, kind(0), kind(127)).zero_point,
        lambda kind: mxref.formats.E4M3.sign_and_magnitude(kind(100)),
        lambda kind: mxref.formats.ElementFormat("mine", kind(2), kind(1), kind(1)).max_normal,
    ],
)
def test_integers_of_numpy_are_integers(call: Callable[[type], object], kind: type) -> None:
    assert np.array_equal(call(kind), call(int))  # type: ignore[arg-type]


def test_a_whole_number_that_float32_lacks_is_no_tensor_scale() -> None:
    for whole in (2**24 + 1, 2**53 + 1):
        with pytest.raises(ValueError, match="tensor_scale must be one positive finite float32"):
            mxref.quantize(X, "nvfp4", tensor_scale=whole)


def test_formats_of_bools_are_refused() -> None:
    with pytest.raises(TypeError, match="exponent_bits must be an integer"):
        mxref.formats.ElementFormat("mine", True, 2, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", PROFILES)
def test_profiles_are_keys(name: str) -> None:
    assert {PROFILES[name]: 1}[mxref.profile(name)] == 1

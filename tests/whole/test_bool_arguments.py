"""True is no number of axes, elements or threads, although Python counts it as an integer."""

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


def test_formats_of_bools_are_refused() -> None:
    with pytest.raises(TypeError, match="exponent_bits must be an integer"):
        mxref.formats.ElementFormat("mine", True, 2, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", PROFILES)
def test_profiles_are_keys(name: str) -> None:
    assert {PROFILES[name]: 1}[mxref.profile(name)] == 1

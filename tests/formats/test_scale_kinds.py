"""Which names of block formats have scales that are powers of two, those of a user among them."""

from __future__ import annotations

from mxref import formats
from mxref.formats.scale_kinds import has_power_scales, has_small_float_scales, scale_kind

POWERS = (*formats.MX_BLOCKS, "fp4_e8m0")
SMALL_FLOATS = ("nvfp4", "fp4_ue4m3", "fp4_ue5m3", "nvfp4_16x16")
FLOATS = tuple(f"fp8_{name}_f32{tile}" for name in ("e4m3", "e5m2") for tile in ("", "_128x128"))


def test_every_name() -> None:
    for name in (*POWERS, *SMALL_FLOATS, *FLOATS, "e2m1", "e8m0", "int8-int8", ""):
        assert has_power_scales(name) == (name in POWERS)
        assert has_small_float_scales(name) == (name in SMALL_FLOATS)
        assert (scale_kind(name) is formats.ScaleKind.FLOAT32) == (name in FLOATS)
        assert (scale_kind(name) is None) == (name not in (*POWERS, *SMALL_FLOATS, *FLOATS))
    assert {*POWERS, *SMALL_FLOATS, *FLOATS} == {
        *formats.BLOCK_FORMATS,
        *formats.OTHER_BLOCK_FORMATS,
    }


def test_formats_of_a_user() -> None:
    powers = formats.BlockFormat("of_powers", formats.E2M1, formats.E5M0, 8)
    floats = formats.BlockFormat("of_floats", formats.E2M1, formats.UE5M3, 8)
    with formats.registered(powers, floats):
        assert has_power_scales("of_powers")
        assert has_small_float_scales("of_floats")
    assert not has_power_scales("of_powers")

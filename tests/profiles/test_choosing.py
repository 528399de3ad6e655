"""What `who_does` says of profiles is what they do."""

from __future__ import annotations

import dataclasses

import ml_dtypes
import numpy as np
import pytest

from mxref.policy.policy import Policy
from mxref.profiles import PROFILES
from mxref.profiles.choosing import OWN_STAGE, who_does


def test_every_profile_is_listed_once_where_it_reads_a_choice() -> None:
    for choice in Policy().choices():
        listed = [name for names in who_does(choice).values() for name in names]
        assert len(listed) == len({*listed})
        assert {*listed} <= {*PROFILES}
        assert "ocp" in listed


def test_blocks_with_a_nan_or_an_infinity() -> None:
    for choice, special in (("block_nan", np.nan), ("block_inf", np.inf)):
        x = np.float32([special, 1.0] + [0.5] * 30)
        codes = {"nan_block": {0xFF}, "largest_scale": {0xFE}}
        for member, names in who_does(choice).items():
            for profile in (PROFILES[name] for name in names if member != OWN_STAGE):
                if profile.speaks_of("quantize", "mxfp8_e4m3"):
                    scale = profile.quantize(x, "mxfp8_e4m3").scale_codes.tolist()
                    finite = profile.quantize(x[1:], "mxfp8_e4m3").scale_codes.tolist()
                    assert {*scale} == codes.get(member, {*finite}), (profile.name, member)


def test_what_code_ff_is() -> None:
    wanted = {"nan": np.nan, "inf": np.inf, "power": np.inf}  # 2**128 is beyond float32
    for member, names in who_does("scale_ff").items():
        for profile in (PROFILES[name] for name in names if member != OWN_STAGE):
            for format in ("mxfp4_e2m1", "mxfp8_e4m3"):
                if profile.speaks_of("dequantize", format):
                    blocks = PROFILES["ocp"].quantize(np.float32([1.0, 0.5]), format)
                    blocks = dataclasses.replace(blocks, scale_codes=np.uint8([0xFF]))
                    value = profile.dequantize(blocks)[0]
                    assert np.array_equal(value, wanted[member], equal_nan=True), profile.name


@pytest.mark.parametrize("rounding", ["ties_to_even", "ties_to_away", "toward_zero"])
def test_roundings(rounding: str) -> None:
    x = np.float32([4.0, 2.5, 3.5, 2.75])
    codes = {"ties_to_even": [4, 6, 5], "ties_to_away": [5, 6, 5], "toward_zero": [4, 5, 4]}
    for profile in (PROFILES[name] for name in who_does("rounding")[rounding]):
        if profile.speaks_of("quantize", "mxfp4_e2m1"):
            own = x if "f32" in (profile.floats or ("f32",)) else x.astype(ml_dtypes.bfloat16)
            blocks = profile.quantize(own, "mxfp4_e2m1")
            if blocks.scale_codes[0] == 127:  # quark_triton_down has half of it
                assert blocks.codes.tolist()[1:4] == codes[rounding], profile.name

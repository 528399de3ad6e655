"""Profiles of casts: single answers that the implementations gave, where no choice says them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from helpers import SOURCES, sentence
from needs import needs
from numpy.typing import NDArray

import mxref
from mxref.bits.floats import LAYOUTS
from mxref.cases.probes import probes


def _torch_2_12(bits: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """What the header of torch 2.12.0 does with float32 patterns, step by step."""
    size = bits & np.uint32(0x7FFF_FFFF)
    with np.errstate(all="ignore"):
        small = (size.view(np.float32) + np.float32(2.0**14)).view(np.uint32) - np.uint32(141 << 23)
    rounded = size - np.uint32(120 << 23) + np.uint32(0x7FFFF) + (size >> 20 & np.uint32(1)) >> 20
    code = np.where(size < 121 << 23, small, rounded)
    return (np.where(size >= 1087 << 20, 0x7F, code) | bits >> 24 & 0x80).astype(np.uint8)


@pytest.mark.parametrize("source", ["f32", "f16", "bf16"])
def test_torch_2_12_is_its_header(source: str) -> None:
    layout = LAYOUTS[source]
    values = probes("encode", "e4m3", source)[:, 0].astype(layout.uint).view(SOURCES[source])
    with np.errstate(all="ignore"):
        bits = values.astype(np.float32).view(np.uint32)
    assert np.array_equal(mxref.profile("torch_2_12").encode(values, "e4m3"), _torch_2_12(bits))


def test_onnx_packs_fp6_in_whole_bytes_only() -> None:
    onnx = mxref.profile("onnx")
    assert onnx.pack(np.uint8([0x3F]), "e3m2").tolist() == [0x3F]
    assert onnx.pack(np.uint8([0x3F, 1]), "e2m3").tolist() == [0x7F, 0]
    assert onnx.pack(np.uint8([1, 2, 3]), "e2m1").tolist() == [0x21, 0x03]


def test_torchao_packs_pairs_only() -> None:
    torchao = mxref.profile("torchao_0_18_rceil")
    assert torchao.pack(np.uint8([1, 2]), "e2m1").tolist() == [0x21]
    assert "even number, got 3" in sentence(
        ValueError, lambda: torchao.pack(np.uint8([1, 2, 3]), "e2m1")
    )


def test_gfloat_refuses_nan_and_takes_a_float32_logarithm() -> None:
    x = np.float32([np.nan] + [1.0] * 31)
    gfloat = mxref.profile("gfloat")
    assert "NaN" in sentence(ValueError, lambda: gfloat.quantize(x, "mxfp4_e2m1"))
    below = np.uint32([0x017FFFFF]).view(np.float32)  # the logarithm is one too high
    assert mxref.shared_scale(below, "e2m1") == gfloat.shared_scale(below, "e2m1") - 1 == 0


def test_gfloat_from_float64() -> None:
    """Blocks beside gfloat itself: every binade, and numbers that a float64 logarithm lifts."""
    formats, blocks = (needs(f"gfloat.{name}") for name in ("formats", "block"))
    random = np.random.default_rng(64)
    exponents = np.array([-1074, -1022, *range(-140, 150), 1023])
    amax = 2.0**exponents * (1 - 2.0**-53 * random.choice([0, 1, 11, 22, 44, 60], exponents.size))
    x = np.float64([1.0, -0.75, 0.3 + 2.0**-40, 0.0]) * amax[:, np.newaxis]
    x = np.concatenate([x, [[np.inf, 1.0, -np.inf, 0.0], [0.0, -0.0, 0.0, 0.0]]])
    for format in ("mxfp4_e2m1", "mxfp8_e5m2", "mxint8"):
        info = getattr(formats, f"format_info_{format}")
        some = np.concatenate([x, [[np.nan, 1.0, np.inf, 2.0]]]) if info.etype.num_nans else x
        want = []
        with np.errstate(all="ignore"):
            for block in some:
                scale = blocks.compute_scale_amax(info.etype.emax, block)
                want.append(list(blocks.encode_block(info, float(scale), block / scale)))
        fmt = dataclasses.replace(mxref.formats.block_format(format), block_size=4)
        got = mxref.profile("gfloat").quantize(some, fmt)
        assert np.concatenate([got.scale_codes, got.codes], axis=1).tolist() == want

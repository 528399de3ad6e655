"""Profiles of casts: single answers that the implementations gave, where no choice says them."""

from __future__ import annotations

import dataclasses

import ml_dtypes
import numpy as np
import pytest
from helpers import SOURCES, sentence
from needs import needs
from numpy.typing import NDArray

import mxref
from mxref.bits.floats import LAYOUTS
from mxref.cases.probes import probes

#: profile, format, float type, input pattern, and the code that the implementation gave.
ANSWERS = [
    ("cuda", "e5m2", "f32", 0xFFC00000, 0x7F),  # no sign
    ("cuda", "e5m2", "f64", 0xFFF0000000000001, 0xFE),  # a sign, and the quiet bit
    ("cuda", "e5m2", "f64", 0x7FFDE694C465DFE9, 0x7F),  # the second bit of the payload
    ("cuda_nosat", "e4m3", "f32", 0xC3E80001, 0xFF),  # -464.00003 overflows
    ("cuda_nosat", "e4m3", "f32", 0xFFC00000, 0x7F),
    ("cuda_satfinite", "e4m3", "f32", 0xC3E80001, 0xFE),
    ("cuda_satfinite", "e2m1", "f32", 0xFFC00000, 0x07),
    ("cuda_satfinite", "e4m3", "f64", 0x3FF1000000001000, 0x39),  # a tie, and 2**-40
    ("torch", "e4m3", "f64", 0x3FF1000000001000, 0x38),  # a tie of float32
    ("openvino_fp8", "e5m2", "f32", 0x7F800001, 0x7C),  # a NaN becomes infinity
    ("openvino_fp8", "e5m2", "f32", 0x377FFFFD, 0x02),  # just below 2**-16
    ("openvino_fp8", "e5m2", "f32", 0x37FFF000, 0x04),  # the first below 2**-15 that is doubled
    ("openvino_fp8", "e5m2", "f32", 0x37FFEFFF, 0x02),
    ("openvino_fp8", "e5m2", "f32", 0x38900001, 0x04),  # rounded twice
    ("openvino_fp8", "e4m3", "f32", 0xFF800001, 0xFF),
    ("apytypes", "e5m2", "f32", 0x7FC00000, 0x7D),
    ("tosa", "e4m3", "f32", 0xC3E80001, 0x7F),  # a finite overflow has no sign
    ("tosa", "e4m3", "f32", 0xFF800000, 0xFF),
    ("tosa", "e5m2", "f32", 0xFFFFFFFF, 0xFE),
    ("gfloat", "e4m3", "f32", 0x7FC00000, 0xFF),
    ("gfloat", "int8", "f32", 0xC0000000, 0x80),
    ("torch", "e4m3", "f32", 0x7F800000, 0x7E),
    ("torch_2_12", "e4m3", "f32", 0x7F800000, 0x7F),
    ("torch_2_12", "e4m3", "f32", 0xC3E80001, 0xFF),  # -464.00003
    ("torch_2_12", "e4m3", "f32", 0x43E80000, 0x7E),  # 464 is a tie
    ("torch_e5m2", "e5m2", "f32", 0x7F800000, 0x7C),
    ("torchao_0_18_floor", "e2m1", "f32", 0x7F800001, 0x02),
]


@pytest.mark.parametrize(("name", "format", "source", "bits", "code"), ANSWERS)
def test_what_the_implementation_gave(
    name: str, format: str, source: str, bits: int, code: int
) -> None:
    value = np.array([bits], LAYOUTS[source].uint).view(SOURCES[source])
    assert mxref.profile(name).encode(value, format).tolist() == [code]


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


def test_tosa_keeps_nan_elements() -> None:
    x = np.zeros((1, 32), np.float32)
    x[0, :2] = -np.nan, np.inf
    quantize = mxref.profile("tosa").quantize
    for format, codes in {
        "mxfp8_e5m2": [0xFE, 0x7E],
        "mxfp8_e4m3": [0xFF, 0x7F],
        "mxfp6_e3m2": [0x3C, 0x1C],
        "mxfp6_e2m3": [0x38, 0x18],
        "mxfp4_e2m1": [0x0E, 0x06],
        "mxint8": [0x80, 0x7F],
    }.items():
        blocks = quantize(x, format)
        assert blocks.scale_codes.tolist() == [[0xFF]]
        assert blocks.codes[0].tolist() == [codes[0]] + [codes[1]] * 31


def test_gfloat_blocks() -> None:
    gfloat = mxref.profile("gfloat")
    x = np.ones((1, 32), np.float32)
    x[0, :2] = np.inf, -np.inf
    blocks = gfloat.quantize(x, "mxfp4_e2m1")
    assert blocks.scale_codes.tolist() == [[0xFE]]
    assert blocks.codes[0, :3].tolist() == [7, 15, 0]
    x[0, 0] = np.nan
    assert "NaN" in sentence(ValueError, lambda: gfloat.quantize(x, "mxfp4_e2m1"))
    below = np.uint32([0x017FFFFF]).view(np.float32)  # the float32 logarithm is one too high
    assert gfloat.shared_scale(below, "e2m1").tolist() == [1]
    assert mxref.shared_scale(below, "e2m1").tolist() == [0]


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


def test_p3109_scales_by_the_largest_number_itself() -> None:
    quantize = mxref.profile("p3109").quantize
    x = np.zeros((4, 32), np.float32)
    x[0, :2] = 5.0, np.nan  # to 4
    x[1, :2] = 3.0, np.inf  # a tie: to 2, whose code 80 is even
    x[2, :2] = -448.0, 1.0  # to 512
    x[3] = np.nan
    blocks = quantize(x, "mxfp8_e4m3")
    assert blocks.scale_codes[:, 0].tolist() == [0x81, 0x80, 0x88, 0xFF]
    assert blocks.codes[0, :3].tolist() == [0x3A, 0x7F, 0]  # 1.25
    assert blocks.codes[1, :2].tolist() == [0x3C, 0x7E]  # 1.5; the largest number
    assert blocks.codes[2, :2].tolist() == [0xB6, 0x01]  # -0.875; 2**-9
    assert blocks.codes[3].tolist() == [0x7F] * 32


def test_tosa_shifts_modulo_64_in_int8() -> None:
    x = np.float32([1.0, 1.5 * 2**-71, -1.5 * 2**-71, 2**-71, 1.5 * 2**-80, 1.5 * 2**-40])
    tosa = mxref.profile("tosa").quantize(x, "mxint8")
    assert tosa.codes[:6].tolist() == [64, 1, 0xFF, 0, 0, 0]
    assert mxref.profile("tosa").quantize(x, "mxfp8_e4m3").codes[1:6].tolist() == [0, 0x80, 0, 0, 0]


def test_tosa_divides_bfloat16_in_bfloat16() -> None:
    x = np.uint16([0x7C00, 0xB827, 0x384B, 0x2E00])  # 2**121 and three numbers far below
    values = x.view(ml_dtypes.bfloat16)
    blocks = mxref.profile("tosa").quantize(values, "mxint8")
    assert (blocks.scale_codes.tolist(), blocks.codes[:4].tolist()) == ([248], [64, 0, 0, 0])
    wider = mxref.profile("tosa").quantize(values.astype(np.float32), "mxint8")
    assert wider.codes[:4].tolist() == [64, 0xFF, 1, 0]

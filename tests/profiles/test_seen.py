"""What implementations were seen to do, by the adapters that the profiles name."""

from __future__ import annotations

import dataclasses

import ml_dtypes
import numpy as np
import pytest
from helpers import SOURCES, sentence
from needs import needs
from numpy.typing import NDArray
from profile_blocks import digest, many
from tables import codes, number, pattern, rows

import mxref
from mxref.bits.floats import LAYOUTS
from mxref.cases.probes import probes
from mxref.formats.catalog import block_format

F32, F16, BF16 = np.float32, np.float16, ml_dtypes.bfloat16
FP4, E3M2, INF = "mxfp4_e2m1", "mxfp6_e3m2", np.inf


@pytest.mark.parametrize(
    ("name", "types", "numbers", "scale", "elements"), rows("profiles", "blocks")
)
def test_blocks(name: str, types: str, numbers: str, scale: str, elements: str) -> None:
    format, source = types.split()
    some, want = [number(word) for word in numbers.split()], codes(elements)
    values = np.full(32, np.nan if np.isnan(some).all() else 0, SOURCES[source])
    with np.errstate(invalid="ignore"):
        values[: len(some)] = np.array(some).astype(SOURCES[source])
    blocks = mxref.profile(name).quantize(values, format)
    assert blocks.scale_codes.tolist() == codes(scale)
    assert blocks.codes[: len(want)].tolist() == want


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("name", "format", "source", "theirs"), rows("profiles", "digests"))
def test_many_blocks(name: str, format: str, source: str, theirs: str) -> None:
    blocks = mxref.profile(name).quantize(many(source), format)
    assert digest(blocks.scale_codes, blocks.codes) == theirs


@pytest.mark.parametrize(("name", "format", "block", "read"), rows("profiles", "read"))
def test_numbers_read(name: str, format: str, block: str, read: str) -> None:
    scale, code = codes(block)
    blocks = mxref.Blocks(np.full(32, code), [scale], block_format(format), 0, (32,))
    found = mxref.profile(name).dequantize(blocks)
    assert {float(one).hex() for one in found} == {number(read).hex()}


def given(words: str, source: str) -> np.ndarray:
    patterns = [pattern(word, source) for word in words.split()]
    return np.array(patterns, LAYOUTS[source].uint).view(SOURCES[source])


@pytest.mark.parametrize(("name", "types", "words", "want"), rows("profiles", "casts"))
def test_casts(name: str, types: str, words: str, want: str) -> None:
    format, source = types.split()
    assert mxref.profile(name).encode(given(words, source), format).tolist() == codes(want)


@pytest.mark.parametrize(("name", "types", "words", "want"), rows("profiles", "scales"))
def test_scales(name: str, types: str, words: str, want: str) -> None:
    format, source = types.split()
    one, x = mxref.profile(name), given(words, source)
    found = one.encode_scale(x) if format == "e8m0" else one.shared_scale(x, format)
    assert found.tolist() == codes(want)


def test_quark_reads_float16_by_a_scale_of_float16() -> None:
    fmt = block_format(E3M2)
    elements = np.pad(np.uint8([[29, 61], [29, 61]]), ((0, 0), (0, 30)))
    blocks = mxref.Blocks(elements, np.uint8([[98], [103]]), fmt, 1, (2, 2))
    quark = mxref.profile("quark_even")  # 2**-29 is 0 there, 2**-24 is not
    assert quark.dequantize(blocks, F16).view(np.uint16).tolist() == [[0, 0x8000], [20, 0x8014]]
    assert (quark.dequantize(blocks)[0] * 2.0**29).tolist() == [20, -20]


def test_fbgemm_looks_at_the_first_payload() -> None:
    # NaN and half a unit less one: NaN up to 7fe00000, then -0, whose logarithm is -infinity.
    x = np.zeros((4, 32), np.uint32)
    x[:, 0] = [0x7FE00000, 0xFFE00001, 0x7FE00002, 0x7FE00001]
    x[:, 1] = [0x00200000, 0x00200000, 0x00200000, 0x3F600000]  # 2**-128; 1.75 * 2**-1
    x[3, 2] = 0x7FFFFFFF
    blocks = mxref.profile("fbgemm_mx4_even").quantize(x.view(F32), FP4)
    assert blocks.scale_codes.ravel().tolist() == [0, 0, 0, 0]
    assert blocks.codes[:, :4].tolist() == [[0, 8, 8, 8], [8, 1, 0, 0], [0, 8, 8, 8], [0, 0, 0, 0]]


def test_fbgemm_reads_byte_ff_as_2_to_the_minus_128() -> None:
    codes = np.full((2, 32), 0xB, np.uint8)
    codes[:, 0] = 8
    scales = np.uint8([[255], [254]])
    blocks = mxref.Blocks(codes, scales, block_format(FP4), 1, (2, 32))
    numbers = mxref.profile("fbgemm_mx4_nearest").dequantize(blocks)
    assert numbers[:, 1].tolist() == [-1.5 * 2.0**-128, -1.5 * 2.0**127]
    assert numbers[:, 0].tobytes() == bytes(8)


@pytest.mark.parametrize(("first", "last", "scale"), [(0x7FC0, 0x7FE0, 0), (0xFFE0, 0x7FC0, 254)])
def test_of_nothing_but_nan_the_last_counts(first: int, last: int, scale: int) -> None:
    values = np.full(32, first, np.uint16)
    values[-1] = last
    blocks = mxref.profile("quark_triton_even").quantize(values.view(BF16), FP4)
    assert blocks.scale_codes.tolist() == [scale]
    assert blocks.codes[[0, 31]].tolist() == [first >> 12 & 8 | 7, last >> 12 & 8 | 7]


def test_mlx_read_480_where_it_now_reads_nan() -> None:
    codes = np.uint8([0x7E, 0x7F, 0xFF])
    assert mxref.profile("mlx_0_31").decode(codes, "e4m3").tolist() == [448.0, 480.0, -480.0]
    new = mxref.profile("mlx_0_32").decode(codes, "e4m3")
    assert np.isnan(new).tolist() == [False, True, True]


def test_torchmx_reads_plain_integers() -> None:
    codes = np.zeros((1, 32), np.uint8)
    codes[0, :4] = [1, 64, 0xFD, 0x80]
    fmt, profile = block_format("mxint8"), mxref.profile("torchmx")
    for byte, numbers in {
        0: [2.0**-127, 2.0**-121, -3 * 2.0**-127, -(2.0**-120)],
        127: [1.0, 64.0, -3.0, -128.0],
        249: [2.0**122, INF, -3 * 2.0**122, -INF],
        254: [2.0**127, INF, -INF, -INF],
    }.items():
        blocks = mxref.Blocks(codes, np.array([[byte]], np.uint8), fmt, 1, (1, 32))
        values = profile.dequantize(blocks, BF16)
        assert values[0, :4].astype(np.float64).tolist() == numbers
    blocks = mxref.Blocks(codes, np.array([[255]], np.uint8), fmt, 1, (1, 32))
    assert np.isnan(profile.dequantize(blocks, BF16).astype(F32)).all()


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

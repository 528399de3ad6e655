"""Every clause of SPEC_NOTES that mxref decides today, by an example typed from the texts.

Facts of one call are lines of data/clauses.txt; the name of each other test is its clause. Not
here: N26 to N28 (dot products) and N35 (flags).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers import SOURCES
from tables import rows

import mxref
from mxref.blocks.two_level import TensorScale, TensorScaleKind
from mxref.formats.catalog import E2M1, E8M0, UE4M3, BlockFormat, block_format

FACTS = [
    pytest.param(*line.split(" -> "), id=line) for line in map(" ".join, rows("whole", "clauses"))
]


def number(text: str, float_type: str) -> Any:
    """A number as it is written, or its pattern."""
    kind = np.dtype(SOURCES[float_type])
    if text[0] == "#":
        return np.array(int(text[1:], 16), f"u{kind.itemsize}").view(kind)
    return kind.type(float.fromhex(text) if "0x" in text else float(text))


@pytest.mark.parametrize(("asked", "want"), FACTS)
def test_a_fact(asked: str, want: str) -> None:
    _, op, format, *words = asked.split()
    op, _, float_type = op.partition(".")
    float_type = float_type or "f32"
    choices: Any = dict(word.split("=") for word in words if "=" in word)
    given = [word for word in words if "=" not in word]
    if op in ("decode", "decode_scale", "dequantize", "pack"):
        got = of_codes(op, format, bytes.fromhex("".join(given)), SOURCES[float_type], choices)
        if op != "pack":
            numbers = np.array([number(word, float_type) for word in want.split()])
            assert got.tobytes() == numbers.tobytes()
            return
    else:
        x = np.array([number(word, float_type) for word in given])
        got = of_numbers(op, format, x, choices)
    pairs = zip(want.split(), got.tolist(), strict=True)
    assert want.split() == ["_" if hand == "_" else f"{code:02x}" for hand, code in pairs]


def of_codes(op: str, format: str, given: bytes, dtype: Any, choices: Any) -> Any:
    codes = np.frombuffer(given, np.uint8)
    if op == "pack":
        packed = mxref.pack(codes, format, block_size=4, **choices)
        back = mxref.unpack(packed, format, len(codes), block_size=4, **choices)
        assert back.tolist() == codes.tolist()
        return packed
    if op == "dequantize":
        fmt = BlockFormat(format, block_format(format).element, E8M0, 1)
        blocks = mxref.Blocks(codes[1:], codes[:1], fmt, 0, (1,))
        return blocks.dequantize(dtype, **choices)
    if op == "decode":
        return mxref.decode(codes, format, dtype, **choices)
    return mxref.decode_scale(codes, dtype, **choices)


def of_numbers(op: str, format: str, x: Any, choices: Any) -> Any:
    if op == "quantize":
        found = mxref.quantize(x, format, block_size=len(x), **choices)
        return np.concatenate([found.scale_codes, found.codes])
    if op == "encode_scale":
        return mxref.encode_scale(x, **choices)
    return getattr(mxref, op)(x, format, **choices)


@pytest.mark.parametrize("k", [-100, -31, -8, -1, 0, 1, 5, 10, 64, 127])
def test_n2_log2_is_exact_just_below_a_power_of_two(k: int) -> None:
    power = np.float32(2.0**k)
    amax = np.array([np.nextafter(power, np.float32(0)), power])
    assert mxref.shared_scale(amax, "int8").tolist() == [k - 1 + 127, k + 127]


def test_n14_nan_may_be_refused() -> None:
    with pytest.raises(ValueError, match="nan_to_finite=error"):
        mxref.encode([np.nan], "e2m1", nan_to_finite="error")


@pytest.mark.parametrize("variant", ["a", "b", "c"])
def test_n18_stochastic_rounding(variant: str) -> None:
    # 2.375 is 3/8 of the way from 2 to 3; of the 8 values of 3 bits, 3 round up.
    drawn: Any = {"random_bits": np.arange(8), "random_width": 3}
    rounding = f"stochastic_{variant}"
    codes = mxref.encode(np.full(8, 2.375), "e2m1", rounding=rounding, **drawn)
    assert sorted(codes.tolist()) == [4] * 5 + [5] * 3
    exact = mxref.encode(np.full(8, 3.0), "e2m1", rounding=rounding, **drawn)
    assert set(exact.tolist()) == {5}


def test_n18_hardware_forms_are_variant_a() -> None:
    generator = np.random.default_rng(3)
    values = generator.uniform(-400, 400, 20_000).astype(np.float32)
    values = values[np.abs(values) >= 2.0**-6]  # E4M3's normal numbers
    seeds = generator.integers(0, 1 << 32, values.size, np.uint32)
    # AMD from float32 to E4M3: the top 20 bits of the seed are added to the 20 bits that go.
    added = (values.view(np.uint32) + (seeds >> np.uint32(12))) & np.uint32(0xFFF00000)
    want = mxref.encode(added.view(np.float32), "e4m3")
    got = mxref.encode(
        values, "e4m3", rounding="stochastic_a", random_bits=seeds >> np.uint32(12), random_width=20
    )
    assert got.tolist() == want.tolist()
    # Transformer Engine's software E2M1: 8 random bits of a step are added, then truncated.
    small = generator.uniform(0, 6, 5_000)
    bits = generator.integers(0, 256, small.size)
    step = np.where(small < 2, 0.5, np.where(small < 4, 1.0, 2.0))
    floor = np.floor((small + bits / 256 * step) / step) * step
    got = mxref.encode(small, "e2m1", rounding="stochastic_a", random_bits=bits, random_width=8)
    assert mxref.decode(got, "e2m1").tolist() == floor.tolist()


def test_n29_tails() -> None:
    values = np.float32([1.0, 2.0, 3.0])
    padded = mxref.quantize(values, "mxfp4_e2m1", block_size=2)
    short = mxref.quantize(values, "mxfp4_e2m1", block_size=2, tail="short")
    assert (padded.codes.tolist(), short.codes.tolist()) == ([4, 6, 7, 0], [4, 6, 7])
    assert padded.dequantize().tolist() == short.dequantize().tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="tail=refused"):
        mxref.quantize(values, "mxfp4_e2m1", block_size=2, tail="refused")


def test_n30_blocks_run_along_any_axis() -> None:
    values = np.float32([[1.0, 64.0], [2.0, 128.0]])
    rows = mxref.quantize(values, "mxint8", block_size=2)
    columns = mxref.quantize(values, "mxint8", block_size=2, axis=0)
    assert rows.scale_codes.tolist() == [[127 + 6], [127 + 7]]
    assert columns.scale_codes.tolist() == [[127 + 1, 127 + 7]]


def test_n31_any_block_size() -> None:
    values = np.float32([1.0, 2.0, 4.0, 8.0])
    found = {n: mxref.quantize(values, "mxint8", block_size=n).scale_codes for n in (1, 3, 16)}
    assert found[1].tolist() == [127, 128, 129, 130]
    assert found[3].tolist() == [129, 130]
    assert found[16].tolist() == [130]


@pytest.mark.parametrize(
    ("place", "byte", "packed"),
    [
        ("before", "biased", "82 21 43"),
        ("after", "biased", "21 43 82"),
        ("before", "signed", "03 21 43"),
        ("after", "signed", "21 43 03"),
    ],
)
def test_n32_scales_beside_their_elements(place: str, byte: str, packed: str) -> None:
    fmt = BlockFormat("four", E2M1, E8M0, 4)
    choices = {"scale_place": place, "scale_byte": byte}
    block = mxref.pack_blocks([127 + 3], [1, 2, 3, 4], fmt, **choices)
    assert (block.shape, bytes(block).hex(" ")) == ((1, 3), packed)
    with pytest.raises(ValueError, match="scale_place must be before or after"):
        mxref.pack_blocks([127 + 3], [1, 2, 3, 4], fmt)


def test_n32_a_matrix_of_scales() -> None:
    scales = np.uint8([[1, 2, 3, 4, 5]] * 33)
    assert mxref.pack_scales(scales)[:7].tolist() == [1, 2, 3, 4, 5, 1, 2]
    tiles = mxref.pack_scales(scales, scale_layout="tiles_128x4")
    # Row 32 stands behind row 0; the fifth column opens a second tile, filled up with 00.
    assert tiles[:12].tolist() == [1, 2, 3, 4, 1, 2, 3, 4, 0, 0, 0, 0]
    assert tiles[512:520].tolist() == [5, 0, 0, 0, 5, 0, 0, 0]
    assert tiles.shape == (1024,)


def test_n40_nan_need_not_come_back_as_it_was() -> None:
    codes = np.uint8([0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF])
    again = mxref.encode(mxref.decode(codes, "e5m2"), "e5m2")
    assert again.tolist() == [0x7F] * 6


def nvfp4(values: list[float], arithmetic: str) -> mxref.Blocks:
    return mxref.quantize(np.float32(values), "nvfp4", scale_arithmetic=arithmetic)


@pytest.mark.parametrize(
    ("arithmetic", "of_zeros", "smallest"),
    [
        ("exact", 0x00, 0x02),
        ("torchao", 0x7F, 0x08),
        ("transformer_engine", 0x00, 0x02),
        ("cublas", 0x00, 0x02),
        ("compressed_tensors", 0x20, 0x02),
    ],
)
def test_n41_the_scale_of_zeros_and_the_smallest(
    arithmetic: str, of_zeros: int, smallest: int
) -> None:
    assert nvfp4([0.0] * 16, arithmetic).scale_codes.tolist() == [of_zeros]
    # amax 2688 makes the tensor scale 1; the second block's scale is 2**-8, E4M3 code 02.
    blocks = nvfp4([2688.0] + [0.0] * 15 + [6 * 2.0**-8, -3 * 2.0**-8] + [0.0] * 14, arithmetic)
    assert blocks.scale_codes.tolist() == [0x7E, smallest]
    # 6 and -3 times the scale, or an eighth and a quarter of that when it is 2**-6.
    last = [3, 0xA] if smallest == 0x08 else [7, 0xD]
    assert blocks.codes[[0, 16, 17]].tolist() == [7, *last]


@pytest.mark.parametrize(
    ("kind", "number", "value"),
    [
        ("factor", 3.0, 18.0),
        ("divisor", 3.0, 2.0),
        ("amax", 5376.0, 12.0),
        ("amax_256", 3072.0, 12.0),
    ],
)
def test_n42_the_kind_of_a_tensor_scale(kind: str, number: float, value: float) -> None:
    tensor = TensorScale.of(number, TensorScaleKind(kind))
    one = BlockFormat("one", E2M1, UE4M3, 1, tensor_scale=True)
    blocks = mxref.Blocks(np.uint8([7]), np.uint8([0x38]), one, 0, (1,), tensor_scale=tensor)
    assert blocks.dequantize().tolist() == [value]


def test_n45_blocks_along_two_axes_are_refused() -> None:
    arithmetic = {"scale_arithmetic": "transformer_engine_4over6"}
    with pytest.raises(ValueError, match=r"block_size must be one number .*, got \(2, 2\)"):
        mxref.quantize(np.ones((4, 4)), "nvfp4", axis=(0, 1), block_size=(2, 2), **arithmetic)


def test_n42_an_arithmetic_refuses_another_kind() -> None:
    blocks = nvfp4([1.0] * 16, "transformer_engine")
    with pytest.raises(ValueError, match="tensor scale of kind factor, got amax"):
        blocks.dequantize(scale_arithmetic="torchao")

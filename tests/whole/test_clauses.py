"""Every clause of SPEC_NOTES that mxref decides today, by an example typed from the texts.

The name of a test is the clause. Not here: N26 to N28 (dot products) and N35 (flags).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mxref
from mxref.blocks.two_level import TensorScale, TensorScaleKind
from mxref.formats.catalog import E2M1, UE4M3

INF, NAN = np.inf, np.nan


def encode(value: float, format: str, dtype: type = np.float32, **choices: str) -> int:
    return int(mxref.encode(np.array([value], dtype), format, **choices)[0])


def quantize(
    values: list[float], format: str, dtype: type = np.float32, **choices: str
) -> tuple[int, list[int]]:
    blocks = mxref.quantize(np.array(values, dtype), format, block_size=len(values), **choices)
    return int(blocks.scale_codes[0]), blocks.codes.tolist()


def scale(amax: float, format: str, rule: str = "floor", dtype: type = np.float32) -> int:
    return int(mxref.shared_scale(np.array([amax], dtype), format, rule)[0])


def below(value: float) -> float:
    return float(np.nextafter(np.float32(value), np.float32(0)))


def test_n1_scale_rule() -> None:
    # 448 = 1.75 * 2**8 is E4M3's largest number: every rule but CEIL keeps it at scale 1.
    rules = ("floor", "ceil", "rceil", "even", "tosa", "nearest")
    assert [scale(448.0, "e4m3", rule) for rule in rules] == [127, 128, 127, 127, 127, 127]
    assert [scale(480.0, "e4m3", rule) for rule in rules] == [127, 128, 128, 127, 128, 127]
    assert [scale(500.0, "e4m3", rule) for rule in rules] == [127, 128, 128, 128, 128, 127]


@pytest.mark.parametrize("k", [-100, -31, -8, -1, 0, 1, 5, 10, 64, 127])
def test_n2_log2_is_exact_just_below_a_power_of_two(k: int) -> None:
    assert scale(below(2.0**k), "int8") == k - 1 + 127
    assert scale(2.0**k, "int8") == k + 127 if k < 128 else True


def test_n3_amax_is_taken_in_the_type_of_the_source() -> None:
    just_below_two = 2.0 - 2.0**-40  # float32 would make 2 of it
    assert scale(just_below_two, "int8", dtype=np.float64) == 127
    amax = np.array([just_below_two])
    assert mxref.shared_scale(amax, "int8", amax_type="float32").tolist() == [128]


def test_n4_nan_in_a_block() -> None:
    assert quantize([1.0, NAN], "mxfp4_e2m1") == (0xFF, [0, 0])
    assert quantize([1.0, NAN], "mxfp4_e2m1", block_nan="ignore") == (125, [6, 7])


def test_n5_infinity_in_a_block() -> None:
    assert quantize([1.0, -INF], "mxfp4_e2m1") == (0xFF, [0, 0])
    assert quantize([1.0, -INF], "mxfp4_e2m1", block_inf="largest_scale") == (0xFE, [0, 0xF])
    assert quantize([1.0, -INF], "mxfp4_e2m1", block_inf="ignore") == (125, [6, 0xF])


def test_n6_block_of_zeros() -> None:
    zeros = [0.0, -0.0]
    assert quantize(zeros, "mxfp8_e4m3") == (0x00, [0x00, 0x80])
    found = [
        quantize(zeros, "mxfp8_e4m3", zero_block=choice)[0]
        for choice in ("code_01", "one", "minus_emax", "nan")
    ]
    assert found == [0x01, 0x7F, 127 - 8, 0xFF]


def test_n7_scale_below_the_smallest() -> None:
    tiny = [2.0**-130, 0.0]
    assert quantize(tiny, "mxfp4_e2m1") == (0x00, [0, 0])  # 2**-3 of the scale rounds to 0
    assert quantize(tiny, "mxfp8_e4m3") == (0x00, [0x20, 0])  # 2**-3 is 0 0100 000
    assert quantize(tiny, "mxfp8_e4m3", scale_underflow="flush") == (0x00, [0, 0])
    assert quantize(tiny, "mxfp8_e4m3", scale_underflow="flush_subnormal") == (0x00, [0, 0])
    assert quantize(tiny, "mxfp8_e4m3", scale_underflow="nan") == (0xFF, [0, 0])
    assert quantize(tiny, "mxfp4_e2m1", scale_underflow="wrap")[0] == (-132 + 127) % 256


def test_n8_scale_above_the_largest() -> None:
    huge = [2.0**200, 0.0]
    assert quantize(huge, "mxfp4_e2m1", np.float64) == (0xFE, [7, 0])
    assert quantize(huge, "mxfp4_e2m1", np.float64, scale_overflow="nan") == (0xFF, [0, 0])


def test_n9_subnormal_inputs_count() -> None:
    smallest = [2.0**-127, 2.0**-149]
    assert quantize(smallest, "mxfp8_e5m2") == (0x00, [0x3C, 0x00])
    assert quantize(smallest, "mxfp8_e5m2", subnormal_inputs="flushed") == (0x00, [0, 0])
    assert encode(2.0**-149, "e4m3", rounding="toward_positive") == 1
    flushed = {"rounding": "toward_positive", "subnormal_inputs": "flushed"}
    assert encode(2.0**-149, "e4m3", **flushed) == 0


def test_n10_clamping_comes_after_rounding() -> None:
    assert encode(449.0, "e4m3", overflow="nonsaturating") == 0x7E
    early = {"overflow": "nonsaturating", "clamp": "before_rounding"}
    assert encode(449.0, "e4m3", **early) == 0x7F
    assert encode(448.0, "e4m3", **early) == 0x7E


def test_n11_overflow_of_a_finite_number() -> None:
    assert (encode(465.0, "e4m3"), encode(-61440.0, "e5m2")) == (0x7E, 0xFB)
    other = {"overflow": "nonsaturating"}
    assert (encode(465.0, "e4m3", **other), encode(-61440.0, "e5m2", **other)) == (0x7F, 0xFC)


def test_n12_infinity_as_an_element() -> None:
    assert (encode(-INF, "e4m3"), encode(-INF, "e5m2"), encode(INF, "e2m1")) == (0xFE, 0xFB, 7)
    kept = {"overflow": "propagate"}
    assert (encode(-INF, "e5m2", **kept), encode(1e9, "e5m2", **kept)) == (0xFC, 0x7B)


def test_n13_nan_code_and_sign() -> None:
    negative = np.uint32([0xFFC00001]).view(np.float32)
    for format, quiet in (("e4m3", 0xFF), ("e5m2", 0xFE)):
        found = [
            int(mxref.encode(negative, format, nan=choice)[0])
            for choice in ("positive", "signed", "negative", "signed_quiet")
        ]
        assert found == [0x7F, 0xFF, 0xFF, quiet]
    decoded = mxref.decode(np.uint8([0x7D, 0xFF]), "e5m2").view(np.uint32)
    assert decoded.tolist() == [0x7FC00000, 0x7FC00000]


def test_n14_nan_to_a_format_without_nan() -> None:
    nans = np.uint32([0x7FC00000, 0xFFC00000]).view(np.float32)
    found = {
        choice: mxref.encode(nans, "e2m1", nan_to_finite=choice).tolist()
        for choice in ("max", "signed_max", "zero", "signed_zero", "opposite_zero")
    }
    assert found == {
        "max": [7, 7],
        "signed_max": [7, 0xF],
        "zero": [0, 0],
        "signed_zero": [0, 8],
        "opposite_zero": [8, 0],
    }
    with pytest.raises(ValueError, match="nan_to_finite=error"):
        mxref.encode(nans, "e2m1", nan_to_finite="error")


def test_n15_minus_two_in_int8() -> None:
    assert (encode(-2.0, "int8"), encode(-2.0, "int8", int8_range="full")) == (0x81, 0x80)
    assert encode(-127.5 / 64, "int8", int8_range="full") == 0x80  # a tie to the even -128
    assert mxref.decode([0x80], "int8").tolist() == [-2.0]


def test_n16_emax_of_int8_is_0() -> None:
    assert scale(1.0, "int8") == 127
    assert mxref.shared_scale(np.float32([1.0]), "int8", int8_emax="one").tolist() == [126]
    assert mxref.shared_scale(np.float32([1.0]), "e4m3", int8_emax="one").tolist() == [119]


def test_n17_rounding() -> None:
    # 2.5 is midway between 2 (code 4) and 3 (code 5); 1.25 between 1 (code 2) and 1.5 (code 3).
    found = {
        rounding: [encode(x, "e2m1", rounding=rounding) for x in (2.5, -2.5, 1.25, 2.25)]
        for rounding in ("ties_to_even", "ties_to_away", "ties_to_zero", "toward_zero", "to_odd")
    }
    assert found == {
        "ties_to_even": [4, 12, 2, 4],
        "ties_to_away": [5, 13, 3, 4],
        "ties_to_zero": [4, 12, 2, 4],
        "toward_zero": [4, 12, 2, 4],
        "to_odd": [5, 13, 3, 5],
    }
    assert [encode(x, "e2m1", rounding="toward_positive") for x in (2.25, -2.75)] == [5, 12]
    assert [encode(x, "e2m1", rounding="toward_negative") for x in (2.75, -2.25)] == [4, 13]


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


def test_n19_division_by_the_scale_is_exact() -> None:
    # Under scale FE a reciprocal would be the subnormal 2**-127.
    assert quantize([2.0**127, 2.0**126], "mxint8") == (0xFE, [0x40, 0x20])


def test_n19_a_flushed_reciprocal_loses_the_block() -> None:
    flushed = {"scaling": "reciprocal_flushed"}
    assert quantize([2.0**127, -(2.0**126)], "mxint8", **flushed) == (0xFE, [0, 0])
    assert quantize([2.0**126, -(2.0**125)], "mxint8", **flushed) == (0xFD, [0x40, 0xE0])


def blocks(scale_code: int, code: int, format: str) -> mxref.Blocks:
    fmt = mxref.formats.BlockFormat(
        format, mxref.formats.block_format(format).element, mxref.formats.E8M0, 1
    )
    return mxref.Blocks(np.uint8([code]), np.uint8([scale_code]), fmt, 0, (1,))


def test_n20_products_beyond_float32() -> None:
    huge = blocks(0xFE, 0xF, "mxfp4_e2m1")  # -6 * 2**127
    assert huge.dequantize().tolist() == [-INF]
    assert np.isnan(huge.dequantize(product_overflow="nan")).all()
    saturated = huge.dequantize(product_overflow="saturate")
    assert saturated.tolist() == [-float(np.finfo(np.float32).max)]


def test_n21_dequantizing_rounds_once() -> None:
    tiny = blocks(127 - 20, 0x7E, "mxfp8_e4m3")  # 448 * 2**-20 is a float16
    assert tiny.dequantize(np.float16).tolist() == [448 * 2.0**-20]
    smaller = blocks(127 - 26, 0x7E, "mxfp8_e4m3")  # 2**-26 is not
    assert smaller.dequantize(np.float16).tolist() == [448 * 2.0**-26]
    assert smaller.dequantize(np.float16, product_rounding="scale_first").tolist() == [0.0]


def test_n22_scale_codes_00_and_ff() -> None:
    assert mxref.decode_scale([0x00]).tolist() == [2.0**-127]
    assert mxref.decode_scale([0x00], scale_00="zero").tolist() == [0.0]
    assert np.isnan(mxref.decode_scale([0xFF])).all()
    assert mxref.decode_scale([0xFF], np.float64, scale_ff="power").tolist() == [2.0**128]
    assert mxref.decode_scale([0xFF], scale_ff="inf").tolist() == [INF]


def test_n23_float_to_e8m0() -> None:
    values = np.float32([0.0, -1.0, 1.5, 3.0, INF, NAN, 2.0**-149, 1.01 * 2.0**-127])
    cuda_up = {"scale_rounding": "toward_positive", "scale_of_inf": "largest"}
    ml_dtypes = {
        "scale_rounding": "ties_to_away",
        "tiny_scale": "as_if_zero",
        "scale_of_zero": "nan",
        "scale_of_negative": "nan",
        "scale_overflow": "nan",
    }
    assert mxref.encode_scale(values).tolist() == [0, 127, 127, 128, 255, 255, 0, 0]
    assert mxref.encode_scale(values, **cuda_up).tolist() == [0, 127, 128, 129, 254, 255, 0, 1]
    assert mxref.encode_scale(values, **ml_dtypes).tolist() == [255, 255, 128, 129, 255, 255, 0, 1]


def test_n24_codes_below_a_nan_scale_are_00_and_do_not_matter() -> None:
    assert quantize([NAN, 5.0, -1.0], "mxfp8_e4m3")[1] == [0, 0, 0]
    assert quantize([NAN, 5.0], "mxfp4_e2m1", nan_block_codes="ones") == (0xFF, [0xF, 0xF])
    assert np.isnan(blocks(0xFF, 0x38, "mxfp8_e4m3").dequantize()).all()


def test_n25_sign_of_zero() -> None:
    assert [encode(x, "e4m3") for x in (-0.0, -(2.0**-20))] == [0x80, 0x80]
    assert [encode(x, "e4m3", zero_sign="dropped") for x in (-0.0, -(2.0**-20))] == [0, 0x80]
    assert [encode(x, "e4m3", underflow_sign="dropped") for x in (-0.0, -(2.0**-20))] == [0x80, 0]
    assert encode(-0.0, "int8") == 0
    minus_zero = mxref.decode([0x80], "e4m3").view(np.uint32).tolist()
    dropped = mxref.decode([0x80], "e4m3", decoded_zero="dropped").view(np.uint32).tolist()
    assert (minus_zero, dropped) == ([0x80000000], [0])


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
    ("format", "codes", "choice", "packed"),
    [
        ("e2m1", [1, 2, 3, 4], "low_nibble_first", "21 43"),  # Quark's own example
        ("e2m1", [1, 2, 3, 4], "high_nibble_first", "12 34"),
        ("e2m1", [1, 2, 3, 4], "halves", "31 42"),  # as a block of four
        ("e2m1", [1, 2, 3, 4], "middle_bits", "04 08 0c 10"),
        ("e2m1", [1, 2, 3, 4], "byte_each", "01 02 03 04"),
        ("e3m2", [0x01, 0x12, 0x23, 0x34], "lsb_first", "81 34 d2"),
        ("e3m2", [0x01, 0x12, 0x23, 0x34], "quark", "1b 12 34"),
        ("e3m2", [0x01, 0x12, 0x23, 0x34], "torchao_planar", "04 8d 6c"),
        ("e3m2", [0x01, 0x12, 0x23, 0x34], "torchao_quads", "04 d8 63"),
        ("e3m2", [0x01, 0x12, 0x23, 0x34], "byte_each", "01 12 23 34"),
        ("int8", [0x01, 0xFE], None, "01 fe"),
    ],
)
def test_n32_elements_in_bytes(
    format: str, codes: list[int], choice: str | None, packed: str
) -> None:
    choices = {} if choice is None else {f"fp{4 if format == 'e2m1' else 6}_packing": choice}
    assert bytes(mxref.pack(codes, format, block_size=4, **choices)).hex(" ") == packed
    back = mxref.unpack(list(bytes.fromhex(packed)), format, len(codes), block_size=4, **choices)
    assert back.tolist() == codes


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
    fmt = mxref.formats.BlockFormat("four", E2M1, mxref.formats.E8M0, 4)
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


def test_n34_what_happens_before_amax() -> None:
    just_below = [below(7.0), 0.0]  # bfloat16 makes 7 of it
    assert quantize(just_below, "mxfp4_e2m1", scale_rule="even")[0] == 127
    other = {"scale_rule": "even", "amax_type": "bfloat16"}
    assert quantize(just_below, "mxfp4_e2m1", **other)[0] == 128


def test_n36_float64_is_rounded_once() -> None:
    value = 1.0625 + 2.0**-40  # float32 makes a tie of it
    assert encode(value, "e4m3", np.float64) == 0x39
    assert encode(value, "e4m3", np.float64, pre_rounding="float32") == 0x38


def test_n37_nonsaturating_without_infinity_and_nan_clamps() -> None:
    found = [encode(-1e9, f, overflow="nonsaturating") for f in ("e3m2", "e2m3", "e2m1", "int8")]
    assert found == [0x3F, 0x3F, 0x0F, 0x81]


def test_n38_two_recipes_of_one_name() -> None:
    # OCP's and NVIDIA's "MXFP4" of a block whose largest magnitude is 7.
    assert quantize([7.0, 1.0], "mxfp4_e2m1") == (127, [7, 2])
    assert quantize([7.0, 1.0], "mxfp4_e2m1", scale_rule="rceil") == (128, [6, 1])


def test_n39_directed_rounding_and_overflow() -> None:
    literal = {"rounding": "toward_zero", "overflow": "nonsaturating"}
    ieee = {"rounding": "toward_zero", "overflow": "nonsaturating_ieee"}
    assert [encode(x, "e4m3", **literal) for x in (479.0, 480.0, INF)] == [0x7E, 0x7F, 0x7F]
    assert [encode(x, "e4m3", **ieee) for x in (479.0, 480.0, INF)] == [0x7E, 0x7E, 0x7F]


def test_n40_nan_need_not_come_back_as_it_was() -> None:
    codes = np.uint8([0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF])
    again = mxref.encode(mxref.decode(codes, "e5m2"), "e5m2")
    assert again.tolist() == [0x7F] * 6


ARITHMETICS = ("exact", "torchao", "transformer_engine", "cublas", "compressed_tensors")


def nvfp4(values: list[float], arithmetic: str) -> mxref.Blocks:
    return mxref.quantize(np.float32(values), "nvfp4", scale_arithmetic=arithmetic)


@pytest.mark.parametrize(
    ("arithmetic", "scale_code"),
    list(zip(ARITHMETICS, (0x00, 0x7F, 0x00, 0x00, 0x20), strict=True)),
)
def test_n41_the_scale_of_a_tensor_of_zeros(arithmetic: str, scale_code: int) -> None:
    assert nvfp4([0.0] * 16, arithmetic).scale_codes.tolist() == [scale_code]


@pytest.mark.parametrize(
    ("arithmetic", "scale_code"),
    list(zip(ARITHMETICS, (0x02, 0x08, 0x02, 0x02, 0x02), strict=True)),
)
def test_n41_the_smallest_scale(arithmetic: str, scale_code: int) -> None:
    # amax 2688 makes the tensor scale 1; the second block's scale is 2**-8, E4M3 code 02.
    blocks = nvfp4([2688.0] + [0.0] * 15 + [6 * 2.0**-8, -3 * 2.0**-8] + [0.0] * 14, arithmetic)
    assert blocks.scale_codes.tolist() == [0x7E, scale_code]
    assert blocks.codes[:1].tolist() == [7]
    # 6 and -3 times the scale, or an eighth and a quarter of that when it is 2**-6.
    assert blocks.codes[16:18].tolist() == ([3, 0xA] if scale_code == 0x08 else [7, 0xD])


def test_n41_exact_divides_exactly() -> None:
    # Scale 15/8: 75/16 over it is 2.5, a tie to 2, and so is the float32 quotient; but float32 has
    # 1 / (15/8) too large, and the product with it is above the tie.
    values = np.float32([11.25, 75 / 16])
    codes = {"exact": 4, "cublas": 5, "torchao": 5, "compressed_tensors": 4}
    for arithmetic, code in codes.items():
        blocks = mxref.quantize(values, "fp4_ue4m3", block_size=2, scale_arithmetic=arithmetic)
        assert (blocks.scale_codes.tolist(), blocks.codes.tolist()) == ([0x3F], [7, code])


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
    one = mxref.formats.BlockFormat("one", E2M1, UE4M3, 1, tensor_scale=True)
    blocks = mxref.Blocks(np.uint8([7]), np.uint8([0x38]), one, 0, (1,), tensor_scale=tensor)
    assert blocks.dequantize().tolist() == [value]


def test_n45_four_over_six() -> None:
    def chosen(values: list[float], error: str = "") -> tuple[int, list[int]]:
        arithmetic = f"transformer_engine_4over6{error}"
        return quantize(values, "fp4_ue4m3", scale_arithmetic=arithmetic)

    # 4 / 6 is the scale 11/16, under which 3 is off by 1/4; under 4 / 4 both numbers are exact.
    assert chosen([4.0, 3.0]) == (0x38, [6, 5])
    assert chosen([12.0]) == (0x40, [7])  # 6 times 2 and 4 times 3: of equal errors that of 6
    # Under 2 only 5 is off, by 1; under 3 1, 1 and 5 are, by 1/2 each: 1 < 3/2, but 1 > 3/4.
    assert chosen([12.0, 1.0, 1.0, 5.0]) == (0x40, [7, 1, 1, 4])
    assert chosen([12.0, 1.0, 1.0, 5.0], "_mse") == (0x44, [6, 1, 1, 3])
    assert chosen([float("nan"), 4.0, 3.0]) == (0x33, [7, 7, 6])  # no comparison with NaN holds


def test_n45_blocks_along_two_axes_are_refused() -> None:
    arithmetic = {"scale_arithmetic": "transformer_engine_4over6"}
    with pytest.raises(ValueError, match=r"block_size must be one number .*, got \(2, 2\)"):
        mxref.quantize(np.ones((4, 4)), "nvfp4", axis=(0, 1), block_size=(2, 2), **arithmetic)


def test_n42_an_arithmetic_refuses_another_kind() -> None:
    blocks = nvfp4([1.0] * 16, "transformer_engine")
    with pytest.raises(ValueError, match="tensor scale of kind factor, got amax"):
        blocks.dequantize(scale_arithmetic="torchao")

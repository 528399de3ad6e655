"""Why an answer is what it is, of questions that no file holds."""

from __future__ import annotations

import numpy as np
import pytest

from mxref import exact
from mxref.bits.floats import LAYOUTS
from mxref.cases.splitmix import splitmix64
from mxref.formats.catalog import ELEMENT_FORMATS
from mxref.golden.reasons import reason


@pytest.mark.parametrize("format", ELEMENT_FORMATS)
def test_a_float64_whose_code_depends_on_a_first_rounding_is_not_required(format: str) -> None:
    # Around numbers of seven significant bits lie all midpoints; 2**28 is half a float32 ulp.
    drawn = splitmix64(7, 400)
    near = (drawn >> np.uint64(4)) % np.uint64(40) + np.uint64(1013) << np.uint64(52)
    near |= (drawn >> np.uint64(57)) << np.uint64(45)
    near |= (drawn & np.uint64(1)) << np.uint64(63)
    found = 0
    for step in (-(1 << 28) - 1, -(1 << 28), -1, 0, 1, 1 << 28, (1 << 28) + 1):
        for bits in (near.astype(np.int64) + step).view(np.uint64).tolist():
            once = exact.encode(bits, "f64", format, overflow="nonsaturating")
            twice = exact.encode(
                bits, "f64", format, overflow="nonsaturating", pre_rounding="float32"
            )
            answer = exact.encode(bits, "f64", format)
            required, rule, _ = reason("encode", format, "f64", (bits,), (answer,))
            assert (rule == "N36") == (once != twice), hex(bits)
            assert not (required and once != twice)
            found += once != twice
    assert found


def test_powers_outside_a_float_type_are_not_required() -> None:
    words = {code: (exact.decode_scale(code, "f16"),) for code in (0x00, 0x60, 0x70, 0x90, 0xFF)}
    whys = {code: reason("decode_scale", "e8m0", "f16", (code,), w) for code, w in words.items()}
    assert whys == {
        0x00: (False, "N21", ()),
        0x60: (False, "N21", ()),
        0x70: (True, "MX-5.4.1", ("product_subnormal",)),
        0x90: (False, "N20", ("product_overflow",)),
        0xFF: (True, "N22", ("nan",)),
    }


def test_flags_of_blocks_under_small_float_scales() -> None:
    def flags(words: tuple[int, ...], answer: tuple[int, ...]) -> tuple[str, ...]:
        required, rule, flags = reason("quantize", "fp4_ue4m3", "f32", words, answer)
        assert (required, rule) == (False, "N41")
        return flags

    assert flags((0,) * 16, (0,) * 17) == ("zero", "scale_subnormal")
    assert flags((0x7F800000, *[1] * 15), (0x7F, *[0] * 16)) == ("source_subnormal", "inf")
    assert flags((0x3F800000,) * 16, (0x23, *[7] * 16)) == ()
    dequantized = reason("dequantize", "nvfp4", "f32", (0x3F800000, 0x07, *range(16)), (0,) * 16)
    assert dequantized == (False, "N41", ("scale_subnormal",))


@pytest.mark.parametrize(
    ("op", "format", "slot", "words", "rule"),
    [
        ("pack", "e2m1", "bytes", (1, 2), "N32"),
        ("unpack_scales", "e8m0", "row_major", (1, 1, 0x7F), "N32"),
        ("unpack_blocks", "mxint8", "bytes", (0x7F, *[0] * 32), "N32"),
        ("quantize_tensor", "mxint8", "f32", (1, 1, 1, 0), "N29"),
        ("quantize_tensor", "mxint8", "f32", (1, 32, 1, *[0] * 32), "N30"),
        ("encode_stochastic", "e2m1", "f32", (0x3F900000, 3, 8), "N18"),
    ],
)
def test_layouts_and_stochastic_rounding_have_their_clause(
    op: str, format: str, slot: str, words: tuple[int, ...], rule: str
) -> None:
    assert reason(op, format, slot, words, (0,))[:2] == (False, rule)


@pytest.mark.parametrize("slot", ["f32", "bf16", "f64"])
def test_a_binade_edge_is_a_power_of_two_and_the_float_on_either_side(slot: str) -> None:
    layout = LAYOUTS[slot]
    one, normal, inf = (
        layout.bias << layout.mantissa_bits,
        1 << layout.mantissa_bits,
        layout.inf_bits,
    )
    at = {edge + step for edge in (normal, one) for step in (-1, 0, 1)} | {inf - 1}
    beside = {edge + step for edge in (normal, one) for step in (-2, 2)}
    beside |= {0, 1, one | one >> 1 & normal - 1, inf - 2, inf, inf + 1}
    for op, format, answer in (
        ("encode_scale", "e8m0", (127,)),
        ("shared_scale", "e2m1", (127,)),
        ("quantize", "mxfp4_e2m1", (127, *[0] * 32)),
    ):
        for bits in at | beside:
            words = (bits, *[0] * 31) if op == "quantize" else (bits,)
            flags = reason(op, format, slot, words, answer)[2]
            assert ("binade_edge" in flags) == (bits in at), (op, hex(bits))

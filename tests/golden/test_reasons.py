"""Why an answer is what it is, of questions that no file holds."""

from __future__ import annotations

import numpy as np
import pytest
import tables

from mxref import exact
from mxref.bits.floats import LAYOUTS
from mxref.golden.reasons import reason


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


#: Codes of E4M3 by their numbers: 1.m * 2**(e - 7), subnormal ones m * 2**-9. Source: OCP MX 5.3.1.
E4M3 = {
    **{2.0**-9: 0x01, 2.0**-8: 0x02, 2.0**-7: 0x04, 1: 0x38, 2: 0x40, 15: 0x57},
    **{0: 0x00, 128: 0x70, 256: 0x78},
}


@pytest.mark.parametrize(("x", "y", "scale_codes", "coarse"), tables.rows("golden", "dots"))
def test_a_dot_product_is_required_where_16_bits_hold_every_sum(
    x: str, y: str, scale_codes: str, coarse: str
) -> None:
    """Both in bfloat16 and in float16."""
    a, b = ([tables.number(word) for word in row.split()] for row in (x, y))
    scales = [int(word) for word in scale_codes.split()]
    words = (scales[0], *(E4M3[n] for n in a), scales[1], *(E4M3[n] for n in b))
    total = np.dot(a, b) * 2.0 ** (sum(scales) - 254)
    answer = (int(np.float32(total).view(np.uint32)),)
    flags = ("zero",) if total == 0 else ("one_product",) if len(a) == 1 else ()
    want = (True, "MX-6.1", flags) if coarse == "yes" else (False, "N43", flags)
    assert reason("matmul", "mxfp8_e4m3-mxfp8_e4m3", "f32", words, answer) == want
    if coarse == "yes":  # a block of zeros behind it: then the clause is that of several blocks
        several = (scales[0], 127, *words[1 : len(a) + 1], *[0] * (33 - len(a)))
        several += (scales[1], 127, *words[len(a) + 2 :], *[0] * (33 - len(a)))
        why = reason("matmul", "mxfp8_e4m3-mxfp8_e4m3", "f32", several, answer)
        assert why == (True, "MX-6.2", flags)

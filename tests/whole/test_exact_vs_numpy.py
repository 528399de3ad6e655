"""The two references, the slow twin and the vectorised path, agree on every code.

Exhaustively for the 16-bit floats, in every rounding and overflow method; at every threshold and on
the binade ladder for float32 and float64; for every scale with every code.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from helpers import ROUNDINGS
from shares import Share

import mxref
from mxref import exact
from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.formats.catalog import BLOCK_FORMATS, CODE_FORMATS, ELEMENT_FORMATS, code_format
from mxref.golden import models
from mxref.policy.choices import Choice
from mxref.policy.policy import READS, Policy

FORMATS = tuple(ELEMENT_FORMATS)
CODED = tuple(CODE_FORMATS)
OVERFLOWS = ("saturate", "nonsaturating")


def roundings_of(share: Share) -> list[str]:
    return [rounding for index, rounding in enumerate(ROUNDINGS) if share.takes(index, 7)]


def floats(bits: list[int], layout: FloatLayout) -> np.ndarray:
    return np.array(bits, layout.uint).view(layout.dtype)


def differences(bits: list[int], got: np.ndarray, want: list[int]) -> list[str]:
    return [
        f"{b:x}: fast {g:02x}, slow {w:02x}"
        for b, g, w in zip(bits, got.tolist(), want, strict=True)
        if g != w
    ][:5]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("overflow", Policy.members("overflow"))
@pytest.mark.parametrize("format", CODED)
def test_the_complete_product_of_16_bit_floats(format: str, overflow: Choice, share: Share) -> None:
    """Every format and overflow method, in one rounding; in all of them under --complete."""
    bits = list(range(1 << 16))
    for source in ("bf16", "f16"):
        values = floats(bits, LAYOUTS[source])
        for rounding in roundings_of(share):
            choices = {"rounding": rounding, "overflow": overflow.value}
            got = mxref.encode(values, format, **choices)
            want = [exact.encode(b, source, format, **choices) for b in bits]
            assert differences(bits, got, want) == [], (source, rounding)


def every_exponent(layout: FloatLayout) -> list[int]:
    """First, middle and last significand of every exponent, subnormals included, both signs."""
    m = layout.mantissa_bits
    fields = range((1 << layout.exponent_bits) - 1)
    ladder = [f << m | fraction for f in fields for fraction in (0, 1 << m - 1, (1 << m) - 1)]
    ladder += [1 << bit for bit in range(m)] + [(1 << bit) - 1 for bit in range(m)]
    return ladder + [bits | layout.sign_bit for bits in ladder]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("overflow", [member.value for member in Policy.members("overflow")])
@pytest.mark.parametrize("format", CODED)
@pytest.mark.parametrize("source", ["f32", "f64"])
def test_encode_at_thresholds_and_on_the_binade_ladder(
    source: str, format: str, overflow: str, share: Share
) -> None:
    layout = LAYOUTS[source]
    bits = [*models.encode_inputs(code_format(format), layout), *every_exponent(layout)]
    values = floats(bits, layout)
    everything = format in FORMATS and overflow in OVERFLOWS
    for rounding in ROUNDINGS if everything else roundings_of(share):
        got = mxref.encode(values, format, rounding=rounding, overflow=overflow)
        want = [exact.encode(b, source, format, rounding, overflow) for b in bits]
        assert differences(bits, got, want) == [], rounding


@pytest.mark.sampled(12)
@pytest.mark.parametrize("target", LAYOUTS)
@pytest.mark.parametrize("block", BLOCK_FORMATS)
def test_dequantize_of_every_scale_with_every_code(block: str, target: str) -> None:
    fmt, layout = BLOCK_FORMATS[block], LAYOUTS[target]
    count = fmt.element.code_count
    size = max(count, 32)
    codes = np.resize(np.arange(count, dtype=np.uint8), (256, size))
    scales = np.arange(256, dtype=np.uint8)[:, np.newaxis]
    whole = mxref.formats.BlockFormat(fmt.name, fmt.element, fmt.scale, size)
    blocks = mxref.Blocks(codes, scales, whole, 1, codes.shape)
    got = blocks.dequantize(layout.dtype).view(layout.uint)[:, :count]
    for scale in range(256):
        want = [exact.dequantize(scale, c, fmt.element.name, target) for c in range(count)]
        alone = blocks[scale : scale + 1].dequantize(layout.dtype).view(layout.uint)[0, :count]
        for found in (got[scale], alone):
            assert differences(list(range(count)), found, want) == [], f"scale {scale:02x}"


@pytest.mark.sampled(12)
@pytest.mark.parametrize("source", LAYOUTS)
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_encode_scale(source: str, rounding: str) -> None:
    layout = LAYOUTS[source]
    bits = list(range(1 << 16)) if layout.width == 16 else every_exponent(layout)
    bits += models.encode_scale_inputs(layout)
    got = mxref.encode_scale(floats(bits, layout), scale_rounding=rounding)
    assert differences(bits, got, [exact.encode_scale(b, source, rounding) for b in bits]) == []


@pytest.mark.parametrize("target", LAYOUTS)
@pytest.mark.parametrize("format", CODED)
def test_decode_of_every_code(format: str, target: str) -> None:
    layout, fmt = LAYOUTS[target], code_format(format)
    for zero in ("kept", "dropped"):
        got = mxref.decode(np.arange(fmt.code_count), format, layout.dtype, decoded_zero=zero)
        want = [exact.decode(c, format, target, decoded_zero=zero) for c in range(fmt.code_count)]
        assert got.view(layout.uint).tolist() == want


@pytest.mark.parametrize("target", LAYOUTS)
def test_decode_scale_of_every_code(target: str) -> None:
    layout = LAYOUTS[target]
    assert READS["decode_scale"] == ("scale_00", "scale_ff")
    for low, high in itertools.product(*map(Policy.members, READS["decode_scale"])):
        choices = {"scale_00": low.value, "scale_ff": high.value}
        got = mxref.decode_scale(np.arange(256), layout.dtype, **choices).view(layout.uint)
        want = [exact.decode_scale(code, target, **choices) for code in range(256)]
        assert differences(list(range(256)), got, want) == [], choices


@pytest.mark.sampled(6)
@pytest.mark.parametrize("source", LAYOUTS)
@pytest.mark.parametrize("format", FORMATS)
def test_shared_scale_of_floor(format: str, source: str) -> None:
    layout = LAYOUTS[source]
    every = range(layout.inf_bits + 3) if layout.width == 16 else every_exponent(layout)
    bits = [b for b in every if b < layout.sign_bit]
    bits += list(models.shared_scale_inputs(layout, ELEMENT_FORMATS[format]))
    got = mxref.shared_scale(floats(bits, layout), format)
    want = [exact.shared_scale(b, source, format) for b in bits]
    assert differences(bits, got, want) == []

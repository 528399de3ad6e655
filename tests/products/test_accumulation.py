"""Adders against their slow twin, bit for bit, and by bytes that follow from the definitions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from mxref.exact.adders import accumulation
from mxref.formats.catalog import ELEMENT_FORMATS
from mxref.policy.choices import Accumulation
from mxref.products.accumulation import accumulated
from mxref.products.operand import Operand

ADDERS = [how for how in Accumulation if how is not Accumulation.EXACT]
FP8 = ("e5m2", "e4m3")
FORMATS = {
    **dict.fromkeys(ADDERS, tuple(ELEMENT_FORMATS)),
    Accumulation.ALIGNED_25: (*FP8, "e3m2", "e2m3", "e2m1"),
    Accumulation.ALIGNED_35: ("e2m1",),
    Accumulation.ALIGNED_13: FP8,
}
CASES = [
    pytest.param(how, *pair, id=f"{how.value}-{'-'.join(pair)}")
    for how in ADDERS
    for pair in itertools.product(FORMATS[how], repeat=2)
]
LENGTHS = (1, 2, 5, 31, 32, 33, 64, 71, 96, 130)
#: Scales of a and b: ordinary ones, the ends, sums around the exponent that a zero counts with, and
#: sums where float32 overflows.
SCALES = [
    (0x7F, 0x7F),
    (0x00, 0xFE),
    (0xFE, 0xFE),
    (0x00, 0x00),
    (0x3A, 0x3F),
    (0x01, 0x78),
    (0xFE, 0x83),
    (0xB0, 0xC4),
]


def side(format: str, codes: np.ndarray, scales: np.ndarray, run: int = 32) -> Operand:
    """Rows of codes, filled with code 00 to whole runs."""
    rows, length = codes.shape
    filled = np.zeros((rows, -(-length // run) * run), np.uint8)
    filled[:, :length] = codes
    return Operand(ELEMENT_FORMATS[format], filled, scales, run, length)


def finite(format: str) -> np.ndarray:
    fmt = ELEMENT_FORMATS[format]
    specials = (*fmt.nan_codes, *({fmt.inf_code, (fmt.inf_code or 0) | fmt.sign_bit}))
    return np.array([code for code in range(fmt.code_count) if code not in specials], np.uint8)


def ends(format: str) -> np.ndarray:
    """Both zeros, ends of the subnormals and of the normals, and 1, with both signs."""
    fmt = ELEMENT_FORMATS[format]
    one = fmt.bias << fmt.mantissa_bits
    normal = 1 << fmt.mantissa_bits
    magnitudes = np.array([0, 1, normal - 1, normal, one, fmt.max_code, fmt.max_code], np.uint8)
    return np.concatenate([magnitudes, magnitudes | fmt.sign_bit]) & np.uint8(fmt.code_count - 1)


def drawn(
    formats: tuple[str, str], length: int, rows: int, state: np.random.Generator, run: int = 32
) -> tuple[Operand, Operand]:
    """Rows of random codes, of codes at the ends, and few among zeros; the scales of SCALES."""
    sides: list[list[np.ndarray]] = [[], []]
    runs = -(-length // run)
    pairs = np.array(SCALES)[state.integers(len(SCALES), size=(2 * rows, runs))]
    pairs[:rows] = np.array(SCALES)[state.integers(len(SCALES), size=(rows, 1))]
    near = pairs + state.integers(-9, 10, pairs.shape)
    scales = np.clip(np.where(state.random(pairs.shape) < 0.5, pairs, near), 0, 254)
    for codes, format in zip(sides, formats, strict=True):
        for pool in (finite(format), ends(format)):
            some = state.choice(pool, (rows, length))
            codes.append(np.where(state.random((rows, 1)) < 0.8, some, 0).astype(np.uint8))
        few = state.random((rows, length)) < 4 / length
        codes[1] = np.where(few | (state.random((rows, 1)) < 0.5), codes[1], 0).astype(np.uint8)
    a, b = (
        side(format, np.concatenate(codes), scales[..., place].astype(np.uint8), run)
        for place, (format, codes) in enumerate(zip(formats, sides, strict=True))
    )
    return a, b


def differences(a: Operand, b: Operand, how: Accumulation) -> list[str]:
    """Where the fast path and the slow twin differ."""
    found = accumulated(a, b, how).view(np.uint32)
    formats = (a.format.name, b.format.name, how.value, a.run)
    codes = [operand.codes[:, : operand.length].tolist() for operand in (a, b)]
    scales = [operand.scales.tolist() for operand in (a, b)]
    return [
        f"{x} {s} {y} {t}: {found[i, j]:08x}, {bits:08x}"
        for i, (x, s) in enumerate(zip(codes[0], scales[0], strict=True))
        for j, (y, t) in enumerate(zip(codes[1], scales[1], strict=True))
        if found[i, j] != (bits := accumulation(x, y, s, t, *formats))
    ]


def row(text: str, scales: str = "7f", format: str = "e4m3", length: int = 0) -> Operand:
    """One row of codes in hexadecimal, filled up to a length, and its scales."""
    codes = np.frombuffer(bytes.fromhex(text), np.uint8)
    codes = np.pad(codes, (0, max(length - len(codes), 0)))
    return side(format, codes[None], np.frombuffer(bytes.fromhex(scales), np.uint8)[None])


@pytest.mark.sampled(28)
@pytest.mark.parametrize(("how", "format_a", "format_b"), CASES)
def test_all_pairs_equal_the_slow_twin(how: Accumulation, format_a: str, format_b: str) -> None:
    state = np.random.default_rng([ADDERS.index(how), *format_a.encode(), *format_b.encode()])
    for length in LENGTHS:
        a, b = drawn((format_a, format_b), length, 2, state)
        assert differences(a, b, how) == []


@pytest.mark.parametrize("how", ADDERS)
def test_every_adder_equals_the_slow_twin(how: Accumulation) -> None:
    state = np.random.default_rng(ADDERS.index(how))
    formats = FORMATS[how][0], FORMATS[how][-1]
    for length in (3, 96, 130):
        a, b = drawn(formats, length, 4, state)
        assert differences(a, b, how) == []


@pytest.mark.parametrize("how", [h for h in ADDERS if not h.value.startswith("aligned")])
@pytest.mark.parametrize("run", [1, 3, 16])
def test_short_runs(how: Accumulation, run: int) -> None:
    a, b = drawn(("e4m3", "int8"), 19, 3, np.random.default_rng(run), run)
    assert differences(a, b, how) == []

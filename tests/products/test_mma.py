"""Products of plain arrays as matrix units give them, against their slow twin, and by hand."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from plain_rows import PLAIN, before, drawn, pairs, with_few_specials, words

import mxref
from mxref import ADDERS, Adder, mma
from mxref.exact.adder_steps import UNITS, Unit, multiplied

E4M3, E5M2 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
LENGTHS = (1, 3, 8, 16, 17, 32, 33, 70, 128)


def differences(
    a: Any, b: Any, c: Any, formats: tuple[str, str], adder: str | Adder, unit: str | Unit
) -> list[str]:
    """Where the fast path and the slow twin differ."""
    found = words(mma(a, b.T, c, adder=adder))
    none = np.zeros(found.shape, found.dtype)
    rows = words(a).tolist(), words(b).tolist(), (none if c is None else words(c)).tolist()
    return [
        f"{x} {y} {rows[2][i][j]:x}: {found[i, j]:x}, {bits:x}"
        for (i, x), (j, y) in itertools.product(enumerate(rows[0]), enumerate(rows[1]))
        if found[i, j] != (bits := multiplied(x, y, rows[2][i][j], *formats, unit))
    ]


@pytest.mark.parametrize("name", PLAIN)
def test_named_adders_equal_the_slow_twin(name: str) -> None:
    for formats in pairs(name):
        state = np.random.default_rng([*name.encode(), *"-".join(formats).encode()])
        for length in LENGTHS:
            a, b = (drawn(state, one, (3, length), special=length == 8) for one in formats)
            if length in (17, 70):
                with_few_specials(state, a)
                with_few_specials(state, b)
            c = before(state, ADDERS[name].output, (3, 3)) if length % 3 else None
            assert differences(a, b, c, formats, name, name) == []


@pytest.mark.parametrize("name", PLAIN)
def test_the_slow_twin_has_the_same_points(name: str) -> None:
    adder, unit = ADDERS[name], UNITS[name]
    kinds = {
        "tree": adder.tree, "exact": adder.fraction_bits is None, "halves": adder.halves,
        "later": adder.later_bits is not None, "aligned": True,
    }  # fmt: skip
    assert next(kind for kind, holds in kinds.items() if holds) == unit.kind
    assert (adder.step, adder.output) == (unit.step, unit.output)


@pytest.mark.parametrize(
    ("change", "unit"),
    [
        ({"fraction_bits": 12}, {"bits": 12}),
        ({"fraction_bits": 14, "output_bits": 20}, {"bits": 14, "kept": 20}),
        ({"zero_exponent": -140}, {"zero": -140}),
        ({"step": 8}, {"step": 8}),
        ({"promotion": 64}, {"promotion": 64}),
        ({"promotion": 128}, {"promotion": 128}),
    ],
)
def test_other_points_equal_the_slow_twin(change: dict[str, Any], unit: dict[str, Any]) -> None:
    adder = dataclasses.replace(ADDERS["hopper_fp8"], **change)
    slow = UNITS["hopper_fp8"]._replace(**unit)
    state = np.random.default_rng(5)
    for length in (31, 64, 200):
        a, b = (drawn(state, "e5m2", (4, length)) for _ in range(2))
        for c in (None, before(state, "f32", (4, 4))):
            assert differences(a, b, c, ("e5m2", "e5m2"), adder, slow) == []


def row(dtype: Any, length: int, **numbers: float) -> np.ndarray:
    """Zeros, but numbers at places: row(E4M3, 64, at_0=1.0)."""
    found = np.zeros((1, length), dtype)
    for place, number in numbers.items():
        found[0, int(place[3:])] = number
    return found


def test_hopper_loses_what_the_next_step_adds_to_a_large_sum() -> None:
    """1 + 2**-15 of two steps of 32 is 1 on Hopper, since 1 is a term of the second step."""
    a = row(E4M3, 64, at_0=1, at_32=2.0**-9)
    b = row(E4M3, 64, at_0=1, at_32=2.0**-6)
    assert mma(a, b.T, adder="hopper_fp8").item() == 1
    blocks = [mxref.Blocks(words(x), np.full((1, 2), 127, np.uint8), mxref.formats.block_format(
        "mxfp8_e4m3"), 1, (1, 64)) for x in (a, b)]  # fmt: skip
    for how in ("exact", "aligned_13", "aligned_25"):
        assert mxref.matmul(blocks[0], blocks[1].T, accumulation=how).item() == 1 + 2.0**-15


@pytest.mark.parametrize(
    ("adder", "last", "bits"),
    [
        # 1 less 2**last, of which 1 is the sum so far: the last place that counts.
        ("hopper_fp8", -13, 0x3F7FF800),
        ("hopper_fp8", -14, 0x3F800000),
        ("ada_fp8", -13, 0x3F7FF800),
        ("ada_fp8", -14, 0x3F800000),
        ("blackwell_f8f6f4", -25, 0x3F7FFFFF),
        ("blackwell_f8f6f4", -26, 0x3F800000),
    ],
)
def test_the_last_place_that_counts(adder: str, last: int, bits: int) -> None:
    a, b = row(E5M2, 1, at_0=-(2.0 ** (last // 2))), row(E5M2, 1, at_0=2.0 ** (last - last // 2))
    assert words(mma(a, b.T, np.ones((1, 1), np.float32), adder=adder)).item() == bits


@pytest.mark.parametrize(
    ("adder", "zero"),
    [("hopper_f16", -133), ("ampere_f16", -132), ("cdna3_f16", None)],
)
def test_the_exponent_of_a_zero(adder: str, zero: int | None) -> None:
    """2**-149 less a number at the last place below the exponent of the zeros beside it."""
    bits = ADDERS[adder].fraction_bits or 0
    a = row(ml_dtypes.bfloat16, 2, at_0=2.0**-75, at_1=-(2.0**-85))
    for less in (0, 1):
        last = (zero if zero is not None else -149) - bits - less
        b = row(ml_dtypes.bfloat16, 2, at_0=2.0**-74, at_1=2.0 ** (last + 85))
        found = words(mma(a, b.T, adder=adder)).item()
        # Toward zero or to nearest: what is less than 2**-149 by more than a half of it is 0.
        assert found == (less if zero is not None else 1)


def test_a_matrix_may_lie_in_any_order_of_bytes_and_axes() -> None:
    state = np.random.default_rng(3)
    a, b = drawn(state, "f16", (5, 40)), drawn(state, "f16", (4, 40))
    whole = words(mma(a, b.T, adder="hopper_f16"))
    for x in (a.astype(">f2"), np.asfortranarray(a), np.repeat(a, 2, axis=1)[:, ::2]):
        assert np.array_equal(words(mma(x, b.T, adder="hopper_f16")), whole)


def test_parts_and_threads_change_nothing() -> None:
    state = np.random.default_rng(2)
    a, b = drawn(state, "e4m3", (70, 40)), drawn(state, "e4m3", (300, 40))
    whole = words(mma(a, b.T, adder="hopper_fp8"))
    out = np.empty((70, 300), np.float32)
    assert mma(a, b.T, adder="hopper_fp8", threads=2, out=out) is not None
    assert np.array_equal(words(out), whole)
    one = words(mma(a[66:67], b[280:281].T, adder="hopper_fp8"))
    assert one.item() == whole[66, 280]

"""Tables of codes by key and by binade: every route gives the steps that the slow twin has."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers import SMALL_FLOATS, sentence
from tables import rows

import mxref
from mxref import exact
from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.cases.steps import steps
from mxref.formats.catalog import E2M1, ELEMENT_FORMATS, element_format
from mxref.numbers import scale, source, table
from mxref.numbers.element import Elements
from mxref.numbers.scale_steps import OTHER, scale_steps
from mxref.policy.policy import READS, Policy

CODED = (*ELEMENT_FORMATS, "e4m3fnuz", "ue4m3")
#: Members that have no answer to some input, or that an operation refuses.
NOT_ANSWERED = {"stochastic_a", "stochastic_b", "stochastic_c", "error"}
TOGETHER = rows("numbers", "together")


def policies(op: str) -> list[str]:
    """Every member of every choice that the operation reads, and some together."""
    refused = NOT_ANSWERED | ({"wrap"} if op == "encode_scale" else set())
    single = [
        f"{name}={member.value}"
        for name in READS[op]
        for member in Policy.members(name)
        if member.value not in refused
    ]
    return [*single, *(policy for other, policy in TOGETHER if other == op)]


ROUTES = ("tables", "parts")


@dataclass
class NoSteps:
    """Steps of no scale: each amax that is a number is computed in parts."""

    layout: FloatLayout

    def words(self, amax: np.ndarray, out: np.ndarray) -> np.ndarray:
        out[...] = np.where(amax < self.layout.inf_bits, OTHER, 0xFF)
        return out


def take(route: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables for every call, or for none."""
    steps = scale_steps if route == "tables" else lambda *those: NoSteps(those[-1])
    monkeypatch.setattr(scale, "scale_steps", steps)
    monkeypatch.setattr(table, "_pays", lambda *_: route == "tables")


@pytest.fixture(params=ROUTES)
def route(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each of the two routes."""
    take(request.param, monkeypatch)
    chosen: str = request.param
    return chosen


def answers(op: str, bits: np.ndarray, layout: FloatLayout, format: str, policy: str) -> np.ndarray:
    numbers = bits.view(layout.dtype)
    if op == "encode":
        return mxref.encode(numbers, format, policy)
    if op == "encode_scale":
        return mxref.encode_scale(numbers, policy)
    return mxref.shared_scale(numbers, format, policy=policy)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("op", ["encode", "encode_scale", "shared_scale"])
@pytest.mark.parametrize("float", LAYOUTS)
def test_every_step_of_every_policy(op: str, float: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both sides of every step and numbers between: the function is monotone between them."""
    layout, generator = LAYOUTS[float], np.random.default_rng(8)
    formats = {"encode": CODED, "encode_scale": ("e8m0",), "shared_scale": tuple(ELEMENT_FORMATS)}
    for i, policy in enumerate(policies(op)):
        format = formats[op][i % len(formats[op])]
        found = steps(op, format, float, Policy.parse(f"ocp+{policy}"))
        begin = found.starts
        end = np.append(begin[1:] - np.uint64(1), np.uint64(found.end - 1))
        inside = begin + (generator.random((6, begin.size)) * (end - begin)).astype(np.uint64)
        inside = np.minimum(inside, end)
        bits = np.concatenate([begin, end, inside.reshape(-1)])
        want = np.concatenate([found.answers] * 8)
        if op == "shared_scale":  # of -0 and NaN the sign is not looked at
            sign = (bits == 0) | (bits > layout.inf_bits)
            bits = np.append(bits, bits[sign] | np.uint64(layout.sign_bit))
            want = np.append(want, want[sign])
        for route in ROUTES:
            take(route, monkeypatch)
            got = answers(op, bits.astype(layout.uint), layout, format, f"ocp+{policy}")
            wrong = np.flatnonzero(got != want)
            first = [hex(b) for b in bits[wrong[:3]].tolist()]
            assert not wrong.size, (route, policy, format, first)


def test_the_routes_are_the_ones_meant(route: str) -> None:
    x = np.ones(5, np.float32)
    assert mxref.encode(x, "e4m3").tolist() == [0x38] * 5
    assert mxref.shared_scale(x, "e4m3").tolist() == [119] * 5
    above = np.float64([1, np.nextafter(1, 2), 2])
    assert mxref.shared_scale(above, "e4m3", "ceil").tolist() == [119, 120, 120]
    calls = {made: made.cache_info() for made in (table.code_table, scale_steps)}
    mxref.encode(x, "e4m3")
    mxref.shared_scale(x, "e4m3")
    for made, before in calls.items():
        assert (made.cache_info() != before) == (route == "tables")


@pytest.mark.parametrize(("format", "bits"), [("e2m1", 15), ("int8", 20)])
def test_the_size_of_a_call_decides_alone(format: str, bits: int) -> None:
    """A table has 17 bits or 32 keys a number at most; whether it is there already says nothing."""
    first = 1 << bits - 5
    for size in (first, first - 1, first):
        before = table.code_table.cache_info()
        mxref.encode(np.ones(size), format)
        assert (table.code_table.cache_info() != before) == (size == first or bits <= 17)


def test_large_calls_look_up_what_is_not_rounded_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Through bfloat16 to E2M1 keys have 9 fraction bits, 18 bits: 2**18 / 32 numbers."""
    x = np.full(1 << 13, 1.25 + 2.0**-9, np.float32)
    assert set(mxref.encode(x, "e2m1", pre_rounding="bfloat16").tolist()) == {2}
    monkeypatch.setattr(source.Source, "numbers", None)
    assert set(mxref.encode(x, "e2m1", pre_rounding="bfloat16").tolist()) == {2}
    with pytest.raises(TypeError, match="not callable"):
        mxref.encode(x[1:], "e2m1", pre_rounding="bfloat16")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("float", LAYOUTS)
@pytest.mark.parametrize("format", ["e2m1", "int8", "e3m2"])
@pytest.mark.parametrize("choice", ["", "+int8_range=full", "+pre_rounding=float16"])
def test_nan_that_is_an_error(format: str, float: str, choice: str, route: str) -> None:
    layout = LAYOUTS[float]
    bits = np.arange(40_000).astype(layout.uint) % layout.uint.type(layout.inf_bits)
    bits[-1] = layout.inf_bits | layout.sign_bit
    numbers = bits.view(layout.dtype)

    def encoded() -> np.ndarray:
        return mxref.encode(numbers, format, f"ocp{choice}+nan_to_finite=error")

    assert (encoded() == mxref.encode(numbers, format, f"ocp{choice}")).all()
    for nan in (layout.inf_bits + 1, layout.sign_bit | layout.inf_bits + 1, layout.nan_bits):
        bits[39_990] = nan
        wrong = f"values must not be NaN under nan_to_finite=error: {format} has no NaN"
        assert sentence(ValueError, encoded) == wrong


INTEGERS = [
    np.dtype(f"{order}{kind}{size}")
    for order, kind, size in itertools.product("<>", "iu", (1, 2, 4, 8))
]


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers(dtype: np.dtype[Any], route: str) -> None:
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    numbers = {low, low + 1, high, high - 1, 0, *range(max(low, -50), 51)}
    numbers |= {n for k in range(64) for n in ((1 << k) - 1, 1 << k, (1 << k) + 1) if n <= high}
    values = np.array(sorted(numbers), dtype)
    before = values.tobytes()
    for format, policy in (
        *((name, "ocp") for name in ("e5m2", "int8")),
        ("e4m3", "ocp+pre_rounding=float16"),
        ("e2m1", "ocp+rounding=toward_negative+overflow=nonsaturating"),
    ):
        got = mxref.encode(values, format, policy)
        assert values.tobytes() == before
        for n, code in zip(values.tolist(), got.tolist(), strict=True):
            rounded = n if abs(n) < 1 << 53 else n | 1  # beyond every format's numbers
            bits = int(np.array([rounded], np.float64).view(np.uint64)[0])
            choices = dict(part.split("=") for part in policy.split("+")[1:])
            assert code == exact.encode(bits, "f64", format, **choices), (n, format)


@pytest.mark.parametrize("name", SMALL_FLOATS)
def test_small_floats_are_encoded_as_the_numbers_they_are(name: str, route: str) -> None:
    codes = np.arange(element_format(name).code_count, dtype=np.uint8)
    every = codes.view(SMALL_FLOATS[name])
    wide = every.astype(np.float64)
    for policy in ("ocp", "ocp+pre_rounding=float16", "ocp+rounding=to_odd+overflow=propagate"):
        for format in ("e2m1", "e5m2", "e4m3fnuz"):
            want = mxref.encode(wide, format, policy)
            assert (mxref.encode(every, format, policy) == want).all()
    turned = mxref.encode(every[::-1].reshape(4, -1).T, "e5m2")
    assert (turned == mxref.encode(wide[::-1].reshape(4, -1).T, "e5m2")).all()
    assert mxref.encode(every[3], "e5m2").shape == ()
    # The twin reads the codes themselves; NaN keeps its sign.
    for format in ("e5m2", "e4m3", "e2m1", "int8"):
        chosen = {"nan": "signed", "nan_to_finite": "signed_max", "subnormal_inputs": "flushed"}
        want = [exact.encode(int(c), name, format, **chosen) for c in codes]
        assert mxref.encode(every, format, **chosen).tolist() == want


def test_bfloat16_of_ml_dtypes_and_other_byte_orders() -> None:
    x = np.linspace(-9, 9, 70_000, dtype=np.float32)
    want = mxref.encode(x, "e3m2")
    assert (mxref.encode(x.astype(">f4"), "e3m2") == want).all()
    assert (mxref.encode(x.astype(">f8"), "e3m2") == want).all()
    narrow = x.astype(ml_dtypes.bfloat16)
    assert (mxref.encode(narrow, "e3m2") == mxref.encode(narrow.astype(np.float32), "e3m2")).all()


def test_a_table_cannot_be_written_to() -> None:
    for layout in LAYOUTS.values():
        made = table.code_table(Elements(E2M1, Policy().element), layout)
        assert not made.codes.flags.writeable

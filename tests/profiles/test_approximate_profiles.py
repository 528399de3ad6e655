"""Profiles of kernels with approximate reciprocals: what they answer, and what they admit.

What is expected is computed with NumPy's own float32 and ml_dtypes' casts, which mxref does not
use; what is admitted, by trying every float32 number within an ulp of each reciprocal.
"""

from __future__ import annotations

import itertools
import types
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from nvfp4_casts import numbers, to_codes, to_scales
from thresholds import amaxes, at_thresholds, count_at_thresholds, with_specials

import mxref
from mxref.bits.floats import LAYOUTS
from mxref.blocks.two_level import TensorScale, TensorScaleKind
from mxref.cases.read import vectors_folder
from mxref.conformance import Extent, check, target_of
from mxref.conformance.compare.compare import run_file
from mxref.conformance.fuzzing.fuzz import fuzz
from mxref.formats.catalog import block_format
from mxref.profiles.stages import Rows
from mxref.targets.asked_files import read_for

F = np.float32
#: A reciprocal, and one that is taken inside another.
Reciprocal = Callable[[np.ndarray], np.ndarray]


def flushed(x: np.ndarray) -> np.ndarray:
    return np.where(np.abs(x) < F(2.0**-126), np.copysign(F(0), x), x).astype(F)


def nearest(x: np.ndarray) -> np.ndarray:
    """As CUTLASS has it on a host: rounded to nearest, subnormals are 0."""
    return flushed(F(1) / flushed(x))


def cutlass(x: np.ndarray, g: np.float32, codes: Any, one: Reciprocal, _: Reciprocal) -> Any:
    sixth = one(F([6]))
    scales = to_scales(np.max(np.abs(x), axis=1) * (g * sixth))
    stored = scales if codes is None else codes
    by = np.minimum(g * one(numbers(stored)), np.finfo(F).max)
    return scales, to_codes(x * by[:, np.newaxis])


def flashinfer(x: np.ndarray, g: np.float32, codes: Any, one: Reciprocal, two: Reciprocal) -> Any:
    x, g = flushed(np.where(np.isnan(x), F(np.nan), x)), flushed(g)  # no signalling NaN
    size = np.abs(x)
    amax = np.where(np.isnan(x).all(axis=1), F(np.nan), np.fmax.reduce(size, axis=1))
    scales = to_scales(flushed(g * flushed(amax * one(F([6])))))
    stored = scales if codes is None else codes
    by = np.where(amax == 0, F(0), one(flushed(numbers(stored) * two(np.atleast_1d(g)))))
    return scales, to_codes(flushed(x * flushed(by)[:, np.newaxis]))


KINDS: dict[str, tuple[Callable[..., Any], Any]] = {
    "cutlass_nvfp4": (cutlass, F),
    "flashinfer_nvfp4_kernel": (flashinfer, ml_dtypes.bfloat16),
}
NAMES = pytest.mark.parametrize("name", KINDS)


def divisor(g: float) -> TensorScale:
    return TensorScale(int(F(g).view(np.uint32)), TensorScaleKind.DIVISOR)


def compare(name: str, x: np.ndarray, g: float) -> int:
    formula, source = KINDS[name]
    x = x.astype(source)
    with np.errstate(all="ignore"):
        scales, codes = formula(x.astype(F), F(g), None, nearest, nearest)
    blocks = mxref.profile(name).quantize(x, "nvfp4", tensor_scale=divisor(g))
    assert np.array_equal(blocks.scale_codes[:, 0], scales)
    assert np.array_equal(blocks.codes, codes)
    return int(codes.size)


@NAMES
def test_a_million_codes_as_a_host_gives_them(name: str) -> None:
    compared = near = 0
    for amax in amaxes(22).tolist():
        x, g = at_thresholds(amax), 2688 / amax
        if g < 2.0**128:
            compared += compare(name, x, g)
            near += count_at_thresholds(x, amax)
    for spread in (0, 8, 30):
        generator = np.random.default_rng(spread)
        powers = generator.integers(-spread, spread + 1, (4096, 1)).astype(np.int32)
        x = np.ldexp(generator.standard_normal((4096, 16), F), powers)
        compared += compare(name, x, 2688 / 3.7)
    print(f"{compared} codes compared, {near} of them at thresholds")
    assert compared > 800_000
    assert near > 0.3 * compared


@NAMES
@pytest.mark.parametrize("g", [1.0, 448.0, 2.0**-126, 2.0**-130, 2.0**127, 1e30])
def test_specials(name: str, g: float) -> None:
    for x in with_specials():
        compare(name, x, g)


@cache
def within_an_ulp(x: float) -> tuple[float, ...]:
    """Every float32 number within an ulp of 1 / x, as PTX has it, some steps from the nearest."""
    near = float(nearest(F([x]))[0])
    if not 0 < x < np.inf or not 0 < near < np.inf:
        return (near,)
    exact, power = 1 / Fraction(x), 0
    while Fraction(2) ** power > exact:
        power -= 1
    while Fraction(2) ** (power + 1) <= exact:
        power += 1
    word = int(F(near).view(np.uint32))
    some = np.arange(word - 4, word + 5, dtype=np.uint32).view(F).tolist()
    unit = Fraction(2) ** (power - 23)
    return tuple(one for one in some if abs(Fraction(one) - exact) <= unit)


def choices(x: float) -> Iterator[Reciprocal]:
    """Reciprocals that take the first, second, ... of the numbers that are possible."""
    for i in range(4):

        def one(values: np.ndarray, i: int = i) -> np.ndarray:
            some = (within_an_ulp(float(value)) for value in values.reshape(-1))
            return F([each[min(i, len(each) - 1)] for each in some]).reshape(values.shape)

        yield one


@NAMES
@pytest.mark.parametrize("g", [1.0, 2688 / 3.7, 448.0, 1.37e-3])
def test_bounds_are_those_of_every_reciprocal(name: str, g: float) -> None:
    """The lowest and the highest of all answers are the bounds; there is no answer outside."""
    formula, source = KINDS[name]
    x = at_thresholds(2688 / g)[::5].astype(source).astype(F)
    own, _ = formula(x, F(g), None, nearest, nearest)
    found = [formula(x, F(g), own, *pair) for pair in itertools.product([*choices(1)], repeat=2)]
    scales = np.stack([one for one, _ in found])
    sizes = np.stack([codes & 7 for _, codes in found])
    profile = mxref.profile(name)
    fmt = block_format("nvfp4")
    rows = Rows.of(x.view(np.uint32), LAYOUTS["f32"], fmt.element, profile.policy)
    assert profile.stages.bounds is not None
    (low, least), (high, most) = profile.stages.bounds(rows, np.array([float(F(g))]), fmt, own)
    assert np.array_equal(low, scales.min(axis=0))
    assert np.array_equal(high, scales.max(axis=0))
    assert np.array_equal(least & 7, sizes.min(axis=0))
    assert np.array_equal(most & 7, sizes.max(axis=0))
    # Products of bfloat16 numbers lie beside ties only where the scale does.
    assert (least != most).any() or source is not F


def kernel(name: str, shift: Callable[[np.ndarray], np.ndarray]) -> Any:
    """A kernel whose reciprocals are the nearest ones, changed."""
    formula, source = KINDS[name]

    def reciprocal(x: np.ndarray) -> np.ndarray:
        near = nearest(x)
        plain = np.isfinite(near) & (near > 0)
        return np.where(plain, shift(x), near).astype(F)

    def quantize(values: np.ndarray, format: str, *tensor_scale: Any) -> Any:
        with np.errstate(all="ignore"):
            return formula(values.astype(F), F(*tensor_scale or [1]), None, reciprocal, reciprocal)

    floats = ["f32"] if source is F else ["bf16"]
    own = {"FORMATS": ["nvfp4", "fp4_ue4m3"], "FLOATS": floats, "PROFILE": name}
    return types.SimpleNamespace(quantize=quantize, **own)


def up_or_down(x: np.ndarray) -> np.ndarray:
    """The float32 number above 1 / x for about half of all numbers, or else that below."""
    near = nearest(x)
    over = near.astype(np.float64) * x.astype(np.float64) > 1
    up = np.where(over, near, np.nextafter(near, F(np.inf)))
    down = np.where(over, np.nextafter(near, F(0)), near)
    odd = (flushed(x).view(np.uint32) * np.uint32(2654435761)) >> np.uint32(31) == 1
    return np.where(odd, up, down)


def too_far(x: np.ndarray) -> np.ndarray:
    """A reciprocal in bfloat16."""
    return nearest(x).astype(ml_dtypes.bfloat16).astype(F)


@NAMES
def test_verify_and_fuzz_accept_what_is_within_an_ulp(name: str) -> None:
    target = target_of(kernel(name, up_or_down), "kernel")
    files = [*read_for(vectors_folder(), target, target.policy)]
    report = check(target, files, extent=Extent(elements=20_000))
    assert sum(len(one.file.cases) for row in report.rows for one in row.outcomes) > 100
    assert not any(one.failures for row in report.rows for one in row.outcomes)
    assert not any(row.found for row in fuzz(target, ops=["quantize"], examples=40))


@NAMES
def test_vectors_and_fuzz_refuse_what_is_not(name: str) -> None:
    target, model = target_of(kernel(name, too_far), "kernel"), mxref.profile(name)
    files = read_for(vectors_folder(), target, target.policy)
    covered = [one for one in files if one.cases and one.op == "quantize"]
    assert any(run_file(target, one, target.policy, model).failures for one in covered)
    assert any(row.found for row in fuzz(target, ops=["quantize"], examples=40))

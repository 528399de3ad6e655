"""Strategies of floats: interesting bit patterns, numbers next to thresholds, and arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from hypothesis import strategies as st

from mxref.bits import simplicity
from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.cases.grid import grid
from mxref.cases.steps import changes
from mxref.formats.catalog import E8M0, code_format, element_format
from mxref.policy.policy import Policy
from mxref.policy.scale_rule import ScaleRule
from mxref.support.text import unknown_name

__all__ = [
    "around",
    "layout_named",
    "limit_patterns",
    "near_scale_limits",
    "near_thresholds",
    "numbers",
    "one_branch",
    "patterns",
    "ranges",
    "rows",
    "signs",
    "stretches",
    "threshold_patterns",
    "values",
]

_T = TypeVar("_T")


def patterns(
    float: str = "f32", *, allow_nan: bool = True, allow_infinity: bool = True
) -> st.SearchStrategy[int]:
    """Bit patterns of a float type, most of them edge cases.

    They are zeros, numbers of few bits, ends of binades, subnormals, the largest numbers,
    infinities, and quiet and signalling NaNs with payloads, of both signs. They shrink to zero; if
    that passes, to one; else to a number with a short significand near one.

    Args:
        float: `f32`, `f16`, `bf16` or `f64`.
        allow_nan: whether NaNs are drawn.
        allow_infinity: whether infinities are drawn.

    Raises:
        ValueError: unknown float type.

    >>> from hypothesis import find, settings
    >>> quiet = settings(database=None, derandomize=True)
    >>> large = find(patterns("f32"), lambda bits: 0x43700000 < bits < 0x7F800000, settings=quiet)
    >>> f"{large:08x}"  # 256
    '43800000'
    """
    layout = layout_named(float)
    low, high = simplicity.lowest_exponent(layout), layout.bias
    ends = (low, low + 1), (layout.emin - 1, layout.emin), (high - 1, high)
    beyond = [(high, high + 1)] * (allow_nan or allow_infinity)
    near = [(max(low, -reach), min(high, reach)) for reach in (4, 12, 30)]
    found = numbers(layout, [(low, high + len(beyond)), *near, *ends, *beyond])

    def allowed(bits: int) -> bool:
        above = (bits & (layout.sign_bit - 1)) - layout.inf_bits
        return above < 0 or (allow_nan if above else allow_infinity)

    every = one_branch(signs(layout), *found)  # zeros first
    return every if allow_nan == allow_infinity else every.filter(allowed)


def values(
    float: str = "f32",
    shape: int | tuple[int, ...] | st.SearchStrategy[tuple[int, ...]] | None = None,
    bits: st.SearchStrategy[int] | None = None,
) -> st.SearchStrategy[Any]:
    """Floats with bit patterns of a strategy: NumPy scalars, or arrays of a shape.

    The dtype is `numpy.float32`, `numpy.float16`, `ml_dtypes.bfloat16` or `numpy.float64`. An array
    repeats up to eight different numbers.

    Args:
        float: `f32`, `f16`, `bf16` or `f64`.
        shape: shape of the array, or a strategy of shapes; None for scalars.
        bits: a strategy of patterns; `patterns(float)` if None.

    Raises:
        ValueError: unknown float type.

    >>> from hypothesis import find, settings
    >>> quiet = settings(database=None, derandomize=True)
    >>> find(values("f16", (2, 3)), lambda array: (array > 3).any(), settings=quiet)
    array([[4., 4., 4.],
           [4., 4., 4.]], dtype=float16)
    """
    layout = layout_named(float)
    words = patterns(float) if bits is None else bits
    if shape is None:
        return words.map(lambda word: np.array(word, layout.uint).view(layout.dtype)[()])
    if isinstance(shape, st.SearchStrategy):
        return shape.flatmap(lambda one: values(float, one, words))
    size = math.prod((shape,) if isinstance(shape, int) else shape)
    return st.lists(words, min_size=1, max_size=8).map(
        lambda some: np.resize(np.array(some, layout.uint), size).view(layout.dtype).reshape(shape)
    )


def near_thresholds(
    format: str, float: str = "f32", policy: str | Policy = "ocp"
) -> st.SearchStrategy[int]:
    """Bit patterns at every threshold of `encode`, and one ulp to both sides of it.

    Every number of the format and every midpoint are among the points, up to the one past the
    largest number. The thresholds are exact, for both signs, under any policy with a deterministic
    rounding: they are found by bisection of `mxref.exact`.

    Args:
        format: an element format, or `e8m0` for the thresholds of `encode_scale`.
        float: `f32`, `f16`, `bf16` or `f64`.
        policy: a `Policy` or its spelling.

    Raises:
        ValueError: unknown format, float type or policy, or a stochastic rounding.

    >>> from hypothesis import find, settings
    >>> quiet = settings(database=None, derandomize=True)
    >>> near = near_thresholds("e2m1", "f32")
    >>> find(near, lambda bits: bits == 0x3FA00001, settings=quiet)  # 1.25, a tie, and one ulp
    1067450369
    """
    return st.sampled_from(threshold_patterns(format, float, policy))


def near_scale_limits(
    format: str, float: str = "f32", rule: str = "floor", policy: str | Policy = "ocp"
) -> st.SearchStrategy[int]:
    """Bit patterns of amax at which a scale rule goes up, and one ulp to both sides of each.

    Args:
        format: an element format.
        float: `f32`, `f16`, `bf16` or `f64`.
        rule: a scale rule, see `mxref.policy.scale_rule`.
        policy: a `Policy` or its spelling, for the other choices of the scale.

    Raises:
        ValueError: unknown format, float type, rule or policy.

    >>> from hypothesis import find, settings
    >>> quiet = settings(database=None, derandomize=True)
    >>> limits = near_scale_limits("e4m3", "f32", "rceil")
    >>> amax = find(limits, lambda bits: bits > 0x3F800000 and bits % 2, settings=quiet)
    >>> f"{amax:08x}"  # one ulp above 448 * 2**-8
    '3fe00001'
    """
    return st.sampled_from(limit_patterns(format, float, rule, policy))


def threshold_patterns(format: str, float: str, policy: str | Policy) -> list[int]:
    """The patterns that `near_thresholds` draws from."""
    layout = layout_named(float)
    chosen = Policy.parse(policy) if isinstance(policy, str) else policy
    if format == E8M0.name:
        found = changes("encode_scale", format, float, chosen)
        return around((bits | sign for bits in found for sign in (0, layout.sign_bit)), layout)
    if chosen.element.rounding.stochastic:
        got = chosen.element.rounding.value
        raise ValueError(f"policy must have a deterministic rounding, got {got}")
    fmt = code_format(format)
    numbers, middles = grid(fmt, layout)
    points = [bits | sign for bits in (*numbers, *middles) for sign in (0, layout.sign_bit)]
    return around((*points, *changes("encode", fmt.name, float, chosen)), layout)


def limit_patterns(format: str, float: str, rule: str, policy: str | Policy) -> list[int]:
    """The patterns that `near_scale_limits` draws from."""
    layout, fmt = layout_named(float), element_format(format)
    chosen = Policy.parse(policy) if isinstance(policy, str) else policy
    if rule != ScaleRule.FLOOR.value:
        chosen = chosen.replace(scale_rule=rule)
    return around(changes("shared_scale", fmt.name, float, chosen), layout)


def layout_named(name: str) -> FloatLayout:
    """The float type of a name."""
    if name not in LAYOUTS:
        raise ValueError(unknown_name("float", name, LAYOUTS))
    return LAYOUTS[name]


def signs(layout: FloatLayout) -> st.SearchStrategy[int]:
    """Zero or the sign bit."""
    return st.sampled_from((0, layout.sign_bit))


def numbers(
    layout: FloatLayout, exponents: Sequence[tuple[int, int]]
) -> list[st.SearchStrategy[int]]:
    """Strategies of numbers: any, short, next to the ends of binades, with one distant bit.

    Exponents lie in one of the ranges. The first range contains the others, so that every number
    shrinks within it. The exponent above the largest stands for infinity, or NaN with that
    fraction.
    """
    m = layout.mantissa_bits
    top = (1 << m) - 1
    one_bit = [(1 << bit, (1 << bit) + 7) for bit in range(m - 1, 4, -max(1, m // 12))]
    pairs = [(some, one) for some in ((0, top), (0, 31), (top - 3, top)) for one in exponents]
    pairs += [((0, 1), exponents[-1])]  # infinity, the quiet NaN
    pairs += [(some, exponents[-1 if len(exponents) < 3 else 2]) for some in one_bit]

    def built(fraction: int, exponent: int, sign: int) -> int:
        return simplicity.number(layout, fraction, exponent) | sign

    sign = signs(layout)
    return [st.builds(built, st.integers(*some), st.integers(*one), sign) for some, one in pairs]


def one_branch(*strategies: st.SearchStrategy[int]) -> st.SearchStrategy[int]:
    """One of some strategies; joined to others by ``|``, they have the weight of one strategy."""
    return st.builds(int, st.one_of(strategies))


def ranges(*ranges: tuple[int, int]) -> st.SearchStrategy[int]:
    """Integers of one of some ranges."""
    return st.one_of([st.integers(*one) for one in ranges])


def around(points: Iterable[int], layout: FloatLayout) -> list[int]:
    """Points and their neighbours, the simplest first, without NaNs."""
    near = {
        point & layout.sign_bit | magnitude
        for point in points
        for side in (-1, 0, 1)
        if 0 <= (magnitude := (point & (layout.sign_bit - 1)) + side) <= layout.inf_bits
    }
    return simplicity.simplest_first(near, layout)


def stretches(words: Sequence[int], most: int) -> st.SearchStrategy[list[int]]:
    """One to `most` consecutive words; drawn are the last word and how many there are.

    Shrinking first removes the words after the one that fails, then those before it.
    """
    last, counts = st.integers(0, len(words) - 1), st.integers(1, most)
    return st.builds(
        lambda end, count: list(words[max(end + 1 - count, 0) : end + 1]), last, counts
    )


def rows(some: st.SearchStrategy[list[_T]], size: int) -> st.SearchStrategy[list[Any]]:
    """Rows of `size` elements: zeros with some elements at some place, or these repeated."""

    def laid(repeated: bool, start: int, found: list[_T]) -> list[Any]:  # noqa: FBT001
        whole = found * (-(-size // len(found))) if repeated and found else [*found, *[0] * size]
        return [*whole[size - start : size], *whole[: size - start]]

    return st.builds(laid, st.booleans(), st.integers(0, max(size - 1, 0)), some)

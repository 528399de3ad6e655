"""Where the answers of the slow twin change: the exact steps of a function of magnitudes.

Nothing is assumed of the policy but that the answers are monotone between neighbouring points of a
grid that is finer than the format's.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Sequence

from mxref._bits import LAYOUTS, FloatLayout
from mxref.formats import E8M0, element_format
from mxref.golden.answers import choices_read, exact_answers
from mxref.golden.grid import grid
from mxref.policy import Policy

__all__ = ["encode_steps", "scale_steps", "steps"]


def steps(answers: Callable[[list[int]], Sequence[object]], points: Iterable[int]) -> list[int]:
    """Every t between some points with another answer than t - 1, as far as their answers differ.

    >>> steps(lambda words: [word // 10 for word in words], (0, 15, 32))
    [10, 20, 30]
    """
    known = sorted(set(points))
    spans = list(itertools.pairwise(zip(known, answers(known), strict=True)))
    found: list[int] = []
    while spans:
        spans = [span for span in spans if span[0][1] != span[1][1]]
        found += [high[0] for low, high in spans if high[0] - low[0] == 1]
        spans = [span for span in spans if span[1][0] - span[0][0] > 1]
        middles = [(low[0] + high[0]) // 2 for low, high in spans]
        halves = zip(spans, zip(middles, answers(middles), strict=True), strict=True)
        spans = [half for (low, high), middle in halves for half in ((low, middle), (middle, high))]
    return sorted(found)


def encode_steps(format: str, float: str, policy: Policy) -> tuple[int, ...]:
    """The patterns, with their signs, at which the code of `encode` changes, by the slow twin.

    Args:
        format: an element format.
        float: a float type.
        policy: the policy; its rounding must be deterministic.
    """
    return _encode_steps(format, float, str(Policy().replace(**choices_read("encode", policy))))


@functools.cache
def _encode_steps(format: str, float: str, policy: str) -> tuple[int, ...]:
    layout = LAYOUTS[float]
    numbers, middles = grid(element_format(format), layout)
    points = {point + side for point in (*numbers, *middles) for side in (-1, 0, 1)}
    points |= {1, 1 << layout.mantissa_bits, layout.inf_bits}
    inside = [point for point in points if 0 <= point <= layout.inf_bits]
    return tuple(
        step | sign
        for sign in (0, layout.sign_bit)
        for step in steps(_exactly("encode", format, float, policy, sign), inside)
    )


def scale_steps(op: str, format: str, float: str, policy: Policy) -> tuple[int, ...]:
    """The magnitude patterns at which the code of `shared_scale` or `encode_scale` changes.

    Args:
        op: one of the two.
        format: an element format, or e8m0.
        float: a float type.
        policy: the policy.
    """
    return _scale_steps(op, format, float, str(Policy().replace(**choices_read(op, policy))))


@functools.cache
def _scale_steps(op: str, format: str, float: str, policy: str) -> tuple[int, ...]:
    layout = LAYOUTS[float]
    points = {0, 1, layout.inf_bits - 1, layout.inf_bits, *_powers(layout)}
    return tuple(steps(_exactly(op, format, float, policy, 0), points))


def _powers(layout: FloatLayout) -> Iterable[int]:
    """Every power of two."""
    m = layout.mantissa_bits
    return (*(1 << bit for bit in range(m)), *range(1 << m, layout.inf_bits, 1 << m))


def _exactly(
    op: str, format: str, float: str, policy: str, sign: int
) -> Callable[[list[int]], Sequence[object]]:
    chosen = Policy.parse(policy)
    name = format if op != "encode_scale" else E8M0.name
    return lambda words: exact_answers(op, name, float, [[word | sign] for word in words], chosen)

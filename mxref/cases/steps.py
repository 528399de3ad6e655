"""Step functions: where the answer of `encode`, `encode_scale` and `shared_scale` changes.

The slow twin's answers to every pattern of a float type, stored as the patterns at which the answer
changes. They are found by bisection within each binade, which is right if no answer returns after
another one in a binade. That holds for every deterministic policy, since within a binade of one
sign

- rounding is monotone, also after `pre_rounding` and `amax_type`, so no code of a number returns;
- only the beginning can become zero and only the end can overflow, never both in one binade, so the
  answers that `zero_sign`, `underflow_sign`, `zero_block`, `scale_of_zero`, `overflow` and similar
  choices give to them are at the beginning or at the end.

It does not hold over several binades: `scale_underflow=wrap` repeats codes, and `scale_of_zero=nan`
with `pre_rounding=float16` gives FF for the smallest and the largest numbers. A zero, an infinity
and the NaNs of a sign are ranges of their own.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.cases.answers import choices_read, exact_answers
from mxref.formats.catalog import E8M0, code_format
from mxref.policy.policy import Policy

__all__ = ["Steps", "binades", "bisected", "changes", "input_count", "steps"]


@dataclass(frozen=True, slots=True)
class Steps:
    """The answers to all inputs, in most cases from 0 on, as runs.

    Args:
        starts: the first input, and ascending the inputs at which the answer changes.
        answers: the answer from each start on.
        end: the input after the last one.
    """

    starts: NDArray[np.uint64]
    answers: NDArray[np.uint64]
    end: int

    def runs(self, first: int, end: int) -> Iterator[tuple[int, int, int]]:
        """The runs of equal answers within a range: begin, end and answer."""
        index = int(np.searchsorted(self.starts, np.uint64(first), side="right")) - 1
        while first < end:
            last = index + 1 == len(self.starts)
            stop = end if last else min(end, int(self.starts[index + 1]))
            yield first, stop, int(self.answers[index])
            first, index = stop, index + 1


def input_count(op: str, format: str, float: str) -> int:
    """The number of inputs of an operation of one number; an amax has no sign.

    >>> input_count("shared_scale", "e2m1", "f32") == 2**31, input_count("decode", "e2m1", "f32")
    (True, 16)

    Raises:
        ValueError: no such format.
    """
    if op in ("decode", "decode_scale"):
        return E8M0.code_count if op == "decode_scale" else code_format(format).code_count
    return 1 << (LAYOUTS[float].width - (op == "shared_scale"))


@functools.lru_cache(64)
def steps(op: str, format: str, float: str, policy: Policy) -> Steps:
    """The answers to every input of an operation of one number, by the slow twin.

    Args:
        op: `encode`, `encode_scale`, `shared_scale`, `decode` or `decode_scale`.
        format: the element format; `e8m0` where there is none.
        float: a float type.
        policy: a deterministic policy.

    >>> found = steps("encode", "e2m1", "f32", Policy())
    >>> [f"{start:08x} {code:02x}" for start, code in zip(found.starts, found.answers)][:3]
    ['00000000 00', '3e800001 01', '3f400000 02']
    >>> len(found.starts), list(found.runs(0x3E800000, 0x3E800003))
    (17, [(1048576000, 1048576001, 0), (1048576001, 1048576003, 1)])

    Raises:
        ValueError: the policy has no answer to some input.
    """
    count = input_count(op, format, float)

    def answers(inputs: Sequence[int]) -> list[int]:
        questions = ([bits] for bits in inputs)
        return [words[0] for words in exact_answers(op, format, float, questions, policy)]

    from_code = op in ("decode", "decode_scale")
    first = list(range(count)) if from_code else binades(LAYOUTS[float], count)
    return bisected(first, count, answers)


def bisected(
    first: Sequence[int], end: int, answers: Callable[[Sequence[int]], list[int]]
) -> Steps:
    """The answers to the inputs from the first one to `end`, found by bisection between some.

    Args:
        first: ascending inputs; from each to the one before the next no answer may return after
            another one.
        end: the input after the last one.
        answers: gives the answers to inputs.

    >>> bisected([0, 8], 16, lambda inputs: [n // 5 for n in inputs]).starts.tolist()
    [0, 5, 10, 15]
    """
    last = [bits - 1 for bits in (*first[1:], end)]
    at_first, at_last = answers(first), answers(last)
    found = dict(zip(first, at_first, strict=True))
    spans = list(zip(first, at_first, last, at_last, strict=True))
    while spans := [(a, x, b, y) for a, x, b, y in spans if x != y]:
        found |= {b: y for a, x, b, y in spans if b - a == 1}
        spans = [(a, x, b, y) for a, x, b, y in spans if b - a > 1]
        middles = [(a + b) // 2 for a, _, b, _ in spans]
        cut = list(zip(spans, middles, answers(middles), strict=True))
        spans = [(a, x, m, z) for (a, x, _, _), m, z in cut]
        spans += [(m, z, b, y) for (_, _, b, y), m, z in cut]
    places = sorted(found)
    starts = [places[0], *(b for a, b in itertools.pairwise(places) if found[a] != found[b])]
    return Steps(np.array(starts, np.uint64), np.array([found[b] for b in starts], np.uint64), end)


def changes(op: str, format: str, float: str, policy: Policy) -> tuple[int, ...]:
    """The patterns of numbers, with their signs, at which the answer changes.

    Without zeros and NaNs, and of `encode_scale` without negative numbers. Arguments as in `steps`.

    >>> [f"{bits:04x}" for bits in changes("encode", "e2m1", "bf16", Policy())][:3]
    ['3e81', '3f40', '3fa1']
    """
    layout = LAYOUTS[float]
    both = layout.sign_bit if op == "encode" else 0
    read = choices_read(op, policy, format)
    read.pop("nan_to_finite", None)  # it may be an error
    found = steps(op, format, float, Policy().replace(**read)).starts.tolist()
    return tuple(bits for bits in found if 0 < (bits & ~both) <= layout.inf_bits)


def binades(layout: FloatLayout, count: int) -> list[int]:
    """The beginnings of all binades below `count`, of infinity and of NaN, for each sign."""
    m = layout.mantissa_bits
    exponents = range(1 << m, layout.inf_bits + 1, 1 << m)
    points = [0, *(1 << n for n in range(m)), *exponents, layout.inf_bits + 1]
    return [sign + bits for sign in range(0, count, layout.sign_bit) for bits in points]

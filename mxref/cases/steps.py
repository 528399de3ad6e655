"""Step functions: where the answer of `encode`, `encode_scale` and `shared_scale` changes.

Their answers, by the slow twin, for every pattern of a float type, as the patterns at which another
answer begins. They are found by bisection within each binade, which needs one thing only: that in a
binade no answer comes back after another one. It holds for every deterministic policy, since within
a binade of one sign

- what the number is rounded to is a monotone function of it, also after `pre_rounding` and
  `amax_type`, so that codes of numbers do not come back;
- only its beginning can become zero or be flushed to it, and only its end can become infinite or
  overflow, and both do not happen in one binade: so what `zero_sign`, `underflow_sign`,
  `zero_block`, `scale_of_zero`, `overflow` and the like make of these is a beginning or an end.

Over several binades it does not hold: `scale_underflow=wrap` comes back to codes, and
`scale_of_zero=nan` with `pre_rounding=float16` gives FF for the smallest and the largest numbers.
A zero, an infinity and the NaNs of a sign are ranges of their own.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.cases.answers import choices_read, exact_answers
from mxref.formats.catalog import E8M0, code_format
from mxref.policy.policy import Policy

__all__ = ["Steps", "changes", "input_count", "steps"]


@dataclass(frozen=True, slots=True)
class Steps:
    """Answers to the inputs from 0 on.

    Args:
        starts: ascending inputs at which another answer begins, the first one 0.
        answers: the answer from each of them on.
        end: the number of inputs.
    """

    starts: NDArray[np.uint64]
    answers: NDArray[np.uint64]
    end: int

    def runs(self, first: int, end: int) -> Iterator[tuple[int, int, int]]:
        """The runs of one answer within a range: begin, end and answer."""
        index = int(np.searchsorted(self.starts, np.uint64(first), side="right")) - 1
        while first < end:
            last = index + 1 == len(self.starts)
            stop = end if last else min(end, int(self.starts[index + 1]))
            yield first, stop, int(self.answers[index])
            first, index = stop, index + 1


def input_count(op: str, format: str, float: str) -> int:
    """How many inputs an operation of one number has; of amax only the magnitudes count.

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
    first = list(range(count)) if from_code else _binades(LAYOUTS[float], count)
    last = [bits - 1 for bits in first[1:]] + [count - 1]
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
    starts = [0, *(b for a, b in itertools.pairwise(places) if found[a] != found[b])]
    return Steps(
        np.array(starts, np.uint64), np.array([found[b] for b in starts], np.uint64), count
    )


def changes(op: str, format: str, float: str, policy: Policy) -> tuple[int, ...]:
    """The patterns of numbers, with their signs, whose answer is not that of the number before.

    Zeros and NaNs are left out; of `encode_scale` negative numbers, too. Arguments as of `steps`.

    >>> [f"{bits:04x}" for bits in changes("encode", "e2m1", "bf16", Policy())][:3]
    ['3e81', '3f40', '3fa1']
    """
    layout = LAYOUTS[float]
    both = layout.sign_bit if op == "encode" else 0
    read = choices_read(op, policy)
    read.pop("nan_to_finite", None)  # it may be an error
    found = steps(op, format, float, Policy().replace(**read)).starts.tolist()
    return tuple(bits for bits in found if 0 < (bits & ~both) <= layout.inf_bits)


def _binades(layout: FloatLayout, count: int) -> list[int]:
    """Where binades begin, those of subnormals too, infinity and NaN, for each sign."""
    m = layout.mantissa_bits
    exponents = range(1 << m, layout.inf_bits + 1, 1 << m)
    points = [0, *(1 << n for n in range(m)), *exponents, layout.inf_bits + 1]
    return [sign + bits for sign in range(0, count, layout.sign_bit) for bits in points]

"""A sweep over blocks, one scale at a time: every element under every scale.

`quantize` gets the block product (`mxref.cases.product`): blocks that pair every scale code with
every odd-rounded key, or with every number of a float type of 16 bits. It is complete if an
element's code depends on its number and its scale only.
`dequantize` gets every code under every scale. Wrong answers are intervals of keys or codes, each
with the scales that have the same interval.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F64, LAYOUTS, compose, split, to_odd
from mxref.cases.answers import exact_answers, fast_answers
from mxref.cases.product import key_layout, scale_blocks, scale_range
from mxref.cases.records import VectorFile
from mxref.conformance.compare.compare import same_answers
from mxref.conformance.sweeping.intervals import KEPT, Found, Interval, find
from mxref.conformance.sweeping.plan import OwnTarget, Plan, SweepPart
from mxref.formats.catalog import BLOCK_FORMATS, E8M0, ElementFormat
from mxref.golden.level2 import CHECKED, compare
from mxref.operands.word_rows import same_width
from mxref.support.distinct import distinct

__all__ = ["BlockTally", "key_float", "scale_count", "sweep_blocks"]

Words = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class _Scale:
    """The wrong answers under one scale.

    Args:
        code: the scale code.
        blocks: number of blocks with a wrong scale.
        got: the different wrong scale codes.
        found: wrong elements of the other blocks, in intervals of keys or codes.
    """

    code: int
    blocks: int
    got: tuple[int, ...]
    found: Found | None


@dataclass(slots=True)
class BlockTally:
    """The wrong answers under all scales, added in order.

    Args:
        wrong: number of wrong pairs of scale and key, or of scale and code.
        count: number of intervals, counted for each scale.
        groups: the first different intervals, at most `KEPT`, each with its scale codes.
        scales: by right scale code the number of blocks with wrong ones, and these.
    """

    wrong: int = 0
    count: int = 0
    groups: dict[Interval, list[int]] = field(default_factory=dict)
    scales: dict[int, tuple[int, tuple[int, ...]]] = field(default_factory=dict)

    def add(self, scale: _Scale) -> None:
        """Add the next scale."""
        if scale.blocks:
            blocks, got = self.scales.get(scale.code, (0, ()))
            self.scales[scale.code] = (blocks + scale.blocks, (*got, *scale.got))
        if scale.found is None:
            return
        self.wrong += scale.found.wrong
        self.count += scale.found.intervals
        for interval in scale.found.kept:
            if interval in self.groups or len(self.groups) < KEPT:
                self.groups.setdefault(interval, []).append(scale.code)

    @property
    def left(self) -> int:
        """The number of intervals that are not kept."""
        return self.count - sum(map(len, self.groups.values()))

    def as_json(self) -> dict[str, Any]:
        """As plain data."""
        groups = [{**dataclasses.asdict(one), "scales": s} for one, s in self.groups.items()]
        scales = [[code, *found] for code, found in self.scales.items()]
        return {"wrong": self.wrong, "count": self.count, "groups": groups, "scales": scales}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> BlockTally:
        """The tally that `as_json` wrote."""
        groups = {
            Interval.from_json({name: one[name] for name in one if name != "scales"}): one["scales"]
            for one in record["groups"]
        }
        scales = {code: (blocks, tuple(got)) for code, blocks, got in record["scales"]}
        return cls(record["wrong"], record["count"], groups, scales)


def scale_count(plan: Plan) -> int:
    """The number of scales; one that returns where exponents wrap counts again."""
    if plan.file.op == "dequantize":
        return E8M0.code_count
    return len(scale_range(BLOCK_FORMATS[plan.file.format].element, plan.policy, plan.file.float))


def sweep_blocks(plan: Plan, index: int) -> SweepPart:
    """Ask the target the blocks of one scale and compare.

    Raises:
        DisagreementError: the two references differ.
    """
    began = time.perf_counter()
    target, file = plan.target(), plan.file
    fmt = BLOCK_FORMATS[file.format].element
    if file.op == "quantize":
        scale, first, last = scale_range(fmt, plan.policy, file.float)[index]
        inputs = scale_blocks(fmt, scale, first, last, file.float).astype(np.uint64)
        if not inputs.size:  # a scale that wraps around, without finite quotients
            return SweepPart((), 0, 0.0, time.perf_counter() - began)
        keys = _keys(inputs, scale, fmt, file.float)
        want = fast_answers(file.op, file.format, file.float, inputs, plan.policy)
        want = want.astype(np.uint64)
        some = slice(None, None, 1 if isinstance(target, OwnTarget) else CHECKED)
        compare(file.op, file.format, file.float, plan.policy, inputs[some], want[some])
    else:
        scale, keys = index, _ramp(fmt)
        inputs = np.insert(keys, 0, scale, axis=1)
        questions = inputs.tolist()
        answers = exact_answers(file.op, file.format, file.float, questions, plan.policy)
        want = np.array(answers, np.uint64)
    asking = time.perf_counter()
    answered = target.ask(file, inputs)
    asked = time.perf_counter() - asking
    found = _compared(file, scale, keys, want, answered.words, answered.errors)
    return SweepPart(found, keys.size, asked, time.perf_counter() - began)


def key_float(key: int, fmt: ElementFormat, float: str) -> int:
    """The float64 pattern of the quotient of a key of `quantize`."""
    return key << _dropped_bits(fmt, float)


def _dropped_bits(fmt: ElementFormat, float: str) -> int:
    """The fraction bits of float64 that a key lacks; keys of 16-bit floats are exact."""
    layout = LAYOUTS[float]
    own = layout.mantissa_bits if layout.width == 16 else 0
    return F64.mantissa_bits - max(key_layout(fmt).mantissa_bits, own)


def _keys(inputs: Words, scale: int, fmt: ElementFormat, float: str) -> Words:
    """The odd-rounded quotient of each element by its scale; the quotient is exact in float64."""
    parts = split(inputs, LAYOUTS[float])
    quotients = dataclasses.replace(parts, exponent=parts.exponent - (scale - E8M0.bias))
    return to_odd(compose(quotients, F64), _dropped_bits(fmt, float))


def _ramp(fmt: ElementFormat) -> Words:
    """Every code, in blocks of 32, padded with the last code."""
    codes = np.arange(max(fmt.code_count, 32), dtype=np.uint64)
    return np.minimum(codes, np.uint64(fmt.code_count - 1)).reshape(-1, 32)


def _compared(
    file: VectorFile,
    scale: int,
    keys: Words,
    want: Words,
    got: Words,
    errors: Mapping[int, str],
) -> tuple[_Scale, ...]:
    want, got = same_width(want, got)
    raised = np.zeros(len(keys), bool)
    raised[list(errors)] = True
    same = same_answers(file, want, got)
    other = np.zeros(len(keys), bool)  # blocks with a wrong scale, whose elements are not judged
    scales: tuple[int, ...] = ()
    if file.op == "quantize":
        other = ~same[:, 0] & ~raised
        scales = tuple(distinct(got[other, 0]).tolist())
        same, want, got = same[:, 1:], want[:, 1:], got[:, 1:]
    judged = ~other
    found = None
    if not same[judged].all() or raised.any():
        found = _by_key(
            keys[judged],
            ~same[judged],
            want[judged],
            got[judged],
            {int(i): errors[j] for i, j in zip(_places(judged, errors), errors, strict=True)},
        )
    if found is None and not other.any():
        return ()
    return (_Scale(scale, int(other.sum()), scales, found),)


def _places(judged: NDArray[np.bool_], rows: Mapping[int, str]) -> NDArray[np.intp]:
    """The positions of rows among the judged ones."""
    places: NDArray[np.intp] = (np.cumsum(judged) - 1)[list(rows)]
    return places


def _by_key(
    keys: Words, wrong: NDArray[np.bool_], want: Words, got: Words, errors: Mapping[int, str]
) -> Found | None:
    """Intervals among the keys present; a key is wrong if one of its elements is."""
    there, place = np.unique(keys, return_inverse=True)
    place = place.reshape(keys.shape)
    is_wrong = np.zeros(there.size, bool)
    wants, gots = np.zeros(there.size, np.uint64), np.zeros(there.size, np.uint64)
    is_wrong[place[wrong]] = True
    wants[place] = want
    gots[place[wrong]] = got[wrong]
    texts = {int(i): text for row, text in errors.items() for i in place[row]}
    found = find(0, is_wrong, wants, gots, [(i, i + 1, text) for i, text in texts.items()])
    if found is None:
        return None

    def in_keys(one: Interval) -> Interval:
        return dataclasses.replace(one, first=int(there[one.first]), last=int(there[one.last]))

    return dataclasses.replace(
        found, kept=tuple(in_keys(one) for one in found.kept), last=in_keys(found.last)
    )

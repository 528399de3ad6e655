"""Scales that are all the same number of codes away from the right ones, and values likewise.

Another bias or emax shifts every scale code by k; only codes at the ends of E8M0 hide it, as they
are clamped. Under scales that are read with another bias every value is 2**k times the right one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mxref.bits.floats import F64, I64, LAYOUTS, Bool, Parts, compose, floor_log2, split
from mxref.cases.answers import fast_answers, reads
from mxref.cases.records import VectorFile
from mxref.conformance.compare.tensor_cases import scale_counts, tensors_of
from mxref.conformance.verdict.cause.evidence import Evidence, Questions, Words, misses_by
from mxref.conformance.verdict.cause.parts import encoded, is_special, numbers_of
from mxref.formats.catalog import E8M0, block_format
from mxref.formats.scale_kinds import has_power_scales
from mxref.mutants.block_mutants import counted
from mxref.numbers.e8m0 import NAN, codes_within
from mxref.operations.registry import REGISTRY
from mxref.policy.policy import Policy
from mxref.policy.scale_rule import ScaleRule

#: Operations whose scales or values may be shifted.
_SHIFTED = (
    *("quantize", "quantize_tensor", "encode_scale", "shared_scale"),
    *("decode", "decode_scale", "dequantize"),
)
#: The least number of scales or values, and of different ones, that show a shift.
_LEAST, _DIFFERENT = 8, 3
#: Kinds of shifted scales of blocks, the plainest first, and what is said of each kind.
_OF_BLOCKS = ("scales", "stored_scales", "stored_bytes", "unclamped_scales")
_WORDS = {
    "scales": "",
    "clamped_scales": ", after it is clamped",
    "stored_scales": ", but not the elements",
    "stored_bytes": ", also NaN, but not the elements",
    "unclamped_scales": ", and elements are divided by it before it is clamped",
}


@dataclass(frozen=True, slots=True)
class Shift:
    """A shift of all scale codes by k, or of all values by a factor of 2**k.

    Args:
        kind: `values`; or what elements are divided by: `scales`, the shifted ones;
            `stored_scales`, the right ones; `stored_bytes`, the right ones, where the codes of zero
            and NaN blocks are shifted, too; `unclamped_scales`, those shifted beyond E8M0, too.
            `clamped_scales`, of scales alone: shifted after they are clamped.
        k: codes, or the exponent of the factor; not 0.
        wraps: whether a scale beyond E8M0 keeps its low eight bits.

    >>> Shift("scales", -2).name, Shift("stored_scales", 1, wraps=True).name
    ('scales-2', 'stored_scales+1_wrapped')
    >>> Shift("scales", -2).text, Shift("values", 3).text, Shift("values", -127).text
    ('every scale is 2 codes too small', 'every value is 8 times too large', \
'every value is 2^127 times too small')
    """

    kind: str
    k: int
    wraps: bool = False

    @property
    def name(self) -> str:
        """A short name."""
        return f"{self.kind}{self.k:+d}{'_wrapped' * self.wraps}"

    @property
    def text(self) -> str:
        """The shift in words."""
        if self.kind == "values":
            times = 1 << abs(self.k) if abs(self.k) <= 10 else f"2^{abs(self.k)}"
            return f"every value is {times} times too {'small' if self.k < 0 else 'large'}"
        modulo = ", modulo 256" if self.wraps else ""
        return f"every scale is {counted(self.k)}{modulo}{_WORDS[self.kind]}"

    def answer(self, questions: Questions, policy: Policy) -> Words:
        """What it makes of questions, where all else follows a policy."""
        file = questions.file
        if file.op == "quantize_tensor":
            blocks = self.answer(questions.blocks(), policy)
            return tensors_of(questions.inputs, blocks, policy)
        if file.row.from_codes:
            exact = Questions(dataclasses.replace(file, float="f64"), questions.inputs)
            values = split(exact.answers(policy), F64)
            values = dataclasses.replace(values, exponent=values.exponent + self.k)
            return compose(values, LAYOUTS[file.float]).astype(np.uint64)
        right = questions.answers(policy)
        if self.kind == "stored_bytes":
            moved = right[:, :1].astype(np.int64) + self.k
            moved = moved & 0xFF if self.wraps else np.clip(moved, 0, 0xFF)
            return np.concatenate([moved.astype(np.uint64), right[:, 1:]], axis=1)
        stored = self.scales(questions, policy)
        if not file.row.blocks:
            return stored
        raw = raw_scales(questions, policy) + self.k
        divisors = {"stored_scales": right[:, 0], "scales": stored[:, 0]}.get(self.kind, raw)
        codes = encoded(numbers_of(questions), divisors.astype(np.int64), questions, policy)
        codes = np.where(stored == NAN, np.uint64(0), codes)
        found = np.concatenate([stored, codes], axis=1)
        return np.where(_moves(questions, policy), found, right)

    def scales(self, questions: Questions, policy: Policy) -> Words:
        """The scale codes that are stored, a column; those of special blocks are right."""
        right, scale = questions.answers(policy)[:, :1], policy.scale
        last = self.kind in ("stored_scales", "clamped_scales")  # shifted last
        code = right.astype(np.int64) if last else raw_scales(questions, policy)[:, np.newaxis]
        code = code + self.k
        inside = codes_within(code, scale.scale_overflow, scale.scale_underflow)
        moved = (code & 0xFF if self.wraps else inside).astype(np.uint64)
        return np.where(_moves(questions, policy), moved, right)


def _moves(questions: Questions, policy: Policy) -> Bool:
    """Which scales may be shifted, a column: those of numbers that are not all zeros."""
    ordinary = ~np.any(is_special(questions), axis=0)[:, np.newaxis]
    moves: Bool = ordinary & (questions.answers(policy)[:, :1] != NAN)
    return moves


def shift_of(
    op: str, whole: Sequence[Evidence], policies: Sequence[Policy]
) -> tuple[Shift, Policy, int] | None:
    """The shift that all scales or values of a target show, those at the ends of the range aside.

    Args:
        op: the operation.
        whole: all of its answers.
        policies: what else they may follow; the first is tried with every scale rule, too.

    Returns:
        The shift, the policy that it is over, and the number of answers that it gives: of those
        that fit, the plainest of those that give most.
    """
    format = whole[0].questions.file.format
    if op not in _SHIFTED or (REGISTRY[op].arrays == 2 and not has_power_scales(format)):
        return None
    rules = ScaleRule if "scale_rule" in reads(op, format) else ()
    for policy in (*policies, *(policies[0].replace(scale_rule=rule.value) for rule in rules)):
        k = _common_shift(whole, policy)
        if k:
            misses = {shift: misses_by(whole, shift, policy) for shift in _shifts(op, k)}
            least = min(misses, key=lambda shift: misses[shift])
            return least, policy, sum(len(one.answers) for one in whole) - misses[least]
    return None


def _shifts(op: str, k: int) -> tuple[Shift, ...]:
    """The shifts of an operation by k, the plainest first."""
    if REGISTRY[op].from_codes:
        return (Shift("values", k),)
    kinds = _OF_BLOCKS if REGISTRY[op].arrays == 2 else ("scales", "clamped_scales")
    return tuple(Shift(kind, k, wraps) for wraps in (False, True) for kind in kinds)


@dataclass(frozen=True, slots=True)
class _Places:
    """Right scales or values that are inside a range, and how far from them the answers are."""

    right: I64  #: codes, or patterns without sign
    away: I64
    unit: int  #: of one code, or of a factor of two
    low: int
    high: int

    def show(self, k: int) -> Bool:
        """Whether those show a shift that are still inside the range."""
        moved = self.right + k * self.unit
        inside = (self.low <= moved) & (moved <= self.high)
        shown: Bool = self.away[inside] == k * self.unit
        return shown


def _common_shift(whole: Sequence[Evidence], policy: Policy) -> int:
    """The shift that all scales or values show but for those at the ends of the range; or 0."""
    try:
        every = [_places(one, policy) for one in whole]
    except ValueError:  # the policy has no answer to some question
        return 0
    steps, counts = np.unique(
        np.concatenate([some.away // some.unit for some in every]), return_counts=True
    )
    k = int(steps[counts.argmax()]) if steps.size else 0
    shown = np.concatenate([some.show(k) for some in every])
    different = {*np.concatenate([some.right for some in every]).tolist()}
    enough = len(shown) >= _LEAST and len(different) >= _DIFFERENT
    return k if enough and shown.all() else 0


def _places(one: Evidence, policy: Policy) -> _Places:
    """The scales or values of answers.

    Raises:
        ValueError: a policy that has no answer to a question, or answers of another size.
    """
    questions, file = one.questions, one.questions.file
    right = questions.answers(policy)
    if right.shape != one.answers.shape:
        raise ValueError("answers must have as many words as those of the policy")
    some = np.zeros(right.shape, bool)
    some[:, : 1 if file.row.arrays == 2 else None] = True
    unit, low, high, mask = 1, 1, E8M0.max_code - 1, 0xFFFF
    if file.op == "quantize_tensor":
        some = np.arange(right.shape[1]) < scale_counts(questions.inputs)[:, np.newaxis]
    elif file.row.from_codes:
        layout = LAYOUTS[file.float]
        unit = low = 1 << layout.mantissa_bits
        high, mask = layout.inf_bits - 1, layout.sign_bit - 1
    some &= one.answered[:, np.newaxis]
    want, got = right[some].view(np.int64), one.answers[some].view(np.int64)
    inside = (low <= want & mask) & (want & mask <= high)
    return _Places((want & mask)[inside], (got - want)[inside], unit, low, high)


def raw_scales(questions: Questions, policy: Policy) -> I64:
    """The right scale codes, one a row, before they are clamped; see `unclamped`."""
    file = questions.file
    return questions.once(
        "unclamped", policy, lambda: unclamped(file, numbers_of(questions), policy)[:, 0]
    )


def unclamped(file: VectorFile, numbers: Parts, policy: Policy) -> I64:
    """The right scale codes of numbers or blocks, a row each, before they are clamped to E8M0.

    The code of x * 2**n is that of x and n more, so it is asked of the significand alone. Rows of
    zeros and those with infinities or NaN have any code.
    """
    op, format = file.op, file.format
    if op == "quantize":
        op, format = "shared_scale", block_format(format).element.name
    exponents = floor_log2(numbers.significand) + numbers.exponent
    top = np.where(numbers.significand == 0, -(1 << 20), exponents).max(axis=1, keepdims=True)
    scaled = dataclasses.replace(numbers, exponent=numbers.exponent - top)
    bits = compose(scaled, F64) & np.uint64(F64.sign_bit - 1)
    largest = bits.max(axis=1, keepdims=True).astype(np.uint64)
    codes: I64 = fast_answers(op, format, "f64", largest, policy).astype(np.int64) + top
    return codes

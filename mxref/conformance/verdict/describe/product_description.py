"""What answers to dot products and linear layers say of the accumulation."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS
from mxref.conformance.compare.compare import Outcome, same_answers
from mxref.conformance.compare.integer_policies import answers_of, misses
from mxref.conformance.compare.product_intervals import (
    Rounding,
    inside,
    layer_inside,
    nibbles_of,
    sums_inside,
)
from mxref.conformance.verdict.describe.product_tables import where_wrong
from mxref.operations.product_words import terms
from mxref.operations.products import accumulations
from mxref.operations.registry import CALL_OPERATIONS, LAYER_OPERATIONS
from mxref.policy.policy import Policy
from mxref.targets.calls import Answers

#: The verdict where no clause is violated and no named accumulation gives the answers.
OUTSIDE = "outside every float32 accumulation"
#: What is known of some answers alone.
_SAID_OF_SOME = ("sums", "where")
#: Bits of sums below which nothing is said: such answers are wrong in other ways.
_FEWEST = 4


@dataclass(frozen=True, slots=True)
class ProductDescription:
    """The accumulation of a target, as far as its answers tell.

    Args:
        accumulations: those named ones whose bits all answers are; of linear layers none, whose
            vectors do not tell them apart.
        nearest: answers inside the intervals of float32 additions that round to nearest.
        any: answers inside those of adders that truncate, too.
        compared: number of answers.
        is_layer: whether they are answers to linear layers.
        bits: where float32 gives not all answers, the most bits of sums that may give them; 0 where
            sums of hardly any precision do, and where some answers have more bits.
        narrow: that sums to float32 are right, and what is wrong with narrower ones, in words.
        sums: how sums that are narrower than float32 give all answers, in words.
        where: where outputs are wrong, in words.
    """

    accumulations: tuple[str, ...]
    nearest: int
    any: int
    compared: int
    is_layer: bool = False
    bits: int = 0
    narrow: str = ""
    sums: str = ""
    where: str = ""

    @property
    def text(self) -> str:
        """The accumulation in words."""
        if self.accumulations:
            names = " and ".join(self.accumulations)
            return f"all {self.compared} outputs have the bits of accumulation={names}"
        if self.any < self.compared:
            left = self.compared - self.any
            text = f"{left} of {self.compared} outputs are {OUTSIDE}, in any order"
            if self.sums:
                text += f"; all are right if {self.sums} (MX 6.1 leaves the precision open)"
            elif self.narrow:
                text += f", {self.narrow}"
            elif self.bits:
                text += (
                    f"; sums that keep at most {self.bits} bits may give them (float16 keeps 11, "
                    "bfloat16 8; MX 6.1 leaves the precision open)"
                )
            return text + f"; {self.where}" * bool(self.where and not self.sums)
        if self.nearest < self.compared:
            left = self.compared - self.nearest
            return (
                f"{left} of {self.compared} outputs are outside what additions that round to "
                "nearest give, and inside what float32 adders that truncate may give"
            )
        text = f"all {self.compared} outputs are inside what float32 additions give in some order"
        return text if self.is_layer else f"{text}, which is none of the named ones"

    def as_json(self) -> dict[str, Any]:
        """As plain data; how narrower sums give all answers and where they are wrong if known."""
        found = {"text": self.text, **asdict(self), "accumulations": list(self.accumulations)}
        return {name: found[name] for name in found if found[name] or name not in _SAID_OF_SOME}


def describe_products(outcomes: Sequence[Outcome], sums: str = "") -> ProductDescription | None:
    """The accumulation that the answers of a target to a format or a pair show; None of errors.

    Args:
        outcomes: the answers.
        sums: how sums that are narrower than float32 give all of them, in words.
    """
    is_layer = outcomes[0].file.op in LAYER_OPERATIONS
    if any(one.errors or (one.answers.shape[1] != 1 and not is_layer) for one in outcomes):
        return None
    nearest, widest = (
        [_inside(one, rounding) for one in outcomes] for rounding in ("nearest", "any")
    )
    compared = sum(map(len, widest))
    within = [sum(int(some.sum()) for some in each) for each in (nearest, widest)]
    names = () if is_layer else tuple(named_accumulations(outcomes))
    bits = 0
    if not (names or is_layer) and within[1] < compared:
        bits = min(
            _most_bits(one, i)
            for one, some in zip(outcomes, widest, strict=True)
            for i in np.flatnonzero(~some).tolist()
        )
    own = bits if bits >= _FEWEST and bits >= _longest(outcomes) else 0
    narrow = "" if is_layer else _narrow(outcomes, widest)
    where = (
        "" if is_layer or sums or own or narrow else where_wrong(outcomes, ~np.concatenate(widest))
    )
    return ProductDescription(
        names, within[0], within[1], compared, is_layer, own, narrow, sums, where
    )


def _longest(outcomes: Sequence[Outcome]) -> int:
    """The most significant bits of an answer in float32, which no sum of fewer bits has."""
    answers = [one.answers[:, 0] for one in outcomes if one.file.float == "f32"]
    words = np.concatenate([np.empty(0, np.uint64), *answers])
    exponents = words >> np.uint64(23) & np.uint64(0xFF)
    normal = words[(exponents > 0) & (exponents < 0xFF)]
    significands = (normal & np.uint64((1 << 23) - 1) | np.uint64(1 << 23)).tolist()
    return max((24 - (n & -n).bit_length() + 1 for n in significands), default=0)


def _narrow(outcomes: Sequence[Outcome], within: Sequence[NDArray[np.bool_]]) -> str:
    """Where only sums to floats that are narrower than float32 are wrong, how they are; or nothing.

    Args:
        outcomes: those of a pair of formats.
        within: which answers of each are inside their intervals.
    """
    bad = [(one, ~some) for one, some in zip(outcomes, within, strict=True) if not some.all()]
    wide = {one.file.float for one in outcomes} - {one.file.float for one, _ in bad}
    if not bad or "f32" not in wide:
        return ""
    names = " and ".join(dict.fromkeys(LAYOUTS[one.file.float].dtype.name for one, _ in bad))
    found = []
    for one, wrong in bad:
        layout = LAYOUTS[one.file.float]
        got, want = one.answers[wrong, 0], one.wanted(Policy())[wrong, 0]
        below = want - got == 1
        infinite = want & np.uint64(layout.sign_bit - 1) == layout.inf_bits
        found.append((bool((below & infinite).all()), bool(below.all())))
    how = "; sums to float32 are right"
    if all(saturated for saturated, _ in found):
        how += f", and {names} ones end at the largest number"
    elif all(truncated for _, truncated in found):
        how += f", and {names} ones are rounded toward zero"
    return f"all of them {names}{how}"


def _inside(outcome: Outcome, rounding: Rounding) -> NDArray[np.bool_]:
    """Whether the outputs of all cases are inside their intervals."""
    file, inputs, answers = outcome.file, outcome.inputs, outcome.answers
    if file.op not in LAYER_OPERATIONS:
        return inside(file, inputs, answers, rounding)
    policy, pairs = Policy.parse(outcome.policy), zip(inputs, answers, strict=True)
    return np.concatenate([layer_inside(file, *pair, policy, rounding) for pair in pairs])


def _most_bits(outcome: Outcome, case: int) -> int:
    """The most bits of sums, each addition rounded to nearest, that may give an answer."""
    from mxref.exact.format_table import FLOATS
    from mxref.exact.patterns import float_reader

    file, got = outcome.file, int(outcome.answers[case, 0])
    products = terms(outcome.file.cases[case].inputs, file.format)
    sign, n, e = float_reader(FLOATS[file.float])(got)
    if products is None or n < 0:
        return 0
    magnitude, count = sum(map(abs, products), Fraction(0)), sum(map(bool, products))
    distance = abs(Fraction(-n if sign else n) * Fraction(2) ** e - sum(products))
    distance -= Fraction(count + 1, 2**25)  # what underflow in float16 may lose
    if distance <= 0:
        return 24
    # Jeannerod and Rump, with the rounding of each product and of the result as additions.
    reach = (count + 1) * magnitude / distance
    return max(int(reach).bit_length() - 1, 0)


def named_accumulations(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """The accumulations whose bits all answers are; the sign of zeros is left aside."""
    for name in accumulations(outcomes[0].file.format):
        policy = Policy().replace(accumulation=name)
        if all(same_product(one, one.wanted(policy)) for one in outcomes):
            yield name


def same_product(outcome: Outcome, wanted: NDArray[np.uint64]) -> bool:
    """Whether all answers are these; the sign of zeros is left aside."""
    got, zeros = outcome.answers, (0, LAYOUTS[outcome.file.float].sign_bit)
    same = same_answers(outcome.file, wanted, got)
    if got.shape == wanted.shape:
        same |= np.isin(wanted, zeros) & np.isin(got, zeros)
    return bool(same.all())


# --- weight-only layers ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WeightOnlyDescription:
    """Where a target applies the scales, as far as its answers tell.

    Args:
        order: the named order whose bits all answers have; empty if none has them.
        inside: else the orders in whose intervals all answers are, as sums are added in another
            order; `offset`, whose intervals hold the others, is among them only if alone.
        outside: how many answers are in no interval.
        compared: number of answers.
    """

    order: str
    inside: tuple[str, ...]
    outside: int
    compared: int

    @property
    def text(self) -> str:
        """The order in words."""
        if self.order:
            return f"all {self.compared} answers have the bits of order={self.order}"
        if self.inside:
            names = " and ".join(f"order={name}" for name in self.inside)
            return (
                f"all {self.compared} answers are inside what float32 sums in some order give for "
                f"{names}, and have the bits of no named order"
            )
        return (
            f"{self.outside} of {self.compared} answers are outside what float32 sums give in any "
            "order, with the scales before or after them"
        )

    def as_json(self) -> dict[str, Any]:
        """As plain data."""
        return {"text": self.text, **asdict(self), "inside": list(self.inside)}


def describe_weight_only(outcomes: Sequence[Outcome]) -> WeightOnlyDescription | None:
    """The order of a target's operations that its answers show; None of errors."""
    if any(one.errors for one in outcomes):
        return None
    file, policy = outcomes[0].file, outcomes[0].policy
    compared = sum(len(one.inputs) for one in outcomes)
    orders = CALL_OPERATIONS[file.op].choices(file.format)["order"]
    order = CALL_OPERATIONS[file.op].parse(file.format, policy).get("order", orders[0])
    own = (answers_of(one.file, one.inputs, one.policy) for one in outcomes)
    given = (Answers(one.answers, one.errors) for one in outcomes)
    if not any(map(misses, itertools.repeat(file), own, given)):
        return WeightOnlyDescription(order, (), 0, compared)
    nibbles = nibbles_of(file, policy)
    left = dict.fromkeys(orders[1:], 0)
    for name, one in itertools.product(left, outcomes):
        some = sums_inside(one.file, one.inputs, one.answers, nibbles, name)
        left[name] += int((~some).sum())
    names = tuple(name for name in orders[1:3] if not left[name]) or orders[3:]
    outside = left[names[-1]]
    return WeightOnlyDescription("", () if outside else names, outside, compared)

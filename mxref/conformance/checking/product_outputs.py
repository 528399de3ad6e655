"""Every output of products: the rows of all cases of one length, each with each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS
from mxref.conformance.checking.computed import KEPT, Compared, file_of
from mxref.conformance.compare.compare import Outcome, judged
from mxref.conformance.compare.product_intervals import inside_all, tolerated
from mxref.conformance.verdict.describe.product_description import named_accumulations
from mxref.operands.word_rows import padded
from mxref.operations.product_words import pair_formats
from mxref.operations.products import groups, outputs
from mxref.operations.registry import DOT_OPERATIONS
from mxref.policy.policy import Policy
from mxref.targets.calls import Answers, is_fault, quiet
from mxref.targets.target import PythonTarget

__all__ = ["ask_outputs", "first_wrong", "narrow_words", "same_numbers", "wrong_rows"]

Words = NDArray[np.uint64]


def ask_outputs(target: PythonTarget, outcome: Outcome, policy: Policy) -> Compared:
    """Compare all outputs of calls with the rows of a vector file on both sides.

    Kept are wrong outputs, and for each accumulation whose bits the cases have one output that has
    others.

    Args:
        target: the implementation.
        outcome: its answers to the file.
        policy: what they are compared with.
    """
    file, function = outcome.file, target.operations[outcome.file.op]
    formats = pair_formats(file.format)
    named = [] if outcome.errors else list(named_accumulations([outcome]))
    total = wrong = 0
    kept: dict[tuple[int, ...], int] = {}
    for _, a, b in groups(outcome.inputs, file.format):
        try:
            with quiet():
                asked = DOT_OPERATIONS[file.op].call(file.format, file.float, a, b)
                got = asked.read(function(*asked.arguments.values()))
        except BaseException as error:
            if not is_fault(error):
                raise
            continue  # the cases have the same error
        right = same_numbers(outputs(a, b, formats, file.float, str(policy)), got, file.float)
        if tolerated(policy):
            right |= inside_all(file, a, b, got, "any")
        total, wrong = total + got.size, wrong + int((~right).sum())
        places = np.argwhere(~right).tolist()[: KEPT - len(kept)]
        for name in list(named):
            column = str(Policy().replace(accumulation=name))
            same = same_numbers(outputs(a, b, formats, file.float, column), got, file.float)
            if not same.all():
                named.remove(name)
                places.append(np.argwhere(~same)[0].tolist())
        for i, j in places:  # of equal rows the first ones are kept
            kept.setdefault((*a[i].words, *b[j].words), int(got[i, j]))
    names = file.op, file.format, file.float
    if not kept:
        return Compared(*names, total, 0, None)
    cases = file_of(file, list(kept), "output")
    answers = Answers(padded([[word] for word in kept.values()]))
    return Compared(*names, total, wrong, judged(cases, cases.input_words(), answers, policy))


def same_numbers(one: Words, other: Words, float: str) -> NDArray[np.bool_]:
    """Whether outputs are equal but for the sign of zeros and the bits of NaN."""
    found: NDArray[np.bool_] = one == other
    if found.all():
        return found
    layout = LAYOUTS[float]
    a, b = (words & np.uint64(layout.sign_bit - 1) for words in (one, other))
    found |= (a > layout.inf_bits) & (b > layout.inf_bits)
    found |= (a | b) == 0
    return found


def narrow_words(words: Words, float: str) -> list[str]:
    """That words of wrong outputs in float32 are values of narrower floats, in words.

    >>> narrow_words(np.array([0x3F800000, 0x3F802000], np.uint64), "f32")
    ['where every wrong output is a value of float16']
    """
    numbers = words.astype(np.uint32).view(np.float32) if float == "f32" else np.empty(0)
    names: list[str] = []
    for name in ("bf16", "f16"):
        dtype = LAYOUTS[name].dtype
        with np.errstate(all="ignore"):
            same = numbers.astype(dtype).astype(np.float32) == numbers
        names += [dtype.name] if numbers.size and (same | np.isnan(numbers)).all() else []
    every = [" and of ".join(names), *names] if len(names) > 1 else names
    return [f"where every wrong output is a value of {name}" for name in every]


def wrong_rows(wrong: NDArray[np.bool_]) -> dict[str, tuple[NDArray[np.int64], int]]:
    """The rows and the columns of a matrix with something wrong, and how many there are of each."""
    return {
        unit: (np.flatnonzero(wrong.any(axis=1 - axis)), wrong.shape[axis])
        for axis, unit in enumerate(("rows", "columns"))
    }


def row_and_column(index: Sequence[int]) -> str:
    """Where an output of a matrix stands."""
    return f"row {index[0]}, column {index[1]}"


def first_wrong(
    name: str,
    want: Words,
    got: Words,
    wrong: NDArray[np.bool_],
    float: str,
    place_of: Callable[[Sequence[int]], str] = row_and_column,
) -> str:
    """The first wrong output of a call, in words, and how many there are.

    Args:
        name: the call in words.
        want: the right words.
        got: the words of the result.
        wrong: which of them are wrong; if none is, those that are others.
        float: the float type.
        place_of: where an output stands, in words.
    """
    wrong = wrong if wrong.any() else want != got
    layout, places = LAYOUTS[float], np.argwhere(wrong)
    if not len(places):
        return name
    index = tuple(places[0].tolist())
    digits = 2 * layout.dtype.itemsize
    a, b = (
        f"{int(some[index]):0{digits}x} = {layout.uint.type(some[index]).view(layout.dtype)}"
        for some in (want, got)
    )
    counts = f"{len(places):,} of {wrong.size:,} outputs"
    return f"{name}: {counts}; {place_of(index)}: want {a}, got {b}"

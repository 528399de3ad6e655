"""Replies to questions of many shapes: what decides where they are wrong, and what is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS
from mxref.conformance.checking.memory import MEMORIES, Known, laid, misused
from mxref.conformance.checking.rules import Features, rule_of
from mxref.conformance.checking.sizes import places_text
from mxref.targets.calls import error_text, is_fault

__all__ = ["Question", "Reply", "ask", "judged", "otherwise"]

Arrays = Sequence[NDArray[Any]]
Words = NDArray[np.uint64]
#: The share of calls beyond which a rule says that it is not their shape that decides.
_MOST = 0.8


class Question(Protocol):
    """A call of some shape, with numbers of one draw."""

    @property
    def float(self) -> str:
        """The float type of the outputs."""

    @property
    def kind(self) -> str:
        """What such calls are, in the plural."""

    @property
    def features(self) -> Features:
        """What a rule may speak of."""

    def drawn(self, more: int) -> Self:
        """The question with the numbers of a later draw."""

    def prepared(self) -> tuple[Arrays, Words]:
        """The arrays of the call, and the right words."""

    def call(self, function: Callable[..., Any], arrays: Arrays) -> object:
        """The result of a target."""

    def words(self, result: object, want: Words) -> Words:
        """The words of a result, of the shape of those wanted."""

    def wrong(self, want: Words, got: Words) -> NDArray[np.bool_]:
        """Which words of a result are wrong."""

    def place(self, index: Sequence[int]) -> str:
        """Where an output stands, in words."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply to a question: which outputs are wrong, the words of all, or an error."""

    question: Question
    wrong: NDArray[np.bool_]
    wanted: Words
    got: Words
    error: str = ""

    @property
    def bad(self) -> bool:
        """Whether it is an error or has a wrong output."""
        return bool(self.error) or bool(self.wrong.any())

    def same(self, other: Reply) -> bool:
        """Whether another reply to the question is the same."""
        return self.error == other.error and np.array_equal(self.got, other.got)

    @property
    def text(self) -> str:
        """The first wrong output, and how many there are."""
        if self.error:
            return f"{self.question}: {self.error}"
        layout, places = LAYOUTS[self.question.float], np.argwhere(self.wrong)
        if not len(places):  # all are inside their intervals
            return str(self.question)
        index = places[0].tolist()
        want, got = (
            f"{word:0{2 * layout.dtype.itemsize}x} = {layout.uint.type(word).view(layout.dtype)}"
            for word in (int(self.wanted[tuple(index)]), int(self.got[tuple(index)]))
        )
        counts = f"{len(places):,} of {self.wrong.size:,} outputs"
        place = self.question.place(index)
        return f"{self.question}: {counts}; {place}: want {want}, got {got}"


def ask(function: Callable[..., Any], question: Question, memory: int = 0) -> Reply:
    """One call, its arrays in some memory."""
    arrays, want = question.prepared()
    moved = [laid(array, memory) for array in arrays]
    return _read(question, want, lambda: question.call(function, moved))


def _read(question: Question, want: Words, result: Callable[[], object]) -> Reply:
    """A result compared with the right one."""
    try:
        got = question.words(result(), want)
    except BaseException as error:
        if not is_fault(error):
            raise
        return Reply(question, np.zeros(want.shape, bool), want, want, error_text(error))
    return Reply(question, question.wrong(want, got), want, got)


def judged(
    function: Callable[..., Any], once: Sequence[Reply], again: Sequence[Reply], *, fails: bool
) -> tuple[str, str] | None:
    """The kind and the text of what is wrong with two calls of each shape.

    Args:
        function: the target's function.
        once: the replies to the first calls.
        again: those to the second ones, of other numbers.
        fails: whether only a shape that decides, or state, is said to be wrong.
    """
    every = [*once, *again]
    bad = [reply for reply in every if reply.bad]
    if not bad:
        return None
    second = [reply for reply in again if reply.bad]
    if len(second) == len(bad) and 2 * len(second) >= len(again):
        text = "right in the first call of each shape, wrong in later ones"
        return "state", f"not reproducible: {text}: {bad[0].text}"
    kind = bad[0].question.kind
    for reply in (bad[0], bad[-1]):
        other = ask(function, reply.question.drawn(2))
        third = ask(function, reply.question)
        if not (third.same(reply) or other.error):
            text = f"the same {kind.removesuffix('s')} gave two answers"
            return "state", f"not reproducible: {text}: {reply.text}"
    rule = rule_of([reply.question.features for reply in every], [reply.bad for reply in every])
    if rule is None or rule.inside.mean() > _MOST:
        counts = f"{len(bad)} of {len(every)} {kind}"
        return None if fails else ("numbers", f"wrong in {counts}: {bad[0].text}")
    inside = int(rule.inside.sum())
    counts = f"{len(bad)} of {inside} such calls, right in the other {len(every) - inside}"
    return "size", f"wrong only in {kind} with {rule.text} ({counts}){_where(bad)}: {bad[0].text}"


def _where(bad: Sequence[Reply]) -> str:
    """Where in the outputs the wrong ones stand, if one rule says it; else nothing."""
    texts = []
    for axis, unit in enumerate(("rows", "columns")):
        some = [one for one in bad if not one.error and one.wrong.ndim == 2]
        places = [
            (np.flatnonzero(one.wrong.any(axis=1 - axis)), one.wrong.shape[axis]) for one in some
        ]
        texts.append(places_text(places, unit))
    return "".join(texts)


def otherwise(function: Callable[..., Any], question: Question) -> tuple[str, str] | None:
    """What is wrong in other memory, or where a result or an argument is kept."""
    for memory in range(1, len(MEMORIES)):
        reply = ask(function, question, memory)
        if reply.bad and not reply.error:
            return "memory", f"wrong only with {MEMORIES[memory]}: {reply.text}"
    return misused(lambda *arrays: question.call(function, arrays), partial(_known, question))


def _known(question: Question, number: int) -> Known:
    """The call of a later draw."""
    one = question.drawn(number)
    arrays, want = one.prepared()

    def text(got: Words) -> str:
        wrong = one.wrong(want, got)
        return Reply(one, wrong if wrong.any() else want != got, want, got).text

    return Known(
        arrays,
        lambda result: one.words(result, want),
        lambda got: bool(one.wrong(want, got).any()),
        text,
    )

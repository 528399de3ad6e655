"""One operation of a target, asked question after question and compared."""

from __future__ import annotations

import dataclasses
import functools
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.cases.records import Case, VectorFile
from mxref.conformance.compare.compare import Failure, fast_right_answers, same_answers
from mxref.conformance.compare.product_intervals import (
    widened,
)
from mxref.conformance.compare.profile_bounds import nearest_admitted
from mxref.conformance.fuzzing.counterexample import Answer, Changed
from mxref.conformance.fuzzing.fuzz_call import FuzzCall
from mxref.conformance.fuzzing.input_words import Question
from mxref.conformance.fuzzing.random_states import RandomStates
from mxref.operands.returned import AnswerError
from mxref.operands.word_rows import padded, same_width, stripped
from mxref.operations.operation import AnyPolicy
from mxref.profiles import Profile
from mxref.targets.calls import Answers
from mxref.targets.target import PythonTarget, Target

__all__ = ["Trial", "Words"]

Words = NDArray[np.uint64]
#: A case that is in no file.
_CASE = Case("", (), ((),), (), required=False, rule="", model="")
#: How many questions of an example are kept for batches, and how many of all examples.
_KEPT, _RECENT = 8, 256
#: Of small batches so many cases are asked.
_SMALL = 32
#: How often a wrong answer is asked for again before it counts as the same each time.
_AGAIN = 5
#: How often a question whose answer has changed is asked alone, to see it change.
_ALONE = 200


class Trial:
    """A target asked about one operation, format and float type.

    Args:
        target: the target.
        file: operation, format and float type.
        policy: the policy to compare with.
        profile: the profile to compare with, if any.
        states: the target's own random states.
        sizes: numbers of cases in calls, each of which is tried once.
        examples: number of questions over which the sizes are spread.
    """

    def __init__(
        self,
        target: Target,
        file: VectorFile,
        policy: AnyPolicy,
        profile: Profile | None,
        states: RandomStates | None = None,
        sizes: Sequence[int] = (),
        examples: int = 1,
    ) -> None:
        self.target, self.file, self.policy, self.profile = target, file, policy, profile
        self.examples = 0
        #: The last call with a wrong answer, and this.
        self.last: tuple[FuzzCall, Failure] | None = None
        #: Two different answers to one question.
        self.changed: Changed | None = None
        #: Whether nothing more is asked.
        self.stopped = False
        self._asked = _guarded(target, file.op)
        self._states = states or RandomStates()
        self._sizes, self._step = sizes, max(1, examples // (len(sizes) + 1))
        self._recent: deque[Words] = deque(maxlen=_RECENT)
        self._right: tuple[FuzzCall, Answers] | None = None

    def fails(self, question: Question) -> bool:
        """Whether the target answers a question wrongly each time; keeps the last such question.

        Now and then the questions of the last examples are asked once more as a batch. Hypothesis
        is not told of a batch with a wrong answer, nor of answers that change: it cannot shrink
        them, and nothing more is asked.
        """
        if self.stopped:
            return False
        is_new = self.last is None
        self.examples += is_new
        call = FuzzCall(*question)
        if self._finds(call):
            return True
        if self._sizes and is_new and not self.stopped:
            self._remember(call.rows)
            for batch in self._batches():
                self.stopped |= self._finds(batch)
                if self.stopped:
                    break
        return False

    def search(self, words: Words) -> None:
        """Put many questions to the target, and keep the first with a wrong answer."""
        for start in range(0, len(words), _RECENT):
            rows = words[start : start + _RECENT]
            wrong, _, _ = self._compared(FuzzCall(rows))
            if wrong.any() and not self.stopped:
                first = int(np.argmax(wrong))
                if not self._finds(FuzzCall(rows[first : first + 1])):  # right when it is alone
                    self._finds(FuzzCall(rows))
                return

    def _remember(self, rows: Words) -> None:
        """Keep some questions for batches."""
        self._recent.extend(rows[:: -(-len(rows) // _KEPT)])

    def _batches(self) -> Iterator[FuzzCall]:
        """Batches of the last questions, if it is the turn of a size: of a small one several."""
        turn, rest = divmod(self.examples, self._step)
        if rest or turn > len(self._sizes):
            return
        size, rows = self._sizes[turn - 1], np.array(self._recent)[::-1]
        if self.file.row.random_bits:  # a call has one width of random bits
            rows = rows[rows[:, 2] == rows[0, 2]]
        for first in range(0, max(1, min(len(rows) - size, _SMALL)), size):
            yield FuzzCall(rows[first : first + size], size=size, permuted=True)

    def _finds(self, call: FuzzCall) -> bool:
        """Whether a call has a wrong answer, and the first time the same one again."""
        wrong, wanted, answers = self._compared(call)
        if not wrong.any():
            self._right = self._right or (call, answers)
            return False
        if self.last is None:
            self.changed = self._difference(call, answers, self._answers(call))
            self.stopped = self.changed is not None
        if self.stopped:
            return False
        self.last = call, self._failure(call, int(np.argmax(wrong)), wanted, answers)
        return True

    def failure(self, call: FuzzCall) -> Failure | None:
        """The first wrong answer in a call."""
        wrong, wanted, answers = self._compared(call)
        return self._failure(call, int(np.argmax(wrong)), wanted, answers) if wrong.any() else None

    def _failure(self, call: FuzzCall, place: int, wanted: Words, answers: Answers) -> Failure:
        row = call.order[place]
        want = stripped(wanted[row])
        case = dataclasses.replace(_CASE, inputs=stripped(call.rows[row]), answers=(want,))
        error = answers.errors.get(place)
        got = None if error is not None else stripped(answers.words[place])
        return Failure(place, case, want, got, error or "", self.profile is not None)

    def wrong(self, inputs: Words, memory: int = 0) -> NDArray[np.bool_]:
        """Which cases the target answers wrongly in one call."""
        return self._compared(FuzzCall(inputs, memory))[0]

    def _compared(self, call: FuzzCall) -> tuple[NDArray[np.bool_], Words, Answers]:
        """Which answers in a call are wrong, the right ones by question, and the answers."""
        file, rows, order = self.file, call.rows, call.order
        own = fast_right_answers(file, rows, self.policy, self.profile)
        answers = self._answers(call)
        wanted, words = same_width(own.words, answers.words)
        want = nearest_admitted(file, rows[order], wanted[order], words, self.profile)
        same = same_answers(file, want, words, rows[order], bits=self.profile is not None)
        right = widened(file, np.all(same, axis=1), rows[order], words, self.policy)
        wrong: NDArray[np.bool_] = ~right
        raised = [*answers.errors]
        wrong[raised] = True
        wrong[[place for place in raised if order[place] in own.errors]] = False
        return wrong, wanted, Answers(words, answers.errors)

    def _answers(self, call: FuzzCall) -> Answers:
        """The target's answers to a call."""
        rows = call.rows[call.order] if call.size else call.rows
        with self._states.of_target():
            return _ask(self._asked, self.file, rows, call.memory)

    def change(self, call: FuzzCall, failure: Failure) -> Changed | None:
        """Two different answers to one question, if a target has given any.

        Args:
            call: a call that had a wrong answer, which is made again.
            failure: that answer.
        """
        before = self._again(call, failure)
        for _ in range(_AGAIN):
            found = self._difference(call, before, self._answers(call))
            if found is not None:
                return found
        if self._right is None:
            return None
        return self._difference(*self._right, self._answers(self._right[0]))

    def alone(self, changed: Changed) -> Changed:
        """Two different answers to the question of one case alone, if it gives any, else as is."""
        call = changed.call.alone(changed.failure.index)
        first = self._answers(call)
        for _ in range(_ALONE):
            found = self._difference(call, first, self._answers(call))
            if found is not None:
                return found
        return changed

    def _again(self, call: FuzzCall, failure: Failure) -> Answers:
        """The answers to a call, with the wrong answer that it has had before."""
        answers, place = self._answers(call), failure.index
        words, got = same_width(answers.words, padded([failure.got or ()]))
        words = words.copy()
        words[place] = got[0]
        errors = {other: text for other, text in answers.errors.items() if other != place}
        if failure.got is None:
            errors[place] = failure.error
        return Answers(words, errors)

    def _difference(self, call: FuzzCall, first: Answers, second: Answers) -> Changed | None:
        """The first question of a call that has got two different answers."""
        words = same_width(first.words, second.words)
        differs = np.zeros(call.count, bool)
        if words[0].size:  # not if all raised
            same = same_answers(
                self.file, *words, call.rows[call.order], bits=self.profile is not None
            )
            differs = ~np.all(same, axis=1)
        for place in {*first.errors, *second.errors}:
            differs[place] = (place in first.errors) != (place in second.errors)
        if not differs.any():
            return None
        place = int(np.argmax(differs))
        row = call.order[place]
        wanted = fast_right_answers(self.file, call.rows, self.policy, self.profile).words
        own, given = same_width(wanted[[row, row]], np.concatenate([w[[place]] for w in words]))
        asked, bits = call.rows[[row, row]], self.profile is not None
        right = np.all(same_answers(self.file, own, given, asked, bits=bits), axis=1)
        # An error has no words, which is right where the policy has none.
        failure = self._failure(call, place, wanted, second if right[0] else first)
        return Changed(call, failure, *(_answer(one, place) for one in (first, second)))


def _answer(answers: Answers, place: int) -> Answer:
    """The words in a place, or the text of the error."""
    return answers.errors.get(place) or stripped(answers.words[place])


def _ask(target: Target, file: VectorFile, inputs: Words, memory: int) -> Answers:
    """The answers to cases; tensors lie in the given memory order."""
    if memory == 0:
        return target.ask(file, inputs)
    # The memory order of a flagged case depends on its place in the file, modulo six.
    place = 2 * (memory - 1)
    strided = dataclasses.replace(_CASE, flags=("strided",))
    cases = (*[_CASE] * place, strided, *[_CASE] * (5 - place)) * len(inputs)
    asked = target.ask(dataclasses.replace(file, cases=cases), np.repeat(inputs, 6, axis=0))
    errors = {i // 6: error for i, error in asked.errors.items() if i % 6 == place}
    return Answers(asked.words[place::6], errors)


def _guarded(target: Target, op: str) -> Target:
    """The target; a Python function also fails if it changes its arguments."""
    if not isinstance(target, PythonTarget):
        return target
    functions = {**target.operations, op: _noticing(target.operations[op], op)}
    return dataclasses.replace(target, operations=functions)


def _noticing(function: Callable[..., Any], op: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        arrays = [one for one in arguments if isinstance(one, np.ndarray)]
        before = [one.tobytes() for one in arrays]
        result = function(*arguments)
        if before != [one.tobytes() for one in arrays]:
            raise AnswerError(f"{op} must not change its arguments")
        return result

    return call

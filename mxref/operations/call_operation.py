"""Operations whose cases are one call each, with choices of their own: those of `mxref.integer`.

Words are 32-bit patterns: floats, or integers in two's complement. The answer's words are codes in
two's complement of their own width, bytes, or float32 patterns. What a case holds is told by
`fields`; how a case is read, drawn and made smaller follows from them (`CallFields`).

A policy has the choices of the operation, spelled ``scaling=divide+nan=zero``; `default` is the one
without a choice. An operation may be defined outside of mxref: see docs/architecture.md.
"""

from __future__ import annotations

import functools
import itertools
import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mxref.operands import fields as of_fields
from mxref.operands.case_input import OWN, CaseInput
from mxref.operands.draws import Draws
from mxref.operands.kinds import signed
from mxref.operands.word_rows import padded, stripped
from mxref.operations.asked import Asked, one_row
from mxref.operations.asked_call import AskedCall, result_type, result_words, words_of
from mxref.operations.call_fields import CallFields, is_size
from mxref.operations.operation import AnyPolicy, Words
from mxref.operations.simpler import Attempt
from mxref.operations.wrong_answer import WrongAnswer
from mxref.policy.policy import Policy

__all__ = ["CallOperation"]

#: Questions of the vectors of an operation that has no designed ones.
_DRAWN = 64
#: Calls that are kept: more than a file has cases, whose arrays are small.
_CALLS = 256


class CallOperation(CallFields):
    """An operation whose cases are calls; what is its own beside its fields, choices and answers.

    What has a default here is to be said only where the fields do not say it.
    """

    varied = single = True
    multiples: ClassVar[tuple[str, ...]] = ()
    questions = 1 << 7
    #: Formats of few calls, each with the choices and the format of a file that decides each.
    further: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    #: Formats of which results that no policy gives may be right, see `admits`.
    admitting: ClassVar[tuple[str, ...]] = ()
    #: Known wrong implementations (`mxref.mutants.Mutant`) of an operation that mxref has not.
    mutants: ClassVar[tuple[Any, ...]] = ()
    #: The page that says how a target is called.
    page: ClassVar[str] = "docs/integers.md"
    #: The names of the axes of a result: fields beside it have the last ones; () if any that fit.
    axes: ClassVar[tuple[str, ...]] = ()
    #: About how many calls are asked of a format that no file has.
    few: ClassVar[int] = 8

    @abstractmethod
    def run(self, call: AskedCall, choices: Mapping[str, Any]) -> NDArray[Any]:
        """The result of a call under some choices, by the fast path.

        Raises:
            ValueError: it has none.
        """

    @abstractmethod
    def twin(self, format: str, words: Words, chosen: Mapping[str, str]) -> Iterable[int]:
        """The integers or patterns of the answer under all choices, by the slow twin.

        Raises:
            ValueError: there is none.
        """

    def admits(self, call: AskedCall, result: NDArray[Any]) -> bool:
        """Whether a result that no policy gives is right, such as one inside of bounds."""
        return False

    def place(self, index: int) -> str:
        """The number of the word."""
        return f" in word {index}"

    def difference(self, wrong: WrongAnswer) -> str:
        """The first wrong word, with what belongs to it."""
        index = wrong.first
        sides = (wrong.want, wrong.got)
        shown = [
            self.answer_shown(wrong.format, s[index]) if index < len(s) else "nothing"
            for s in sides
        ]
        came = self.beside(wrong.format, wrong.words, index)
        came = f"in {came}, " if came else ""
        return f"element {index}: {came}want {shown[0]}, got {shown[1]}"

    def not_refused(self, format: str, slot: str, words: Words, got: Words) -> str:
        """How many words there are."""
        return f"want an error, got {len(got)} words"

    def answer_shown(self, format: str, word: int) -> str:
        """A word of an answer: in hex, and the integer."""
        digits = self.digits(format, self.slot_of(format))[1]
        number = word if "uint" in format else signed(word, 4 * digits)
        return f"{word:0{digits}x} = {number}"

    def beside(self, format: str, words: Words, index: int) -> str:
        """What belongs to one number of an answer: single words, and arrays of the answer's shape.

        It is said of operations from outside of mxref, and of those that say it in another way.
        """
        if not self.is_own:
            return ""
        shape, found = self.call(format, words).shape, []
        fields = self.fields(format)
        for field, part in zip(fields, of_fields.parts_of(fields, words).values(), strict=True):
            if part.shape in ((), shape) and not is_size(field):
                word = int(np.broadcast_to(part, shape).reshape(-1)[index])
                found.append(f"{field.name} {field.kind.shown(word)}")
        return ", ".join(found)

    def probe_shown(self, format: str, words: Words, index: int) -> str:
        """A question of `identify`, as far as its words belong to one number of the answer."""
        shown = " ".join(f"{one:02x}" for one in words[:12])
        return f"{shown}{' ...' if len(words) > 12 else ''}, word {index}"

    def refused_at(self, format: str, words: Words) -> int:
        """The number of an answer for which a case may be refused."""
        return 0

    def attempts(self, format: str, slot: str, words: Words) -> Iterator[Attempt]:
        """What is smaller, without what has no answer."""
        yield partial(self.smaller_rows, format)

    def smaller_rows(
        self, format: str, row: NDArray[np.uint64], most: int | None = None
    ) -> NDArray[np.uint64]:
        """Cases to try instead of one, the simplest first, padded, each with an answer.

        Args:
            format: the format.
            row: the words of the case.
            most: how many at most; None: all.

        >>> from mxref.operations.registry import CALL_OPERATIONS
        >>> row = padded([(1, 3, 0, 5, 0)])[0]
        >>> [stripped(one) for one in CALL_OPERATIONS["pack_int4"].smaller_rows("int4", row)[:3]]
        [(1, 1, 0), (1, 1, 5), (1, 2, 5, 0)]
        """
        words, first = stripped(row), self.first_policy(format)

        def has_answer(case: Words) -> bool:
            try:
                self.answer(format, case, first)
            except ValueError:
                return False
            return True

        def legal() -> Iterator[Words]:
            seen = {words}
            for one in map(tuple, self.smaller(format, words)):
                if one not in seen and has_answer(one):
                    yield one
                seen.add(one)

        found = [*itertools.islice(legal(), most)]
        return padded(found) if found else np.empty((0, len(words)), np.uint64)

    def calls(self, format: str, slot: str, words: NDArray[Any]) -> Iterator[Asked]:
        """One call a case."""
        names = self.argument_names(format)
        for i, row in enumerate(words):
            call = self._known(format, stripped(row))
            given = itertools.chain(names, (f"argument_{j}" for j in itertools.count()))
            own = (one.copy() if isinstance(one, np.ndarray) else one for one in call.arguments)
            arguments = dict(zip(given, own, strict=False))
            read = partial(one_row, partial(result_words, call=call))
            yield Asked(slice(i, i + 1), arguments, read)

    def designed(self, format: str) -> Iterable[CaseInput]:
        """The inputs of its vectors: by default the easy case, and random ones."""
        yield CaseInput("easy", tuple(self.easy(format, self.slot_of(format))), OWN)
        yield from self.drawn_cases(format, _DRAWN, OWN)

    def drawn_cases(self, format: str, count: int, model: str) -> Iterator[CaseInput]:
        """Random cases."""
        for i in range(count):
            words = self.question(format, Draws(f"{self.name} {format} {i}"), i)
            yield CaseInput(f"drawn_{i}", tuple(int(word) & 0xFFFFFFFF for word in words), model)

    def clause(self, format: str, words: Words, answer: Words) -> tuple[bool, str, tuple[str, ...]]:
        """Whether a standard requires an answer, the clause that decides it, and flags."""
        return False, OWN, ()

    def run_column(self, format: str, words: Words, column: str) -> tuple[int, ...]:
        """The words of one of `bounds`, by the fast path."""
        raise ValueError(f"{self.name} must be asked for a policy, got {column!r}")

    def twin_column(self, format: str, words: Words, column: str) -> Iterable[int]:
        """The words of one of `bounds`, by the slow twin."""
        raise ValueError(f"{self.name} must be asked for a policy, got {column!r}")

    def digits(self, format: str, slot: str) -> tuple[int, int]:
        """Words in of 32 bits, words out of the format's."""
        return 8, result_type(format).itemsize * 2

    def counts(self, format: str, words: Words, policy: Policy) -> tuple[int, int]:
        """All words in, and as many out as the result has numbers."""
        return len(words), math.prod(self.call(format, words).shape)

    def answer(self, format: str, words: Words, policy: str) -> tuple[int, ...]:
        """The answer of a policy, or of one of `bounds`, to one case, by the fast path.

        Raises:
            ValueError: it has none.
        """
        if policy in self.bounds(format):
            return self.run_column(format, words, policy)
        call = self._known(format, words)
        return words_of(np.asarray(self.run(call, self.parse(format, policy))))

    def _known(self, format: str, words: Words) -> AskedCall:
        """The call of a case; from outside of mxref a new one: it may write to its arguments."""
        return self.call(format, words) if self.is_own else _known_call(self, format, (*words,))

    def exact_answer(self, format: str, words: Words, policy: str) -> tuple[int, ...]:
        """The answer of a policy, or of one of `bounds`, to one case, by the slow twin.

        Raises:
            ValueError: it has none.

        >>> from mxref.operations.registry import CALL_OPERATIONS
        >>> CALL_OPERATIONS["pack_int4"].exact_answer("int4", (1, 3, 1, 2, 3), "default")
        (154, 184)
        """
        call = self.call(format, words)
        if policy in self.bounds(format):
            found = self.twin_column(format, words, policy)
        else:
            chosen = {name: members[0] for name, members in self.choices(format).items()}
            found = self.twin(format, words, chosen | self.parse(format, policy))
        mask = (1 << 8 * call.dtype.itemsize) - 1
        return tuple(word & mask for word in found)

    def exact(
        self, format: str, slot: str, questions: Iterable[Words], policy: AnyPolicy
    ) -> list[tuple[int, ...]]:
        """The answers, by the slow twin; those of the first policy for a policy of MX."""
        name = policy if isinstance(policy, str) else self.first_policy(format)
        return [self.exact_answer(format, w, name) for w in questions]

    def fast(
        self, format: str, slot: str, words: NDArray[Any], policy: AnyPolicy
    ) -> NDArray[np.uint64]:
        """The answers, by the fast path; those of the first policy for a policy of MX."""
        name = policy if isinstance(policy, str) else self.first_policy(format)
        rows = (stripped(row) for row in words.astype(np.uint64))
        return padded([self.answer(format, row, name) for row in rows])


@functools.lru_cache(maxsize=_CALLS)
def _known_call(operation: CallOperation, format: str, words: tuple[int, ...]) -> AskedCall:
    """The call of a case, which is asked under many policies one after the other."""
    return operation.call(format, words)

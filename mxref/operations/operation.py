"""What an operation is: its call, the words of its cases, its choices and both references."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, TypeAlias

from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS
from mxref.operands.kinds import Codes, Kind
from mxref.operations.asked import Asked
from mxref.operations.facts import Facts
from mxref.operations.simpler import Attempt, attempts_by_kinds
from mxref.operations.wrong_answer import WrongAnswer
from mxref.policy.policy import Policy

__all__ = [
    "AnyPolicy",
    "Kinds",
    "Operation",
    "Words",
    "changed_choices",
    "floats_of",
    "policy_of",
    "shown_by",
]

#: A policy; of integer operations it is the spelling of their own choices.
AnyPolicy: TypeAlias = Policy | str
Words = Sequence[int]
Kinds: TypeAlias = "Sequence[Kind | None]"

#: Choices whose argument in the slow twin has another name.
_EXACT_NAMES = {"scale_rule": "rule", "scale_rounding": "rounding"}


class Operation(Facts, ABC):
    """One operation of the vectors.

    A case is words in, words out: bit patterns as integers. The slot of a file is the float type of
    its numbers or the layout of its bytes.
    """

    def changed(self, policy: AnyPolicy, format: str = "") -> dict[str, str]:
        """The choices of a policy that it reads and that differ from `ocp`, by name."""
        return changed_choices(self.reads(format), policy_of(policy))

    def bounds(self, format: str) -> tuple[str, ...]:
        """Columns of its files that are no policies: ends of intervals, or what is done instead.

        >>> from mxref.operations.registry import REGISTRY
        >>> REGISTRY["rescale"].bounds("int8-int8"), REGISTRY["pack_int4"].bounds("int4")
        (('dequantize_quantize',), ())
        """
        return ()

    def answerable(self, format: str, slot: str, policy: Policy) -> bool:
        """Whether the cases of a file have an answer under a policy."""
        return True

    def digits(self, format: str, slot: str) -> tuple[int, int]:
        """Hex digits of a word in and of a word out.

        >>> from mxref.operations.registry import REGISTRY
        >>> REGISTRY["encode"].digits("e4m3", "bf16"), REGISTRY["decode"].digits("e4m3", "f32")
        ((4, 2), (2, 8))
        >>> REGISTRY["quantize_affine"].digits("int16_axis", "f32")
        (8, 4)
        """
        number = LAYOUTS[slot].width // 4 if slot in LAYOUTS else 2
        return (2, number) if self.from_codes else (number, 2)

    def counts(self, format: str, words: Words, policy: Policy) -> tuple[int, int]:
        """How many words a case must have in and out.

        Args:
            format: the file's.
            words: the words in, as far as the numbers depend on them.
            policy: the layout, of operations on layouts.

        Raises:
            ValueError: no case begins with these words.

        >>> from mxref.operations.registry import REGISTRY
        >>> REGISTRY["quantize"].counts("mxfp4_e2m1", (), Policy())
        (32, 33)
        >>> REGISTRY["unpack"].counts("e2m1", (5, 0, 0, 0), Policy())
        (4, 5)
        >>> REGISTRY["pack_int4"].counts("int4", (1, 3, 1, 2, 3), Policy())
        (5, 2)
        """
        return 1, 1

    def easy(self, format: str, slot: str) -> tuple[int, ...]:
        """The words of a legal and plain case, mostly zeros.

        >>> from mxref.operations.registry import REGISTRY
        >>> REGISTRY["encode"].easy("e2m1", "f32")
        (0,)
        >>> [REGISTRY["unpack"].easy("e2m1", name) for name in ("low_nibble_first", "bytes")]
        [(2, 0), (2, 0)]
        """
        return (0,)

    @abstractmethod
    def kinds_in(self, format: str, slot: str, words: Words) -> Kinds:
        """The kind of each word of a case; None of sizes and of what is no value.

        >>> from mxref.operations.registry import REGISTRY
        >>> (kind,) = REGISTRY["decode"].kinds_in("e4m3", "f32", (0x38,))
        >>> kind.shown(0x38), next(kind.simpler(0x38)), kind.is_legal(256)
        ('38 = 1', 0, False)
        """

    @abstractmethod
    def kinds_out(self, format: str, slot: str, words: Words, count: int) -> Kinds:
        """The kind of each word of an answer of `count` words to a case.

        >>> from mxref.operations.registry import REGISTRY
        >>> REGISTRY["quantize"].kinds_out("mxfp4_e2m1", "f32", (), 33)[0].shown(0x80)
        '80 = 2^1'
        """

    def check_words(self, format: str, slot: str, words: Words, answers: Iterable[Words]) -> None:
        """Refuse words of a case and of its answers that are no codes of their formats.

        Raises:
            ValueError: a word is no code.
        """
        sides = [(words, self.kinds_in(format, slot, words))]
        sides += [(one, self.kinds_out(format, slot, words, len(one))) for one in answers]
        for side, kinds in sides:
            start = 0
            for kind, same in groupby(kinds):
                end = start + len(list(same))
                if isinstance(kind, Codes) and not kind.is_legal(max(side[start:end])):
                    raise ValueError(f"holds what is no code of {kind.fmt.name}")
                start = end

    def source(self, format: str, slot: str, words: Words, want: Words, index: int) -> str:
        """What a word of an answer comes from, in words, with a comma behind; or empty.

        Args:
            format: the format.
            slot: the float type.
            words: the case.
            want: the right answer.
            index: the number of the word.

        >>> from mxref.operations.registry import REGISTRY
        >>> REGISTRY["encode"].source("e4m3", "f32", (0x3F800000,), (0x38,), 0)
        'in 3f800000 = 0x1p+0 = 1, '
        """
        return ""

    def difference(self, wrong: WrongAnswer) -> str:
        """What is wrong with an answer, in words: the first wrong word, and what it comes from.

        >>> import numpy as np
        >>> from mxref.operations.registry import REGISTRY
        >>> every = np.array([True])
        >>> wrong = WrongAnswer("e4m3", "bf16", (0x38,), (0x3F80,), (0x3F81,), every, None)
        >>> REGISTRY["decode"].difference(wrong)
        'code 38 = 1, want 3f80 = 0x1p+0 = 1, got 3f81 = 0x1.02p+0 = 1.0078'
        """
        index, want = wrong.first, wrong.want
        kind = self.kinds_out(wrong.format, wrong.slot, wrong.words, len(want))[index]
        came = self.source(wrong.format, wrong.slot, wrong.words, want, index)
        if kind is None:
            return f"{came}want {want[index]:02x}, got {wrong.got[index]:02x}"
        return f"{came}{kind.difference(want[index], wrong.got[index])}"

    def asked(self, format: str, slot: str, words: Words, answer: Words, index: int) -> str:
        """A question in words, as far as a word of an answer depends on it.

        Args:
            format: the format.
            slot: the float type.
            words: the case.
            answer: the answer, empty if it is an error.
            index: the number of the word.

        >>> from mxref.operations.registry import REGISTRY
        >>> REGISTRY["encode_stochastic"].asked("e4m3", "f32", (0x3F800000, 5, 8), (0x38,), 0)
        '3f800000 = 0x1p+0 = 1, random bits 5 of 8'
        """
        (kind, *_) = self.kinds_in(format, slot, words)
        return shown_by(kind, words[0])

    def answered(self, format: str, slot: str, words: Words, answer: Words, index: int) -> str:
        """A word of an answer in words; arguments as in `asked`."""
        return shown_by(self.kinds_out(format, slot, words, len(answer))[index], answer[index])

    def not_refused(self, format: str, slot: str, words: Words, got: Words) -> str:
        """An answer to a case that is an error, in words."""
        if len(got) > 1:
            return f"want an error, got {len(got)} codes"
        (kind,) = self.kinds_out(format, slot, words, 1)
        text = kind.with_fields(got[0]) if isinstance(kind, Codes) else shown_by(kind, got[0])
        return f"{self.source(format, slot, words, (), 0)}want an error, got {text}"

    def place(self, index: int) -> str:
        """Where a word of an answer is, in words; empty if there is only one."""
        return ""

    def attempts(self, format: str, slot: str, words: Words) -> Iterator[Attempt]:
        """Ways to simplify a case, each from a case, a row, to simpler ones, the simplest first."""
        return attempts_by_kinds(self.kinds_in(format, slot, words), moved=not self.varied)

    @abstractmethod
    def exact(
        self, format: str, slot: str, questions: Iterable[Words], policy: AnyPolicy
    ) -> list[tuple[int, ...]]:
        """The words out of cases, by the slow twin."""

    @abstractmethod
    def fast(self, format: str, slot: str, words: NDArray[Any], policy: AnyPolicy) -> NDArray[Any]:
        """The words out of cases, one a row, by the fast path."""

    @abstractmethod
    def calls(self, format: str, slot: str, words: NDArray[Any]) -> Iterator[Asked]:
        """The calls of a target's function that ask cases, one a row of words.

        >>> from mxref.operations.registry import REGISTRY
        >>> import numpy as np
        >>> words = np.array([[0x3F800000]], np.uint64)
        >>> (one,) = REGISTRY["encode"].calls("e4m3", "f32", words)
        >>> one.arguments, one.read(np.uint8([0x38])).tolist()
        ({'values': array([1.], dtype=float32), 'format': 'e4m3'}, [[56]])
        """

    def row_calls(self, format: str, slot: str, words: NDArray[Any]) -> Iterator[Asked]:
        """`calls` of a function that is given a scale of the tensor for each row.

        >>> from mxref.operations.registry import REGISTRY
        >>> import numpy as np
        >>> words = np.array([[0x3F800000, *[0] * 16], [0x40000000, *[0] * 16]], np.uint64)
        >>> (one,) = REGISTRY["quantize"].row_calls("nvfp4", "f32", words)
        >>> one.arguments["tensor_scale"]
        array([[1.],
               [2.]], dtype=float32)
        """
        return self.calls(format, slot, words)

    def twin_choices(self, policy: AnyPolicy) -> dict[str, Any]:
        """The choices of a policy as arguments of the slow twin, whose cases are whole blocks."""
        read = self.changed(policy)
        left_out = ("tail", "scale_arithmetic")
        return {_EXACT_NAMES.get(n, n): value for n, value in read.items() if n not in left_out}


def floats_of(words: NDArray[Any], slot: str) -> NDArray[Any]:
    """Words as floats of a type.

    >>> import numpy as np
    >>> floats_of(np.array([0x3F80], np.uint64), "bf16").tolist()
    [1.0]
    """
    layout = LAYOUTS[slot]
    return words.astype(layout.uint).view(layout.dtype)


def shown_by(kind: Kind | None, word: int) -> str:
    """A word as its kind shows it, or in hex."""
    return f"{word:02x}" if kind is None else kind.shown(word)


def policy_of(policy: AnyPolicy) -> Policy:
    """A policy of MX, which may be spelled.

    >>> policy_of("ocp") == Policy() == policy_of(Policy())
    True
    """
    return Policy.parse(policy) if isinstance(policy, str) else policy


def changed_choices(read: Collection[str], policy: Policy) -> dict[str, str]:
    """The choices of a policy that are read and that differ from `ocp`, by name.

    >>> changed_choices(("rounding",), Policy.parse("ocp+rounding=to_odd+scale_rule=ceil"))
    {'rounding': 'to_odd'}
    """
    default = Policy().choices()
    return {n: v for n, v in policy.choices().items() if n in read and v != default[n]}

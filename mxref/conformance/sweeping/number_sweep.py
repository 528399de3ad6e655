"""A sweep over every input of an operation of one number, a part at a time.

Between two steps there is one right answer, so a run of answers is compared with one number.
Inputs are made and answers compared while they are in the cache: most time goes to the target.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.cases.records import VectorFile
from mxref.cases.steps import Steps, steps
from mxref.conformance.compare.compare import same_answers
from mxref.conformance.sweeping.intervals import Found, find
from mxref.conformance.sweeping.plan import OwnTarget, Plan, SweepPart
from mxref.operands.kinds import Codes as CodesOf
from mxref.operands.returned import AnswerError
from mxref.support.scratch import scratch
from mxref.targets.calls import error_text, is_fault, quiet
from mxref.targets.target import Target, TargetError

__all__ = ["part_size", "sweep_numbers"]

#: Inputs of one call with an array, and of one part of the sweep.
_CALL, _PART = 1 << 19, 1 << 22
#: Inputs of one call, and of one part, of targets that are asked in words.
_WORDS = 1 << 16
#: Most calls to find out which inputs of one call raise.
_CALLS = 1024
#: Inputs that must raise one by one for a whole range to count as raising.
_PROBES = 8

Codes = NDArray[Any]
#: Ranges of inputs that raised: begin, end and text.
Errors = list[tuple[int, int, str]]


def part_size(target: Target, file: VectorFile) -> int:
    """The number of inputs of a part."""
    return _WORDS if _codes_of(target, file) is None else _PART


def _codes_of(target: Target, file: VectorFile) -> Callable[[VectorFile, Codes], Codes] | None:
    """The target's function on arrays, or None."""
    return None if file.row.from_codes else getattr(target, "codes", None)


def sweep_numbers(plan: Plan, first: int) -> SweepPart:
    """Ask the target one part of the inputs and compare.

    Raises:
        TargetError: the target's answer is no array of codes.
    """
    began = time.perf_counter()
    target, end = plan.target(), min(first + plan.size, plan.end)
    file, asker = plan.file, _Asker(target, plan.file)
    right = steps(file.op, file.format, file.float, plan.policy)
    found, codes = [], []
    with asker.context():
        for start in range(first, end, asker.size):
            stop = min(start + asker.size, end)
            answers, errors = asker.answers(start, stop)
            wrong = _compared(file, right, start, answers, errors)
            found += [] if wrong is None else [wrong]
            if plan.digest:
                codes.append(answers.astype(np.uint8, copy=False).tobytes())
    busy = time.perf_counter() - began
    return SweepPart(tuple(found), end - first, asker.seconds, busy, b"".join(codes))


class _Asker:
    """Asks a target the inputs of ranges, and measures its time."""

    def __init__(self, target: Target, file: VectorFile) -> None:
        self.target, self.file, self.seconds, self.left = target, file, 0.0, 0
        self.codes = _codes_of(target, file)
        self.size = _WORDS if self.codes is None else _CALL

    def context(self) -> contextlib.AbstractContextManager[Any]:
        """Silences output and warnings; outside the main thread only this thread's warnings."""
        if threading.current_thread() is threading.main_thread():
            return quiet()
        return np.errstate(all="ignore")

    def answers(self, first: int, end: int) -> tuple[Codes, Errors]:
        """The answers from `first` on, zeros for inputs that raised, and these inputs."""
        if self.codes is None:
            return self._in_words(first, end)
        try:
            return self._in_arrays(first, end), []
        except BaseException as error:
            return self._one_by_one(first, end, _text(self.target, error))

    def _in_words(self, first: int, end: int) -> tuple[Codes, Errors]:
        words = np.arange(first, end, dtype=np.uint64)[:, np.newaxis]
        began = time.perf_counter()
        answers = self.target.ask(self.file, words)
        self.seconds += time.perf_counter() - began
        errors = [(first + i, first + i + 1, text) for i, text in answers.errors.items()]
        codes = answers.words[:, 0] if answers.words.shape[1] else np.zeros(len(words), np.uint64)
        return codes, errors

    def _in_arrays(self, first: int, end: int) -> Codes:
        # A new array, since the target may keep it or write to it; mxref itself gets the same
        # memory each time, which is faster.
        layout = LAYOUTS[self.file.float]
        is_own = isinstance(self.target, OwnTarget)
        memory = scratch("swept", end - first, layout.uint) if is_own else None
        values = np.add(_offsets(layout)[: end - first], layout.uint.type(first), out=memory)
        began = time.perf_counter()
        try:
            return self.codes(self.file, values.view(layout.dtype))  # type: ignore[misc]
        finally:
            self.seconds += time.perf_counter() - began

    def _one_by_one(self, first: int, end: int, text: str) -> tuple[Codes, Errors]:
        """The answers of a range that raises, halved until a part raises nowhere or everywhere."""
        codes, errors = np.zeros(end - first, np.uint64), []
        self.left = _CALLS
        spans = [(first, end, text)]  # which raise
        while spans:
            a, b, text = spans.pop()
            if self.left <= 0:
                errors.append((a, b, f"{text}, some of these inputs"))
                continue
            probes = {a + (b - a - 1) * i // (_PROBES - 1) for i in range(_PROBES)}
            if b - a == 1 or all(isinstance(self._attempt(n, n + 1), str) for n in sorted(probes)):
                errors.append((a, b, text))
                continue
            middle = (a + b) // 2
            for low, high in ((middle, b), (a, middle)):
                some = self._attempt(low, high)
                if isinstance(some, str):
                    spans.append((low, high, some))
                else:
                    codes[low - first : high - first] = some
        return codes, errors

    def _attempt(self, first: int, end: int) -> Codes | str:
        self.left -= 1
        try:
            return self._in_arrays(first, end)
        except BaseException as error:
            return _text(self.target, error)


def _text(target: Target, error: BaseException) -> str:
    """An error of the target as text; other exceptions are raised again."""
    if not is_fault(error):
        raise error
    if isinstance(error, AnswerError):
        raise TargetError(f"target {target.name} cannot be swept: {error}") from None
    return error_text(error)


@functools.lru_cache(2)
def _offsets(layout: FloatLayout) -> NDArray[Any]:
    offsets = np.arange(min(_CALL, 1 << layout.width), dtype=layout.uint)
    offsets.flags.writeable = False
    return offsets


def _compared(
    file: VectorFile, right: Steps, first: int, codes: Codes, errors: Errors
) -> Found | None:
    """The wrong inputs of a range of answers."""
    runs = list(right.runs(first, first + len(codes)))
    wrong = np.zeros(len(codes), bool) if errors else None
    for begin, end, want in runs:
        run = slice(begin - first, end - first)
        # The smallest and the largest answer need no temporary array.
        if not int(codes[run].min()) == want == int(codes[run].max()):
            differs = _differs(file, want, codes[run])
            if differs.any():
                wrong = np.zeros(len(codes), bool) if wrong is None else wrong
                wrong[run] = differs
    if wrong is None:
        return None
    # Codes stay bytes, which are counted much faster than words.
    answers = np.array([want for _, _, want in runs], np.min_scalar_type(max(right.answers)))
    wants = np.repeat(answers, [end - begin for begin, end, _ in runs])
    return find(first, wrong, wants, codes, errors)


def _differs(file: VectorFile, want: int, got: Codes) -> NDArray[np.bool_]:
    """Where answers differ from the right one, by the rules of `same_answers`."""
    differs: NDArray[np.bool_] = got != want
    (kind,) = file.row.kinds_out(file.format, file.float, (), 1)
    if not isinstance(kind, CodesOf):
        words = got.astype(np.uint64)[:, np.newaxis]
        return ~same_answers(file, np.full_like(words, want), words)[:, 0]
    if want in kind.fmt.nan_codes:  # all NaN codes are right
        for code in kind.fmt.nan_codes:
            differs &= got != code
    return differs

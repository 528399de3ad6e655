"""A sweep over every input of an operation of one number, a part at a time.

Between two steps there is one right answer, so a part is compared run by run with one number. What
costs time is the target: inputs are made, and answers compared, while they are in the cache.
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
from mxref.support.scratch import scratch
from mxref.targets.calls import code_format, error_text, is_fault, quiet
from mxref.targets.returned import AnswerError
from mxref.targets.target import Target, TargetError

__all__ = ["part_size", "sweep_numbers"]

#: Inputs of one call of a function of arrays, and of one part of the sweep.
_CALL, _PART = 1 << 19, 1 << 22
#: The same of targets that are asked in words.
_WORDS = 1 << 16
#: Calls that may be spent on finding out which inputs of one call raise.
_CALLS = 1024
#: Inputs that must raise one by one for all of a range to count as raising.
_PROBES = 8

Codes = NDArray[Any]
#: Ranges of inputs that raised: begin, end and text.
Errors = list[tuple[int, int, str]]


def part_size(target: Target, file: VectorFile) -> int:
    """How many inputs are one part."""
    return _WORDS if _codes_of(target, file) is None else _PART


def _codes_of(target: Target, file: VectorFile) -> Callable[[VectorFile, Codes], Codes] | None:
    """The target's function of arrays; None if there is none."""
    from_number = file.op in ("encode", "encode_scale", "shared_scale")
    return getattr(target, "codes", None) if from_number else None


def sweep_numbers(plan: Plan, first: int) -> SweepPart:
    """Put one part of the inputs to the target and compare.

    Raises:
        TargetError: the target answers with what is no array of codes.
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
    """Asks a target for the answers to ranges of inputs, and takes the time."""

    def __init__(self, target: Target, file: VectorFile) -> None:
        self.target, self.file, self.seconds, self.left = target, file, 0.0, 0
        self.codes = _codes_of(target, file)
        self.size = _WORDS if self.codes is None else _CALL

    def context(self) -> contextlib.AbstractContextManager[Any]:
        """Silence; of other threads only where it is theirs alone."""
        if threading.current_thread() is threading.main_thread():
            return quiet()
        return np.errstate(all="ignore")

    def answers(self, first: int, end: int) -> tuple[Codes, Errors]:
        """The answers from `first` on, and which inputs raised, whose answers are zeros."""
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
        # A new array, made from what nobody else sees: the target may keep it and write to it, but
        # for mxref itself, which spares the system the pages of a new one.
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
        """The answers of a range that raises: halved until parts do not, or all of a part does."""
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
    """An error of the target in words; what is none goes on its way."""
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
    """What is wrong in a range of answers."""
    runs = list(right.runs(first, first + len(codes)))
    wrong = np.zeros(len(codes), bool) if errors else None
    for begin, end, want in runs:
        run = slice(begin - first, end - first)
        # Smallest and largest answer: no array between, unlike a comparison of all.
        if not int(codes[run].min()) == want == int(codes[run].max()):
            differs = _differs(file, want, codes[run])
            if differs.any():
                wrong = np.zeros(len(codes), bool) if wrong is None else wrong
                wrong[run] = differs
    if wrong is None:
        return None
    # Codes stay bytes, which are sorted out much faster than words.
    answers = np.array([want for _, _, want in runs], np.min_scalar_type(max(right.answers)))
    wants = np.repeat(answers, [end - begin for begin, end, _ in runs])
    return find(first, wrong, wants, codes, errors)


def _differs(file: VectorFile, want: int, got: Codes) -> NDArray[np.bool_]:
    """Where answers are not the one that is right, as `same_answers` has it."""
    differs: NDArray[np.bool_] = got != want
    if file.op in ("decode", "decode_scale"):
        words = got.astype(np.uint64)[:, np.newaxis]
        return ~same_answers(file, np.full_like(words, want), words)[:, 0]
    nan_codes = code_format(file).nan_codes
    if file.op == "encode" and want in nan_codes:  # a long run, of which each code costs little
        for code in nan_codes:
            differs &= got != code
    return differs

"""The plan of a sweep, the same in every process, and the result of a part."""

from __future__ import annotations

import functools
import pickle
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.cases.answers import fast_answers
from mxref.cases.records import VectorFile
from mxref.numbers.element import encode
from mxref.numbers.scale import encode_scale, shared_scale
from mxref.policy.policy import Policy
from mxref.support.scratch import scratch
from mxref.targets.calls import Answers, quiet
from mxref.targets.target import Target

__all__ = ["OwnTarget", "Plan", "Source", "SweepPart"]

#: A target, or a function without arguments that returns it, for other processes to call.
Source = Target | Callable[[], Target]


@dataclass(frozen=True, slots=True)
class OwnTarget:
    """mxref itself, under a policy, as a target."""

    policy: Policy
    name: str = "mxref"

    def covers(self, op: str, format: str, float: str) -> bool:
        """Everything."""
        return True

    def ask(self, file: VectorFile, inputs: NDArray[np.uint64]) -> Answers:
        """Its answers, by the fast path."""
        words = fast_answers(file.op, file.format, file.float, inputs, self.policy)
        return Answers(words.astype(np.uint64))

    def codes(self, file: VectorFile, values: NDArray[Any]) -> NDArray[Any]:
        """Its codes of floats (n,); `encode` writes to memory that the next call reuses."""
        match file.op:
            case "encode":
                out = scratch("swept codes", values.size, np.uint8)
                return encode(values, file.format, self.policy, out=out)
            case "encode_scale":
                return encode_scale(values, self.policy)
        return shared_scale(values, file.format, policy=self.policy)


@dataclass(frozen=True, slots=True)
class Plan:
    """A sweep.

    Args:
        source: the target, or in other processes a pickled `Source`.
        file: operation, format and float type, without cases.
        policy: the policy to compare with.
        first: the first input, or scale.
        end: the end of the inputs, or scales.
        size: number of inputs, or scales, of a part.
        digest: whether parts return their codes.
    """

    source: Target | bytes
    file: VectorFile
    policy: Policy
    first: int
    end: int
    size: int
    digest: bool = False

    def target(self) -> Target:
        """The target, loaded once in each process."""
        if not isinstance(self.source, bytes):
            return self.source
        with _LOADING:  # a worker of Dask has several threads
            return _loaded(self.source)

    def parts(self) -> range:
        """Where the parts begin."""
        return range(self.first, self.end, self.size)


@dataclass(frozen=True, slots=True)
class SweepPart:
    """The result of one part of a sweep.

    Args:
        found: the wrong answers, for the sweep's tally.
        cases: number of answers compared.
        asked: seconds in the target.
        busy: seconds in total.
        codes: the target's codes as bytes, for a digest.
    """

    found: tuple[Any, ...]
    cases: int
    asked: float
    busy: float
    codes: bytes = b""


_LOADING = threading.Lock()


@functools.lru_cache(4)
def _loaded(source: bytes) -> Target:
    with quiet():
        found: Any = pickle.loads(source)
        target: Target = found() if callable(found) else found
    return target

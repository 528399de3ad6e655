"""The result of a sweep of one format, and the account of its parts so far."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mxref.cases.records import VectorFile
from mxref.conformance.sweeping.block_tally import BlockTally
from mxref.conformance.sweeping.intervals import Tally
from mxref.conformance.sweeping.plan import SweepPart

__all__ = ["Account", "Swept"]


@dataclass(frozen=True, slots=True)
class Swept:
    """The result of a sweep.

    Args:
        target: the target's name.
        file: operation, format and float type.
        policy: the policy compared with, as far as the operation reads it.
        cases: number of answers compared.
        tally: the wrong answers.
        seconds: duration of all runs together.
        share: the target's share of the duration.
        digest: SHA-256 of all codes as bytes in the order of the inputs, 00 where the target
            raised; empty if not requested.
        date: date of the state that all of it is from; empty if anything was asked.
        ending: what is wrong with how the target, a program, ended after its last answer.
        coverage: what was asked, in words, where operation, format and float type do not say it.
    """

    target: str
    file: VectorFile
    policy: str
    cases: int
    tally: Tally | BlockTally
    seconds: float
    share: float
    digest: str = ""
    date: str = ""
    ending: str = ""
    coverage: str = ""

    @property
    def passed(self) -> bool:
        """Whether answers were compared, none was wrong, and the target ended well."""
        is_right = self.tally.wrong == 0
        if isinstance(self.tally, BlockTally):
            is_right = is_right and not self.tally.scales
        return self.cases > 0 and is_right and not self.ending


@dataclass(slots=True)
class Account:
    """The sums over the parts of one format so far.

    Args:
        tally: the wrong answers.
        cases: number of answers compared.
        asked: seconds in the target, of all workers.
        busy: seconds of work, of all workers.
        seconds: seconds that passed.
        sha256: hash of all codes.
    """

    tally: Tally | BlockTally
    cases: int = 0
    asked: float = 0.0
    busy: float = 0.0
    seconds: float = 0.0
    sha256: Any = field(default_factory=hashlib.sha256)

    def add(self, part: SweepPart, seconds: float) -> None:
        """Add the next part, which took `seconds` after the one before."""
        for found in part.found:
            self.tally.add(found)
        self.cases += part.cases
        self.asked += part.asked
        self.busy += part.busy
        self.seconds += seconds
        self.sha256.update(part.codes)

    def swept(
        self, target: str, file: VectorFile, policy: str, *, inline: bool, digest: bool
    ) -> Swept:
        """The result; `inline` if this process did all the work."""
        share = self.asked / max(self.seconds if inline else self.busy, 1e-9)
        sha256 = self.sha256.hexdigest() if digest else ""
        return Swept(target, file, policy, self.cases, self.tally, self.seconds, share, sha256)

    def as_json(self) -> dict[str, Any]:
        """The account as plain data, without the digest, which cannot be resumed."""
        numbers = {name: getattr(self, name) for name in _NUMBERS}
        return {**numbers, "tally": self.tally.as_json()}

    @classmethod
    def from_json(cls, kind: type[Tally | BlockTally], record: Mapping[str, Any]) -> Account:
        """The account that `as_json` wrote, with its kind of tally."""
        return cls(kind.from_json(record["tally"]), *(record[name] for name in _NUMBERS))


_NUMBERS = ("cases", "asked", "busy", "seconds")

"""What is known of one format: of its parts so far, and in the end."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mxref.cases.records import VectorFile
from mxref.conformance.sweeping.block_sweep import BlockTally
from mxref.conformance.sweeping.intervals import Tally
from mxref.conformance.sweeping.plan import SweepPart

__all__ = ["Account", "Swept"]


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep found.

    Args:
        target: the target's name.
        file: operation, format and float type.
        policy: what was compared with, as far as the operation reads it.
        cases: how many answers were compared.
        tally: what is wrong.
        seconds: how long it took, all its runs together.
        share: the share of this time that the target took.
        digest: SHA-256 of all codes as bytes in the order of the inputs, 00 where the target
            raised; empty if it was not asked for.
    """

    target: str
    file: VectorFile
    policy: str
    cases: int
    tally: Tally | BlockTally
    seconds: float
    share: float
    digest: str = ""

    @property
    def passed(self) -> bool:
        """Something was compared, and nothing was wrong."""
        is_right = self.tally.wrong == 0
        if isinstance(self.tally, BlockTally):
            is_right = is_right and not self.tally.scales
        return self.cases > 0 and is_right


@dataclass(slots=True)
class Account:
    """The parts of one format so far, added in their order.

    Args:
        tally: what is wrong.
        cases: how many answers were compared.
        asked: seconds in the target, of all who worked.
        busy: seconds in all, of all who worked.
        seconds: seconds that passed.
        sha256: of all codes.
    """

    tally: Tally | BlockTally
    cases: int = 0
    asked: float = 0.0
    busy: float = 0.0
    seconds: float = 0.0
    sha256: Any = field(default_factory=hashlib.sha256)

    def add(self, part: SweepPart, seconds: float) -> None:
        """The next part, which came so many seconds after the one before."""
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
        """The result; `inline` if all the work was done by this process."""
        share = self.asked / max(self.seconds if inline else self.busy, 1e-9)
        sha256 = self.sha256.hexdigest() if digest else ""
        return Swept(target, file, policy, self.cases, self.tally, self.seconds, share, sha256)

    def as_json(self) -> dict[str, Any]:
        """As plain data, without the digest, which cannot go on."""
        numbers = {name: getattr(self, name) for name in _NUMBERS}
        return {**numbers, "tally": self.tally.as_json()}

    @classmethod
    def from_json(cls, kind: type[Tally | BlockTally], record: Mapping[str, Any]) -> Account:
        """The account that `as_json` wrote, with its kind of tally."""
        return cls(kind.from_json(record["tally"]), *(record[name] for name in _NUMBERS))


_NUMBERS = ("cases", "asked", "busy", "seconds")

"""A sweep that is running: its parts, what they have found so far, and the state in its file."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from mxref._version import __version__
from mxref.cases.answers import choices_read
from mxref.conformance.sweeping.account import Account, Swept
from mxref.conformance.sweeping.block_kinds import kind_of
from mxref.conformance.sweeping.block_tally import BlockTally
from mxref.conformance.sweeping.intervals import Tally
from mxref.conformance.sweeping.loaded import LoadedCode
from mxref.conformance.sweeping.plan import Plan, SweepPart
from mxref.conformance.sweeping.plans import on_blocks
from mxref.conformance.sweeping.state import read_state, write_state
from mxref.policy.policy import Policy
from mxref.targets.loading import split_spec
from mxref.targets.target import Target

__all__ = ["Running"]

#: Seconds between two writes of the state.
_SAVE = 2.0


@dataclass(slots=True)
class Running:
    """A sweep of one or several formats.

    Args:
        state: the file of its state, if it has one.
        fingerprint: the digest of the target's files.
        code: what the target loads, from before it is loaded on.
        plans: a plan for each format.
        accounts: what was found, for each.
        tasks: the number of the plan and the first input of every part, in order.
        done: how many parts are in the accounts.
        date: of the state that was resumed.
    """

    state: Path | None
    fingerprint: str
    code: LoadedCode
    plans: Sequence[Plan] = ()
    accounts: list[Account] = field(default_factory=list)
    tasks: list[tuple[int, int]] = field(default_factory=list)
    done: int = 0
    date: str = ""
    _asked: set[int] = field(default_factory=set)
    _identity: dict[str, object] = field(default_factory=dict)
    _clock: float = 0.0
    _saved: float = 0.0
    _is_whole: bool = True  # whether `done` counts the parts in the accounts

    @classmethod
    def begun(cls, state: Path | None, fingerprint: str) -> Running:
        """A sweep before its target is loaded."""
        return cls(state, fingerprint, LoadedCode())

    def plan(self, plans: Sequence[Plan]) -> None:
        """Take the plans, and their parts."""
        self.plans = plans
        self.tasks = [(i, start) for i, plan in enumerate(plans) for start in plan.parts()]
        self.accounts = [Account(self._tally()) for _ in plans]

    def resume(self, first: int) -> None:
        """Go on where the state in the file stopped, if there is one; `first` is the first input.

        Raises:
            ValueError: the file is no state, or of another sweep.
        """
        plan = self.plans[0]
        self._identity = {
            "mxref": __version__,
            "target": self._target.name,
            "fingerprint": self.fingerprint,
            "op": plan.file.op,
            "format": " ".join(one.file.format for one in self.plans),
            "float": plan.file.float,
            "policy": self.policy,
            "first": first,
            "end": max(one.end for one in self.plans),
            "part": plan.size,
        }
        record = None
        if self.state is not None:
            self.code.note(self._package)
            record = read_state(self.state, self._identity, self.code)
        if record is not None:
            kind = self._tally
            self.done, self.date = record["done"], record["date"]
            self.accounts = [Account.from_json(kind, one) for one in record["sweeps"]]
        self._asked = {index for index, _ in self.left}
        self._clock = self._saved = time.perf_counter()

    @property
    def left(self) -> list[tuple[int, int]]:
        """The parts that are not done."""
        return self.tasks[self.done :]

    @property
    def wrong(self) -> int:
        """The number of wrong answers so far."""
        return sum(account.tally.wrong for account in self.accounts)

    @property
    def policy(self) -> str:
        """The policy, as far as the operation reads it."""
        plan = self.plans[0]
        return str(Policy().replace(**choices_read(plan.file.op, plan.policy, plan.file.format)))

    def add(self, part: SweepPart) -> None:
        """Take the next part."""
        self._is_whole = False
        now = time.perf_counter()
        self.accounts[self.tasks[self.done][0]].add(part, now - self._clock)
        self._clock, self.done = now, self.done + 1
        self._is_whole = True

    def save_now_and_then(self) -> None:
        """Write the state if that was not done for some seconds."""
        if time.perf_counter() - self._saved > _SAVE:
            self.save()
            self._saved = time.perf_counter()

    def save(self) -> None:
        """Write the state, if there is a file for it and anything was asked."""
        if self.state is not None and self._is_whole and self._asked:
            self.code.note(self._package)
            counted = {"done": self.done, "sweeps": [one.as_json() for one in self.accounts]}
            write_state(self.state, self._identity, {**counted, "code": self.code.record()})

    def results(self, *, inline: bool) -> tuple[Swept, ...]:
        """The result for each format; `inline` if this process did all the work."""
        name, pairs = self._target.name, enumerate(zip(self.accounts, self.plans, strict=True))
        swept = (
            (
                i,
                account.swept(name, plan.file, self.policy, inline=inline, digest=plan.digest),
            )
            for i, (account, plan) in pairs
        )
        return tuple(
            replace(
                one,
                date="" if i in self._asked else self.date,
                coverage=_coverage(self.plans[i]),
            )
            for i, one in swept
        )

    @property
    def _target(self) -> Target:
        return self.plans[0].target()

    @property
    def _package(self) -> str:
        return split_spec(self._target.name)[0].partition(".")[0]

    @property
    def _tally(self) -> type[Tally | BlockTally]:
        return BlockTally if on_blocks(self.plans[0].file.op) else Tally


def _coverage(plan: Plan) -> str:
    """What was asked, in words; empty for a range of the scales."""
    if not on_blocks(plan.file.op):
        return ""
    kind = kind_of(plan.file.format)
    is_whole = (plan.first, plan.end) == (0, kind.count(plan))
    return kind.coverage(plan) if is_whole else ""

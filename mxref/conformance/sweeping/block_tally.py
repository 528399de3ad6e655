"""The wrong answers of a sweep over blocks, by scale."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mxref.conformance.sweeping.intervals import KEPT, Found, Interval

__all__ = ["CODE_BITS", "BlockTally", "ScaleFound"]

#: Bits of a scale code in the number of a scale; above them is the place of the tensor scale.
CODE_BITS = 8


@dataclass(frozen=True, slots=True)
class ScaleFound:
    """The wrong answers under one scale.

    Args:
        code: the scale code; under a tensor scale with its place above it (see `CODE_BITS`).
        blocks: number of blocks with a wrong scale.
        got: the different wrong scale codes.
        found: wrong elements of the other blocks, in intervals of keys or codes.
    """

    code: int
    blocks: int
    got: tuple[int, ...]
    found: Found | None


@dataclass(slots=True)
class BlockTally:
    """The wrong answers under all scales, added in order.

    Args:
        wrong: number of wrong pairs of scale and key, or of scale and code.
        count: number of intervals, counted for each scale.
        groups: the first different intervals, at most `KEPT`, each with its scale codes.
        scales: by right scale code the number of blocks with wrong ones, and these.
    """

    wrong: int = 0
    count: int = 0
    groups: dict[Interval, list[int]] = field(default_factory=dict)
    scales: dict[int, tuple[int, tuple[int, ...]]] = field(default_factory=dict)

    def add(self, scale: ScaleFound) -> None:
        """Add the next scale."""
        if scale.blocks:
            blocks, got = self.scales.get(scale.code, (0, ()))
            self.scales[scale.code] = (blocks + scale.blocks, (*got, *scale.got))
        if scale.found is None:
            return
        self.wrong += scale.found.wrong
        self.count += scale.found.intervals
        for interval in scale.found.kept:
            if interval in self.groups or len(self.groups) < KEPT:
                self.groups.setdefault(interval, []).append(scale.code)

    @property
    def left(self) -> int:
        """The number of intervals that are not kept."""
        return self.count - sum(map(len, self.groups.values()))

    def as_json(self) -> dict[str, Any]:
        """As plain data."""
        groups = [{**dataclasses.asdict(one), "scales": s} for one, s in self.groups.items()]
        scales = [[code, *found] for code, found in self.scales.items()]
        return {"wrong": self.wrong, "count": self.count, "groups": groups, "scales": scales}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> BlockTally:
        """The tally that `as_json` wrote."""
        groups = {
            Interval.from_json({name: one[name] for name in one if name != "scales"}): one["scales"]
            for one in record["groups"]
        }
        scales = {code: (blocks, tuple(got)) for code, blocks, got in record["scales"]}
        return cls(record["wrong"], record["count"], groups, scales)

"""Shares of what is too much for one run: together they are everything."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from zlib import crc32

#: What the share's number counts to, and over how many parts a test may spread what it has.
SHARES = 84 * 7
PARTS = (2, 3, 4, 6, 7, 12, 14, 28)


@dataclass(frozen=True)
class Share:
    """The share of a run; all of it if `number` is None."""

    number: int | None

    def takes(self, index: int, parts: int) -> bool:
        """Whether this share has an index; one of each `parts` shares in a row has it."""
        if parts not in PARTS:
            raise ValueError(f"parts must be one of {PARTS}, got {parts}")
        return self.number is None or (index - self.number) % parts == 0

    @property
    def seventh(self) -> int:
        """A number from 0 to 6 that goes with every other one of `takes` once."""
        return 0 if self.number is None else self.number // 84 % 7

    def left_out(self, cases: Iterable[tuple[str, int]]) -> list[int]:
        """Of cases, each as its test and that test's number of parts, those of other shares.

        Of the first `parts` cases of a test one is taken, of the next ones that at another place,
        so that a share has not always the same value of the innermost parameter. The name of a
        test says which share has its first case: tests of one case are of all shares, not of
        share 0. Of a test with 0 parts no share has any.
        """
        seen: dict[str, int] = {}
        found = []
        for place, (test, parts) in enumerate(cases):
            index = seen[test] = seen.get(test, -1) + 1
            turned = crc32(test.encode()) + index + index // max(parts, 1)
            if not (self.takes(turned, parts) if parts else self.number is None):
                found.append(place)
        return found


@dataclass(frozen=True)
class Part:
    """The tests at `number`, `number + count` and so on."""

    number: int
    count: int

    @classmethod
    def of(cls, text: str) -> Part:
        """The part that `I/N` names."""
        number, slash, count = text.partition("/")
        if not (slash and number.isdecimal() and count.isdecimal() and int(number) < int(count)):
            raise ValueError(f"--part must be I/N with I below N, got {text!r}")
        return cls(int(number), int(count))

    def takes(self, index: int) -> bool:
        """Whether the part has the test at an index."""
        return index % self.count == self.number

"""What the test command takes of what is too much for every run; with --complete all of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from zlib import crc32


@dataclass(frozen=True)
class Share:
    """The share of a run: the same everywhere, or everything if it is `complete`."""

    complete: bool

    def takes(self, index: int, parts: int) -> bool:
        """Whether the run has an index: every one if complete, else those that `parts` divides."""
        return self.complete or index % parts == 0

    def left_out(self, cases: Iterable[tuple[str, int]]) -> list[int]:
        """Of cases, each as its test and that test's number of parts, those that do not run.

        Of the first `parts` cases of a test one is taken, of the next ones that at another place,
        so that it has not always the same value of the innermost parameter. The name of a test
        says which: of tests of one case so many run. Of a test with 0 parts none runs.
        """
        seen: dict[str, int] = {}
        found = []
        for place, (test, parts) in enumerate(cases):
            index = seen[test] = seen.get(test, -1) + 1
            turned = crc32(test.encode()) + index + index // max(parts, 1)
            if not (self.takes(turned, parts) if parts else self.complete):
                found.append(place)
        return found

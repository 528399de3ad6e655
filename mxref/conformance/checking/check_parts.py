"""A check in parts, each a test of its own of a test runner: vectors, other calls, a search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mxref.cases.records import VectorFile
from mxref.conformance.checking.check import Extent
from mxref.conformance.verdict.failure_kinds import listed_as
from mxref.conformance.verdict.report import Report, grouped
from mxref.operations.registry import REGISTRY

__all__ = ["PartResult", "part_result", "parts"]


@dataclass(frozen=True, slots=True)
class PartResult:
    """How a part has ended.

    Args:
        word: `passed`, `failed`, `known` (all that is wrong is a known divergence) or `skipped`.
        text: why, in a line.
        with_report: whether the report of a failure says more.
    """

    word: str
    text: str = ""
    with_report: bool = False


def parts(
    files: Sequence[VectorFile], sizes: int | None, seed: int, *, search: bool
) -> Iterator[tuple[str, tuple[VectorFile, ...], Extent]]:
    """The parts: `vectors` of each file, `calls` and `search` of each operation and format.

    Args:
        files: the vector files that the target covers.
        sizes: elements of the largest call (None: by the target's speed); 0 for no part of calls.
        seed: seed of the search.
        search: whether there is a search.
    """
    for file in files:
        yield "vectors", (file,), Extent(elements=0, search=False)
    groups = list(grouped(files))
    for _, some in groups:
        if sizes != 0:
            yield "calls", tuple(some), Extent(elements=sizes, search=False)
    for (op, _), some in groups:
        if search and REGISTRY[op].questions:
            yield "search", tuple(some), Extent(elements=0, seed=seed)


def part_result(part: str, report: Report) -> PartResult:
    """How a part has ended, by the report of its check."""
    return {"vectors": _of_vectors, "calls": _of_calls, "search": _of_search}[part](report)


def _of_vectors(report: Report) -> PartResult:
    stale = [key for key in report.stale if " " not in key]
    if report.unlisted or stale or not report.judged:
        counts = [_stale_text(stale)] if stale else []
        if report.unlisted or not stale:
            counts.insert(0, f"{len(report.unlisted)} of {report.compared} cases failed")
        # The summary of a test runner shows only the first line.
        return _failed(f"{', '.join(counts)}: {_why(report)}")
    reasons = [report.known[id] for id in report.known]
    return _known(reasons, f" of {report.compared} cases")


def _of_calls(report: Report) -> PartResult:
    if report.unlisted_uses:
        return _failed("; ".join(map(str, report.unlisted_uses)))
    if stale := [key for key in report.stale if " " in key]:
        return PartResult("failed", f"{_stale_text(stale)}: {'; '.join(stale)}")
    if not report.scope.calls:
        return PartResult("skipped", "no case was answered that could be asked again")
    return _known([report.known[use.key] for use in report.uses], " ways of calling")


def _of_search(report: Report) -> PartResult:
    scope = report.scope
    if not scope.searched:
        why = "not searched: no policy that is known explains what the vectors show"
        return PartResult("skipped", why)
    computed = [pair for pair in report.failures if not pair[1].case.model]
    unknown = [pair for pair in report.unlisted if not pair[1].case.model]
    explained = len(report.unlisted) > len(unknown)
    outcomes = [outcome for row in report.rows for outcome in row.outcomes]
    beside = any(not case.model for outcome in outcomes for case in outcome.file.cases)
    if unknown or (explained and beside):
        asked = f"a search of {scope.searched:,} questions (seed {scope.seed})"
        return _failed(f"wrong answers in {asked}: {_why(report)}")
    if stale := [key for key in report.stale if " " in key]:
        return PartResult("failed", f"{_stale_text(stale)}: {'; '.join(stale)}")
    keys = (listed_as(*pair, report.known) for pair in computed)
    return _known([report.known[key] for key in keys if key], " wrong answers of the search")


def _failed(text: str) -> PartResult:
    return PartResult("failed", text, with_report=True)


def _known(reasons: Sequence[str], what: str) -> PartResult:
    if not reasons:
        return PartResult("passed")
    return PartResult("known", f"{len(reasons)}{what}: {'; '.join(dict.fromkeys(reasons))}")


def _why(report: Report) -> str:
    return next((str(one) for one in report.findings), report.verdict)


def _stale_text(stale: Sequence[str]) -> str:
    return f"{len(stale)} listed as known but pass"

"""Kernels that are wrong in stages: how they are asked, and the stages that a report must name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from helpers import vector_file
from tables import rows

from mxref.conformance import Extent, Report, check, target_of
from mxref.conformance.verdict.cause.cause import Cause
from mxref.conformance.verdict.report_text import report_lines
from mxref.targets.target import PythonTarget

Stages = list[tuple[str, str]]


def stages_of(kind: str) -> dict[str, tuple[str, Stages]]:
    """The file and the stages of each kernel of a kind in verdict/data/stages.txt."""
    found: dict[str, tuple[str, Stages]] = {}
    for kernel, stem, name, text in rows("conformance/verdict", "stages", kind):
        found.setdefault(kernel, (stem, []))[1].append((name, text))
    return found


def target_with(
    function: Callable[..., Any], stem: str, policy: str = "ocp", **claims: Any
) -> PythonTarget:
    """A target of one operation and one format."""
    op, _, rest = stem.partition("/")
    claims |= {"FORMATS": [rest.rpartition(".")[0]], "POLICY": policy}
    return target_of(type("Kernel", (), {op: staticmethod(function), **claims}), "kernel")


def checked(
    function: Callable[..., Any],
    stem: str,
    policy: str = "ocp",
    *,
    elements: int = 0,
    **claims: Any,
) -> Report:
    """The vectors of a file, and the search."""
    target = target_with(function, stem, policy, **claims)
    return check(target, [vector_file(stem)], extent=Extent(elements=elements))


def cause_of(report: Report) -> Cause:
    """The first cause of the only row."""
    (row,) = report.rows
    assert row.causes, report.verdict
    return row.causes[0]


def named(cause: Cause) -> Stages:
    """The stages of a cause, by name and text."""
    return [(stage.name, stage.text) for stage in cause.stages]


def told(report: Report) -> str:
    return "\n".join(report_lines(report, 5))


def assert_stages(report: Report, stages: Stages) -> None:
    """The report names exactly these, and they explain every answer."""
    cause = cause_of(report)
    assert (cause.kind, named(cause), cause.complete) == ("stages", stages, True), told(report)

"""Checking somebody's implementation against the golden vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxref.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from mxref.conformance.adders.identify_adder import IdentifiedAdder, identify_adder
    from mxref.conformance.checking.check import Extent, check
    from mxref.conformance.identification.identify import Identified, identify
    from mxref.conformance.unit_operation import UnitOperation
    from mxref.conformance.verdict.report import Report
    from mxref.conformance.verdict.verify import verify
    from mxref.conformance.verdict.xfail import XfailError, read_xfail, write_xfail
    from mxref.targets.command import CommandTarget, command_results
    from mxref.targets.loading import load_target
    from mxref.targets.results import ResultsTarget, read_results
    from mxref.targets.target import PythonTarget, Target, TargetError, target_of

__all__ = [
    "CommandTarget",
    "Extent",
    "Identified",
    "IdentifiedAdder",
    "PythonTarget",
    "Report",
    "ResultsTarget",
    "Target",
    "TargetError",
    "UnitOperation",
    "XfailError",
    "check",
    "command_results",
    "identify",
    "identify_adder",
    "load_target",
    "read_results",
    "read_xfail",
    "target_of",
    "verify",
    "write_xfail",
]

if not TYPE_CHECKING:
    _HOMES = {
        "mxref.conformance.adders.identify_adder": (
            "IdentifiedAdder",
            "identify_adder",
        ),
        "mxref.conformance.checking.check": (
            "Extent",
            "check",
        ),
        "mxref.conformance.identification.identify": (
            "Identified",
            "identify",
        ),
        "mxref.conformance.unit_operation": ("UnitOperation",),
        "mxref.conformance.verdict.report": ("Report",),
        "mxref.conformance.verdict.verify": ("verify",),
        "mxref.conformance.verdict.xfail": (
            "XfailError",
            "read_xfail",
            "write_xfail",
        ),
        "mxref.targets.command": (
            "CommandTarget",
            "command_results",
        ),
        "mxref.targets.loading": ("load_target",),
        "mxref.targets.results": (
            "ResultsTarget",
            "read_results",
        ),
        "mxref.targets.target": (
            "PythonTarget",
            "Target",
            "TargetError",
            "target_of",
        ),
    }
    __getattr__ = lazy_names(__name__, _HOMES)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})

"""Checking somebody's implementation against the golden vectors."""

from mxref.conformance.checking.check import Extent, check
from mxref.conformance.identification.identify import Identified, identify
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
    "PythonTarget",
    "Report",
    "ResultsTarget",
    "Target",
    "TargetError",
    "XfailError",
    "check",
    "command_results",
    "identify",
    "load_target",
    "read_results",
    "read_xfail",
    "target_of",
    "verify",
    "write_xfail",
]

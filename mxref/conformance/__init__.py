"""Checking somebody's implementation against the golden vectors."""

from mxref.conformance.command import CommandTarget, command_results
from mxref.conformance.identify import Identified, identify
from mxref.conformance.results import ResultsTarget, read_results
from mxref.conformance.target import PythonTarget, Target, TargetError, load_target, target_of
from mxref.conformance.verify import Report, verify
from mxref.conformance.xfail import XfailError, read_xfail, write_xfail

__all__ = [
    "CommandTarget",
    "Identified",
    "PythonTarget",
    "Report",
    "ResultsTarget",
    "Target",
    "TargetError",
    "XfailError",
    "command_results",
    "identify",
    "load_target",
    "read_results",
    "read_xfail",
    "target_of",
    "verify",
    "write_xfail",
]

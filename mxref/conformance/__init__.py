"""Checking somebody's implementation against the golden vectors."""

from mxref.conformance.identify import Identified, identify
from mxref.conformance.target import PythonTarget, Target, TargetError, load_target, target_of
from mxref.conformance.verify import Report, verify
from mxref.conformance.xfail import XfailError, read_xfail, write_xfail

__all__ = [
    "Identified",
    "PythonTarget",
    "Report",
    "Target",
    "TargetError",
    "XfailError",
    "identify",
    "load_target",
    "read_xfail",
    "target_of",
    "verify",
    "write_xfail",
]

"""Which check of the Triton kernels finds a bug by somebody who had not seen them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from triton_child import covered, far_apart, stochastic, target, with_bugs
from triton_matrices import answers

from mxref.conformance.compare.compare import run_file
from mxref.policy.policy import Policy

__all__ = ["OUTSIDER", "found_by"]

#: Bugs by somebody who had not seen the checks: old and new text, and why it is wrong.
OUTSIDER: list[dict[str, str]] = json.loads(
    (Path(__file__).parent / "data" / "triton" / "outsider.json").read_text("utf-8")
)

OF_BLOCKS = ("quantize", "dequantize", "quantize_tensor")


def _checks() -> Iterator[tuple[str, int]]:
    """The checks of kernels that are loaded, as the tests have them: wrong answers of each."""
    for name, (_, wrong) in answers(sys.modules["mx_kernels"], complete=False):
        yield f"matrices: {name}", wrong
    yield "lines 2**32 bytes apart", far_apart()[1]
    for rule, operations in {"floor": OF_BLOCKS, "rceil": OF_BLOCKS[:1]}.items():
        of = target(rule)
        for file in covered(of):
            if file.op in operations and (rule == "floor" or "nvfp4" not in file.stem):
                outcome = run_file(of, file, Policy.parse(f"ocp+scale_rule={rule}"))
                yield f"level 1: {file.stem}", len(outcome.failures) + len(outcome.errors)
    for stem, (_, wrong) in stochastic().items():
        yield f"level 1: {stem}", wrong


def found_by(id: str) -> str:
    """The first check that finds a bug, or "" where none does."""
    bug = next(edit for edit in OUTSIDER if edit["id"] == id)
    for _ in with_bugs({id: [(bug["old"], bug["new"])]}):
        try:
            return next((name for name, wrong in _checks() if wrong), "")
        except Exception as error:  # the interpreter refuses an address
            return f"{type(error).__name__}: {str(error)[:200]}"
    raise ValueError("no bug was planted")

"""Which check of the Triton kernels finds a bug by somebody who had not seen them, as JSON."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from typing import Any

from triton_child import covered, far_apart, stochastic, target, with_bugs
from triton_matrices import answers

from mxref.conformance.compare.compare import run_file
from mxref.policy.policy import Policy

__all__ = ["found_by"]

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


def found_by(*rewritten: str) -> dict[str, str]:
    """By bug, whose id, old and new text are given in turns: the first check that finds it."""
    target()
    bugs = {id: [(old, new)] for id, old, new in zip(*[iter(rewritten)] * 3, strict=True)}
    found: dict[str, Any] = {}
    for id in with_bugs(bugs):
        try:
            found[id] = next((name for name, wrong in _checks() if wrong), "")
        except Exception as error:  # the interpreter refuses an address
            found[id] = f"{type(error).__name__}: {str(error)[:200]}"
    return found


if __name__ == "__main__":
    with contextlib.redirect_stdout(sys.stderr):
        asked = found_by(*sys.argv[1:])
    print(json.dumps(asked))

"""Reports on kernels, asked vectors alone."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from helpers import VECTORS

from mxref.conformance import Report, target_of, verify
from mxref.conformance.compare.compare import asked
from mxref.conformance.verdict.verify import begun, with_rows
from mxref.golden import VectorFile, read_vectors
from mxref.targets.target import Target


@functools.cache
def files_of(*stems: str) -> list[VectorFile]:
    """Files of the vectors, read once."""
    return read_vectors(VECTORS, lambda stem: stem in stems)


def file_of(stem: str) -> VectorFile:
    """One of them."""
    (found,) = files_of(stem)
    return found


def report_on(stems: str, policy: str | None = None, **functions: Any) -> Report:
    """What `verify` finds of a kernel, which may claim a policy, on some files."""
    claims = {} if policy is None else {"POLICY": policy}
    return verify(
        target_of(SimpleNamespace(**functions, **claims), "kernel"), files_of(*stems.split())
    )


def fails_by_vectors(target: Target, files: Sequence[VectorFile]) -> bool:
    """Whether answers to a vector file are wrong, so that no `check` passes; no cause is sought.

    Files after the first wrong one are not asked.
    """
    report, covered = begun(target, files)
    rows = (with_rows(report, [[asked(target, file)]], why=False) for file in covered)
    return any(some.failures for some in rows)

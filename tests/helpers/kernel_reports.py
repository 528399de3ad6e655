"""Reports on kernels that are functions, asked a few files of the vectors."""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import Any

from helpers import VECTORS

from mxref.conformance import Report, target_of, verify
from mxref.golden import VectorFile, read_vectors


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

"""Threads of the libraries that a target uses: few of them, asleep while they wait.

A library takes a thread for each core, and one that waits for the others keeps its core busy. Calls
of a target are small, so that this takes many times longer on a machine with other work.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

__all__ = ["LIMITS", "few_threads", "limit_libraries", "limit_note"]

#: Threads of a library: two, so that what it does in parallel is asked.
_MOST = 2
#: Environment variables that libraries read when they are imported.
LIMITS = {
    "OMP_NUM_THREADS": f"{_MOST}",  # OpenMP, as in torch; OpenBLAS, MKL and BLIS read it, too
    "OMP_WAIT_POLICY": "passive",
    "OPENBLAS_THREAD_TIMEOUT": "4",  # 2**4 ticks until a waiting thread sleeps
    "NUMBA_NUM_THREADS": f"{_MOST}",
    "RAYON_NUM_THREADS": f"{_MOST}",  # Rust
    "TF_NUM_INTRAOP_THREADS": f"{_MOST}",
    "VECLIB_MAXIMUM_THREADS": f"{_MOST}",  # Apple's Accelerate
}
#: Those of `LIMITS` that `limit_libraries` has set.
_set: set[str] = set()


def limit_libraries() -> None:
    """Set the variables of `LIMITS` that are not set, for this process and its programs."""
    for name, value in LIMITS.items():
        if name not in os.environ:
            os.environ[name] = value
            _set.add(name)


@contextlib.contextmanager
def few_threads() -> Iterator[None]:
    """Let torch have few threads in the block if it was imported before it could read a limit.

    Other libraries cannot be told then.
    """
    torch = sys.modules.get("torch")
    if torch is None or "OMP_NUM_THREADS" in os.environ or not hasattr(torch, "set_num_threads"):
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(min(before, _MOST))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def limit_note() -> str:
    """How many threads torch has, if `limit_libraries` has said so; else empty."""
    if "OMP_NUM_THREADS" not in _set or "torch" not in sys.modules:
        return ""
    return f"torch has {_MOST} threads: OMP_NUM_THREADS sets another number"

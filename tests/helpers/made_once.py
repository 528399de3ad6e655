"""What all workers of a run share, or all runs: the first one makes it, and the others wait."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from helpers import ROOT, built, run, tool

try:
    import fcntl
except ImportError:  # Windows: a worker may make it again
    fcntl = None  # type: ignore[assignment]

#: Programs of earlier runs: what compiles to another one has another name.
PROGRAMS = ROOT / ".pytest_cache" / "programs"
SOURCES = (".cpp", ".cuh", ".h")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def texts_once(
    factory: pytest.TempPathFactory, name: str, make: Callable[[Path], dict[str, str]]
) -> dict[str, str]:
    """Texts that one worker of a run makes, in an empty folder."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    folder.mkdir(exist_ok=True)
    kept = folder / "texts.json"
    with locked(folder / "lock"):
        if not kept.exists():
            kept.write_text(json.dumps(make(folder)), "utf-8")
    texts: dict[str, str] = json.loads(kept.read_text("utf-8"))
    return texts


def compiled(source: Path, options: Iterable[str], tables: Path, cache: Path = PROGRAMS) -> Path:
    """The program of a C++ source, compiled unless an earlier run has compiled the same.

    It is the same if the compiler, the options, and all sources in the folder of `source` and in
    `tables`, which are included, too, are.
    """
    compiler, options = tool("g++"), list(options)
    digest = hashlib.sha256(repr((run(compiler, "-v").stderr, options)).encode())
    for path in (*sorted(source.parent.iterdir()), *sorted(tables.iterdir())):
        if path.suffix in SOURCES:
            digest.update(repr((path.name, path.read_bytes())).encode())
    cache.mkdir(parents=True, exist_ok=True)
    program = cache / f"{source.stem}-{digest.hexdigest()[:20]}"
    with locked(program.with_suffix(".lock")):
        if not program.exists():
            new = program.with_suffix(".new")
            built(compiler, *options, f"-I{tables}", source, "-o", new)
            new.replace(program)
    return program

"""Rows: the measurement of one pair of sides, as text and as JSON."""

from __future__ import annotations

import functools
import os
import platform
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mxref
from benchmark.jobs import OPS, Job, Side, own
from benchmark.measure import Timing, extra_memory, in_turns
from benchmark.peers import PEERS, Peer
from mxref.policy.policy import READS, Policy
from mxref.support.text import one_line, unknown_name

__all__ = ["HEADER", "BenchRow", "beside", "cells", "jobs_of", "other_choices", "report", "versus"]


@dataclass(frozen=True, slots=True)
class BenchRow:
    """The measurement of mxref beside another library, or beside itself with another job.

    Args:
        job: the job of mxref.
        other: name of the library, or of the other job.
        timing: seconds of both sides; None if the library failed.
        memory: peak bytes of both sides beyond input and output; None where unknown.
        differing: number of codes (for `quantize` also scales) that differ in bits; None if the
            sides do different jobs.
        note: the profile that explains the difference, or why the library failed.
    """

    job: Job
    other: str
    timing: Timing | None
    memory: tuple[int | None, int | None] = (None, None)
    differing: int | None = None
    note: str = ""


def beside(job: Job, peer: Peer, seconds: float) -> BenchRow:
    """Measure mxref beside a library, after comparing their results."""
    mine = own(job)
    try:
        theirs = peer.side(job)
        result = theirs.call()
        differing = _differing(mine, theirs, result)
        note = _explained(job, peer, theirs, result) if differing else ""
        del result
        return _row(job, peer.name, mine, theirs, seconds, differing, note)
    except Exception as error:  # a library may raise anything
        text = one_line(f"{type(error).__name__}: {error}", 100)
        return BenchRow(job, peer.name, None, note=f"fails: {text}")


def versus(job: Job, other: Job, name: str, seconds: float) -> BenchRow:
    """Measure mxref beside mxref with another job."""
    return _row(job, name, own(job), own(other), seconds, None, "", max(job.threads, other.threads))


def _row(
    job: Job,
    other: str,
    mine: Side,
    theirs: Side,
    seconds: float,
    differing: int | None,
    note: str,
    threads: int = 0,
) -> BenchRow:
    # On one core the processor time of all threads counts, even of a library that starts some.
    clock = time.process_time if max(threads, job.threads) == 1 else time.perf_counter
    timing = in_turns(mine.call, theirs.call, seconds, clock)
    memory = (extra_memory(mine.call), extra_memory(theirs.call))
    return BenchRow(job, other, timing, memory, differing, note)


def _differing(mine: Side, theirs: Side, result: Any) -> int:
    """The number of codes, or numbers, of two sides that differ in bits."""
    want, got = _comparable(mine, theirs, result)
    return int(np.count_nonzero(want != got))


def _comparable(mine: Side, theirs: Side, result: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    ours = mine.call()
    if theirs.answer is not None and mine.answer is not None:
        want, got = mine.answer(ours), theirs.answer(result)
    elif theirs.values is not None and mine.values is not None:
        want, got = mine.values(ours), theirs.values(result)
    else:
        raise ValueError("neither codes nor numbers to compare")
    if want.shape != got.shape:
        raise ValueError(f"{got.size} codes instead of {want.size}")
    return want, got


def _explained(job: Job, peer: Peer, theirs: Side, result: Any) -> str:
    """The profile that gives all results of a library; empty if there is none."""
    for template in peer.profiles:
        model = mxref.profile(template.format(rule=job.choices.get("scale_rule", "floor")))
        if not hasattr(model, job.op) or not model.speaks_of(job.op, job.format):
            continue
        want, got = _comparable(own(job, model), theirs, result)
        if np.array_equal(want, got):
            return f"as profile {model.name}"
        # Rounded numbers keep signs of zero that codes may not have.
        if theirs.answer is None and not ((want != got) & (((want | got) << 1) != 0)).any():
            return f"as profile {model.name}, but for signs of zeros"
    return ""


def other_choices(job: Job) -> Iterator[Job]:
    """The job with one choice changed, for every other value of each choice that it reads."""
    default = Policy().choices()
    for name in READS[job.op]:
        for member in Policy.members(name):
            if member.value == default[name]:
                continue
            small = Job(job.op, job.format, (1, 32), job.float, job.data, 1, {name: member.value})
            try:
                own(small).call()
            except ValueError:  # a choice that the format does not read
                continue
            yield Job(
                job.op, job.format, job.shape, job.float, job.data, job.threads, small.choices
            )


_JOB = ("op", "format", "float", "data", "beside")
_FIGURES = ("ns", "other ns", "x", "worst x", "MiB", "other MiB", "bits")
#: Columns of the table; "x" is how many times as fast as the other mxref is.
HEADER = _JOB + _FIGURES


def cells(row: BenchRow) -> tuple[str, ...]:
    """A row as the cells of a table."""
    job, timing = row.job, row.timing
    choices = "+".join(f"{name}={value}" for name, value in job.choices.items())
    name = f"{choices} beside {row.other}" if choices else row.other
    first = (job.op, job.format, job.float, job.data, name)
    if timing is None:
        return (*first, "-", "-", "-", "-", "-", "-", row.note)
    nanoseconds = 1e9 / job.elements
    bits = {None: "-", 0: "same"}.get(row.differing, f"{row.differing} differ")
    return (
        *first,
        f"{min(timing.mine) * nanoseconds:.2f}",
        f"{min(timing.theirs) * nanoseconds:.2f}",
        f"{timing.ratio:.2f}",
        f"{timing.lowest:.2f}",
        *("-" if each is None else f"{each / (1 << 20):.1f}" for each in row.memory),
        f"{bits}, {row.note}" if row.note else bits,
    )


def report(rows: Iterable[BenchRow]) -> dict[str, Any]:
    """Rows, versions and the machine, as JSON has them."""
    rows = list(rows)
    names = {row.other for row in rows} & set(PEERS)
    return {
        "mxref": mxref.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "peers": {name: PEERS[name].version for name in PEERS if name in names},
        "rows": [_as_json(row) for row in rows],
    }


def _as_json(row: BenchRow) -> dict[str, Any]:
    job, timing = row.job, row.timing
    found: dict[str, Any] = {
        "op": job.op,
        "format": job.format,
        "shape": list(job.shape),
        "float": job.float,
        "data": job.data,
        "threads": job.threads,
        "choices": dict(job.choices),
        "beside": row.other,
    }
    if timing is not None:
        found |= {
            "seconds": min(timing.mine),
            "other_seconds": min(timing.theirs),
            "rounds": len(timing.mine),
            "ratio_median": timing.ratio,
            "ratio_lowest": timing.lowest,
            "ratio_of_minima": timing.of_minima,
            "extra_bytes": row.memory[0],
            "other_extra_bytes": row.memory[1],
        }
    return found | {"differing": row.differing, "note": row.note}


@functools.cache
def processor() -> str:
    """Name of the processor."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            lines = (line.partition(":") for line in file)
            return next(value.strip() for key, _, value in lines if key.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def jobs_of(
    ops: Sequence[str], format: str | None, shape: tuple[int, ...], **options: Any
) -> list[Job]:
    """The jobs of operations and formats.

    Args:
        ops: operations.
        format: an element format or a block format; None for all. For an element format the
            operations on blocks take its block format.
        shape: shape of the tensors.
        options: float, data and threads, as `Job` has them.

    Raises:
        ValueError: no operation has the format.
    """
    jobs = [Job(op, name, shape, **options) for op in ops for name in OPS[op]]
    if format is None:
        return jobs
    known = dict.fromkeys(name for job in jobs for name in (job.format, job.element))
    if format not in known:
        raise ValueError(unknown_name("--format", format, known))
    return [job for job in jobs if format in (job.format, job.element)]

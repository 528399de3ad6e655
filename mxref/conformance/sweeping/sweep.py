"""Every input: all 2**32 float32 patterns, or every element under every scale.

Beside the golden vectors, which are complete for monotone implementations, this is complete without
an assumption. The right answers come from the slow twin: as steps between which they are the same
(`mxref.golden.steps`), and of blocks by the fast path, a seventh of which the slow twin checks.
"""

from __future__ import annotations

import hashlib
import pickle
import time
from collections.abc import Callable, Generator
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from mxref._bits import LAYOUTS
from mxref._text import unknown_name
from mxref._version import __version__
from mxref.conformance.calls import without_cases
from mxref.conformance.sweeping.blocks import BlockTally, scale_count, sweep_blocks
from mxref.conformance.sweeping.intervals import Tally
from mxref.conformance.sweeping.numbers import part_size, sweep_numbers
from mxref.conformance.sweeping.plan import OwnTarget, Part, Plan, Source
from mxref.conformance.sweeping.state import read_state, write_state
from mxref.conformance.target import Target, TargetError
from mxref.formats import BLOCK_FORMATS, E8M0, code_format, element_format
from mxref.golden import words
from mxref.golden.answers import answerable, choices_read
from mxref.golden.records import VectorFile
from mxref.golden.steps import input_count
from mxref.golden.workers import in_flight, processes
from mxref.policy import Policy

__all__ = ["OPERATIONS", "OwnTarget", "Progress", "Swept", "sweep"]

#: Operations that can be swept: on numbers and blocks, without random bits.
OPERATIONS = tuple(
    op for op in words.OPERATIONS if op not in (*words.LAYOUT_OPERATIONS, "encode_stochastic")
)
_ON_BLOCKS = ("quantize", "dequantize")
#: Seconds between two states written to the file.
_SAVE = 2.0

#: What is told of the way: parts that are done, of how many, and how many answers were wrong.
Progress = Callable[[int, int, int], None]


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep found.

    Args:
        target: the target's name.
        file: operation, format and float type.
        policy: what was compared with, as far as the operation reads it.
        cases: how many answers were compared.
        tally: what is wrong.
        seconds: how long it took, all its runs together.
        share: the share of this time that the target took.
        digest: SHA-256 of all codes as bytes in the order of the inputs, 00 where the target
            raised; empty if it was not asked for.
    """

    target: str
    file: VectorFile
    policy: str
    cases: int
    tally: Tally | BlockTally
    seconds: float
    share: float
    digest: str = ""

    @property
    def passed(self) -> bool:
        """Something was compared, and nothing was wrong."""
        is_right = self.tally.wrong == 0
        if isinstance(self.tally, BlockTally):
            is_right = is_right and not self.tally.scales
        return self.cases > 0 and is_right


def sweep(
    source: Source,
    op: str,
    format: str = E8M0.name,
    float: str = "f32",
    policy: Policy | None = None,
    *,
    jobs: int = 1,
    executor: Executor | None = None,
    state: Path | None = None,
    fingerprint: str = "",
    progress: Progress | None = None,
    digest: bool = False,
    first: int = 0,
    end: int | None = None,
) -> Swept:
    """Put every input of an operation to a target and compare bit by bit, NaN as one class.

    The result does not depend on the number of processes, nor on interruptions.

    Args:
        source: the target; for other processes a function that gives it, such as
            ``functools.partial(load_target, "my_kernel.py")``, unless it can be pickled.
        op: one of `OPERATIONS`.
        format: element format, block format for `quantize` and `dequantize`, else `e8m0`.
        float: type of the float side: `f32`, `f16` or `bf16`; of `quantize` and `decode` `f32`.
        policy: what to compare with; what the target claims if None.
        jobs: how many processes. As always, a script that starts any must have its own work below
            ``if __name__ == "__main__"``.
        executor: who works instead, such as ``client.get_executor()`` of Dask.
        state: a file from which an interrupted sweep goes on; it is written every two seconds.
        fingerprint: what must be the same for that, beside the rest: of the target's files.
        progress: is called after each part.
        digest: compute the digest of all codes.
        first: the first input, as an integer with the same bits (of blocks: the first scale).
        end: the input behind the last one.

    Raises:
        ValueError: what is asked for does not exist, or the state is that of another sweep.
        TargetError: the target does not cover it, answers with no array of codes, or has ended
            a process.
        DisagreementError: the two references differ.

    >>> swept = sweep(OwnTarget(Policy()), "encode", "e2m1", "bf16")
    >>> swept.passed, swept.cases, swept.tally.wrong
    (True, 65536, 0)
    """
    if jobs < 1:
        raise ValueError(f"jobs must be 1 or more, got {jobs}: leave it out for one per processor")
    target = source() if callable(source) else source
    chosen = target.policy if policy is None else policy
    plan = _plan(target, op, format, float, chosen, digest=digest, first=first, end=end)
    if digest and (state is not None or op in _ON_BLOCKS):
        what = "a sweep with a state, since a digest cannot go on" if state else "blocks"
        raise ValueError(f"digest must not be asked of {what}")
    policy_name = str(Policy().replace(**choices_read(op, chosen)))
    identity = {
        "mxref": __version__,
        "target": target.name,
        "fingerprint": fingerprint,
        "op": op,
        "format": format,
        "float": float,
        "policy": policy_name,
        "first": plan.first,
        "end": plan.end,
        "part": plan.size,
    }
    record = _FRESH if state is None else read_state(state, identity) or _FRESH
    on_blocks = op in _ON_BLOCKS
    kind: Any = BlockTally if on_blocks else Tally
    tally = kind() if record["tally"] is None else kind.from_json(record["tally"])
    done, cases, asked, busy, before = (
        record[name] for name in ("done", "cases", "asked", "busy", "seconds")
    )
    began = saved = time.perf_counter()
    sha256 = hashlib.sha256()
    is_whole = True  # whether the numbers above are all of the same parts

    def save() -> None:
        counts = {"done": done, "cases": cases, "asked": asked, "busy": busy}
        seconds = before + time.perf_counter() - began
        if state is not None and is_whole:
            write_state(state, identity, {**counts, "seconds": seconds, "tally": tally.as_json()})

    total = len(plan.parts())
    work = sweep_blocks if on_blocks else sweep_numbers
    try:
        with closing(_results(plan, source, work, done, jobs, executor)) as results:
            for part in results:
                is_whole = False
                for found in part.found:
                    tally.add(found)
                done, cases = done + 1, cases + part.cases
                asked, busy = asked + part.asked, busy + part.busy
                is_whole = True
                if digest:
                    sha256.update(part.codes)
                if progress is not None:
                    progress(done, total, tally.wrong)
                if time.perf_counter() - saved > _SAVE:
                    save()
                    saved = time.perf_counter()
    finally:
        save()
    seconds = before + time.perf_counter() - began
    inline = jobs == 1 and executor is None
    share = asked / max(seconds if inline else busy, 1e-9)
    hexdigest = sha256.hexdigest() if digest else ""
    return Swept(target.name, plan.file, policy_name, cases, tally, seconds, share, hexdigest)


#: The state of a sweep that has not begun.
_FRESH: dict[str, Any] = {
    "done": 0, "cases": 0, "asked": 0.0, "busy": 0.0, "seconds": 0.0, "tally": None
}  # fmt: skip


def _plan(
    target: Target,
    op: str,
    format: str,
    float: str,
    policy: Policy,
    *,
    digest: bool,
    first: int,
    end: int | None,
) -> Plan:
    """What is asked for, if that exists."""
    if op not in OPERATIONS:
        raise ValueError(unknown_name("op", op, dict.fromkeys(OPERATIONS)))
    floats = dict.fromkeys(name for name in LAYOUTS if LAYOUTS[name].width <= 32)
    if op in ("decode", "decode_scale", "quantize"):
        floats = {"f32": None}
    if float not in floats:
        raise ValueError(unknown_name(f"float of a sweep of {op}", float, floats))
    if op in _ON_BLOCKS and format not in BLOCK_FORMATS:
        raise ValueError(unknown_name(f"format of {op}", format, BLOCK_FORMATS))
    if op in ("encode_scale", "decode_scale") and format != E8M0.name:
        raise ValueError(f"format of {op} must be {E8M0.name}, got {format!r}: leave it out")
    if op in ("encode", "decode", "shared_scale") and format == E8M0.name:
        raise ValueError(f"format must be given for {op}: an element format such as 'e4m3'")
    if op in ("encode", "decode"):
        code_format(format)
    elif op == "shared_scale":
        element_format(format)
    file = without_cases(op, format, float)
    if not target.covers(op, format, float):
        raise TargetError(f"target {target.name} does not cover {op} of {format} with {float}")
    if not answerable(op, format, float, policy):
        raise ValueError(f"policy of a sweep must need no random bits, got {policy}")
    is_error = policy.element.nan_to_finite.value == "error"
    if is_error and op == "encode" and not code_format(format).nan_codes:
        raise ValueError("policy of a sweep must have an answer to NaN, got nan_to_finite=error")
    plan = Plan(target, file, policy, 0, 0, 1, digest)
    on_blocks = op in _ON_BLOCKS
    count = scale_count(plan) if on_blocks else input_count(op, format, float)
    last = count if end is None else end
    if not 0 <= first < last <= count:
        raise ValueError(f"first and end must be from 0 to {count}, got {first} and {last}")
    size = 1 if on_blocks else part_size(target, file)
    return Plan(target, file, policy, first, last, size, digest)


def _results(
    plan: Plan,
    source: Source,
    work: Callable[[Plan, int], Part],
    done: int,
    jobs: int,
    executor: Executor | None,
) -> Generator[Part, None, None]:
    """The parts that are left, in their order, by whoever works."""
    from concurrent.futures import BrokenExecutor, ThreadPoolExecutor

    tasks = plan.parts(done)
    if not tasks:
        return
    if executor is None and jobs == 1:
        yield from map(partial(work, plan), tasks)
        return
    if not isinstance(executor, ThreadPoolExecutor):
        plan = Plan(_pickled(source), plan.file, plan.policy, *_range(plan), plan.digest)
    ahead = 4 * jobs
    try:
        if executor is not None:
            ahead = 4 * max(jobs, getattr(executor, "_max_workers", 16))
            yield from in_flight(executor, partial(work, plan), tasks, ahead)
            return
        with processes(min(jobs, len(tasks))) as pool:
            yield from in_flight(pool, partial(work, plan), tasks, ahead)
    except BrokenExecutor:
        raise TargetError(
            "a process of the sweep has ended: the target has crashed it, or memory was short"
        ) from None


def _range(plan: Plan) -> tuple[int, int, int]:
    return plan.first, plan.end, plan.size


def _pickled(source: Source) -> bytes:
    try:
        return pickle.dumps(source)
    except Exception as error:
        raise ValueError(
            "source must be what other processes can load, such as "
            f"functools.partial(load_target, 'my_kernel.py'): {error}"
        ) from None

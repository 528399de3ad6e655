"""Every input: all 2**32 float32 patterns, or every element under every scale.

The golden vectors are complete for monotone implementations; a sweep needs no such assumption. The
right answers to numbers come from the slow twin, as steps (`mxref.cases.steps`), and so do those to
blocks under scales that are small floats; those to blocks under powers of two come from the fast
path, a seventh of them checked by the slow twin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import closing
from pathlib import Path
from typing import TypedDict, Unpack

from mxref.conformance.sweeping.account import Swept
from mxref.conformance.sweeping.block_sweep import sweep_blocks
from mxref.conformance.sweeping.number_sweep import sweep_numbers
from mxref.conformance.sweeping.plan import OwnTarget, Source
from mxref.conformance.sweeping.plans import OPERATIONS, on_blocks, plans
from mxref.conformance.sweeping.running import Running
from mxref.conformance.sweeping.spread import parts_done
from mxref.formats.catalog import E8M0
from mxref.policy.policy import Policy

__all__ = ["OPERATIONS", "How", "OwnTarget", "Progress", "Swept", "sweep", "sweeps"]

#: Called with the number of parts done, of all parts, and of wrong answers so far.
Progress = Callable[[int, int, int], None]


class How(TypedDict, total=False):
    """How a sweep is made; see `sweep`."""

    jobs: int
    executor: Executor | None
    state: Path | None
    fingerprint: str
    progress: Progress | None
    digest: bool
    first: int
    end: int | None


def sweep(
    source: Source,
    op: str,
    format: str = E8M0.name,
    float: str = "f32",
    policy: Policy | None = None,
    **how: Unpack[How],
) -> Swept:
    """Ask a target every input of an operation and compare bit by bit, NaN as one class.

    The result does not depend on the number of processes, nor on interruptions.

    Args:
        source: the target; for other processes a function that returns it, such as
            ``functools.partial(load_target, "my_kernel.py")``, unless it can be pickled.
        op: one of `OPERATIONS`.
        format: element format, block format for `quantize` and `dequantize`, else `e8m0`.
        float: type of the float side: `f32`, `f16` or `bf16`; of `decode` and `decode_scale` `f32`.
        policy: the policy to compare with; the one that the target claims if None.
        jobs: number of processes; a script that starts any must have its own work below
            ``if __name__ == "__main__"``. Of an executor: number of parts at once.
        executor: works instead of processes, such as ``client.get_executor()`` of Dask.
        state: a file from which an interrupted sweep resumes, written every two seconds.
        fingerprint: digest of the target's files, which must be the same to resume.
        progress: is called after each part.
        digest: compute the digest of all codes.
        first: the first input, as an integer with the same bits (of blocks: the first scale).
        end: the input after the last one.

    Raises:
        ValueError: an unknown name, a wrong range, or the state of another sweep.
        TargetError: the target does not cover it, answers with no array of codes, or has ended
            a process.
        DisagreementError: the two references differ.

    >>> swept = sweep(OwnTarget(Policy()), "encode", "e2m1", "bf16")
    >>> swept.passed, swept.cases, swept.tally.wrong
    (True, 65536, 0)
    """
    return sweeps(source, op, (format,), float, policy, **how)[0]


def sweeps(
    source: Source,
    op: str,
    formats: Sequence[str] = (),
    float: str = "f32",
    policy: Policy | None = None,
    **how: Unpack[How],
) -> tuple[Swept, ...]:
    """`sweep` for several formats, one after another.

    `formats` are names; if empty, all formats that the target covers. `progress` is called
    with the sums of all formats. Other arguments are those of `sweep`.

    Raises:
        ValueError: as in `sweep`.
        TargetError: as in `sweep`, or the target covers no format.
        DisagreementError: the two references differ.

    >>> [one.file.format for one in sweeps(OwnTarget(Policy()), "shared_scale", float="bf16")]
    ['e5m2', 'e4m3', 'e3m2', 'e2m3', 'e2m1', 'int8']
    """
    jobs, executor = how.get("jobs", 1), how.get("executor")
    if jobs < 1:
        raise ValueError(f"jobs must be 1 or more, got {jobs}: give 1, or leave it out")
    running = Running.begun(how.get("state"), how.get("fingerprint", ""))
    target = source() if callable(source) else source
    chosen = target.policy if policy is None else policy
    digest, inputs = how.get("digest", False), (how.get("first", 0), how.get("end"))
    running.plan(plans(target, op, formats, float, chosen, digest=digest, inputs=inputs))
    if digest and (how.get("state") is not None or on_blocks(op)):
        what = "a sweep with a state, since a digest cannot go on" if how.get("state") else "blocks"
        raise ValueError(f"digest must not be asked of {what}")
    running.resume(inputs[0])
    work = sweep_blocks if on_blocks(op) else sweep_numbers
    try:
        left = parts_done(running.plans, source, work, running.left, jobs, executor)
        with closing(left) as parts:
            for part in parts:
                running.add(part)
                progress = how.get("progress")
                if progress is not None:
                    progress(running.done, len(running.tasks), running.wrong)
                running.save_now_and_then()
    finally:
        running.save()
    return running.results(inline=jobs == 1 and executor is None)

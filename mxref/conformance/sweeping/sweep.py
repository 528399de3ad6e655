"""Every input: all 2**32 float32 patterns, or every element under every scale.

The golden vectors are complete for monotone implementations; a sweep needs no such assumption. The
right answers to numbers come from the slow twin, as steps (`mxref.cases.steps`); those to blocks
from the fast path, a seventh of them checked by the slow twin.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from mxref._version import __version__
from mxref.bits.floats import LAYOUTS
from mxref.cases.answers import answerable, choices_read
from mxref.cases.steps import input_count
from mxref.conformance.sweeping.account import Account, Swept
from mxref.conformance.sweeping.block_sweep import BlockTally, scale_count, sweep_blocks
from mxref.conformance.sweeping.intervals import Tally
from mxref.conformance.sweeping.loaded import LoadedCode
from mxref.conformance.sweeping.number_sweep import part_size, sweep_numbers
from mxref.conformance.sweeping.plan import OwnTarget, Plan, Source
from mxref.conformance.sweeping.spread import parts_done
from mxref.conformance.sweeping.state import read_state, write_state
from mxref.formats.catalog import (
    BLOCK_FORMATS,
    CODE_FORMATS,
    E8M0,
    ELEMENT_FORMATS,
    MX_BLOCKS,
    block_format,
    code_format,
    element_format,
)
from mxref.operations import registry
from mxref.policy.policy import Policy
from mxref.support.text import unknown_name
from mxref.targets.calls import without_cases
from mxref.targets.loading import split_spec
from mxref.targets.target import Target, TargetError

__all__ = ["OPERATIONS", "OwnTarget", "Progress", "Swept", "sweep", "sweeps"]

#: Operations that can be swept: on numbers and blocks, without random bits.
OPERATIONS = tuple(
    op for op, one in registry.REGISTRY.items() if not one.varied and op != "encode_stochastic"
)
_ON_BLOCKS = ("quantize", "dequantize")
#: Seconds between two writes of the state.
_SAVE = 2.0

#: Called with the number of parts done, of all parts, and of wrong answers so far.
Progress = Callable[[int, int, int], None]


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
    (swept,) = sweeps(
        source, op, (format,), float, policy,
        jobs=jobs, executor=executor, state=state, fingerprint=fingerprint, progress=progress,
        digest=digest, first=first, end=end,
    )  # fmt: skip
    return swept


def sweeps(
    source: Source,
    op: str,
    formats: Sequence[str] = (),
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
    if op not in OPERATIONS:
        raise ValueError(unknown_name("op", op, dict.fromkeys(OPERATIONS)))
    if jobs < 1:
        raise ValueError(f"jobs must be 1 or more, got {jobs}: give 1, or leave it out")
    code = LoadedCode()
    target = source() if callable(source) else source
    chosen = target.policy if policy is None else policy
    formats = formats or _covered(target, op, float)
    plans = [
        _plan(target, op, name, float, chosen, digest=digest, first=first, end=end)
        for name in formats
    ]
    if digest and (state is not None or op in _ON_BLOCKS):
        what = "a sweep with a state, since a digest cannot go on" if state else "blocks"
        raise ValueError(f"digest must not be asked of {what}")
    policy_name = str(Policy().replace(**choices_read(op, chosen)))
    identity = {
        "mxref": __version__,
        "target": target.name,
        "fingerprint": fingerprint,
        "op": op,
        "format": " ".join(formats),
        "float": float,
        "policy": policy_name,
        "first": first,
        "end": max(plan.end for plan in plans),
        "part": plans[0].size,
    }
    kind = BlockTally if op in _ON_BLOCKS else Tally
    done, accounts, date = 0, [Account(kind()) for _ in plans], ""
    package, record = split_spec(target.name)[0].partition(".")[0], None
    if state is not None:
        code.note(package)
        record = read_state(state, identity, code)
    if record is not None:
        done, accounts = record["done"], [Account.from_json(kind, one) for one in record["sweeps"]]
        date = record["date"]
    tasks = [(index, start) for index, plan in enumerate(plans) for start in plan.parts()]
    clock = saved = time.perf_counter()
    asked = {index for index, _ in tasks[done:]}
    is_whole = True  # whether `done` counts the parts in the accounts

    def save() -> None:
        if state is not None and is_whole and asked:
            code.note(package)
            counted = {"done": done, "sweeps": [one.as_json() for one in accounts]}
            write_state(state, identity, {**counted, "code": code.record()})

    work = sweep_blocks if op in _ON_BLOCKS else sweep_numbers
    try:
        with closing(parts_done(plans, source, work, tasks[done:], jobs, executor)) as parts:
            for (index, _), part in zip(tasks[done:], parts, strict=True):
                is_whole = False
                now = time.perf_counter()
                accounts[index].add(part, now - clock)
                clock, done = now, done + 1
                is_whole = True
                if progress is not None:
                    progress(done, len(tasks), sum(one.tally.wrong for one in accounts))
                if time.perf_counter() - saved > _SAVE:
                    save()
                    saved = time.perf_counter()
    finally:
        save()
    inline = jobs == 1 and executor is None
    swept = (
        account.swept(target.name, plan.file, policy_name, inline=inline, digest=digest)
        for plan, account in zip(plans, accounts, strict=True)
    )
    return tuple(
        one if index in asked else replace(one, date=date) for index, one in enumerate(swept)
    )


def _covered(target: Target, op: str, float: str) -> tuple[str, ...]:
    """The formats that a target covers in an operation."""
    found = _having(target, op, float)
    if not found:
        raise TargetError(f"target {target.name} does not cover {op} of any format with {float}")
    return found


def _having(target: Target, op: str, float: str) -> tuple[str, ...]:
    names: Iterable[str] = CODE_FORMATS if op in ("encode", "decode") else ELEMENT_FORMATS
    if op in _ON_BLOCKS:
        names = MX_BLOCKS
    elif op in ("encode_scale", "decode_scale"):
        names = (E8M0.name,)
    return tuple(name for name in names if target.covers(op, name, float))


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
    """The plan for one format, after checking the arguments."""
    floats = dict.fromkeys(name for name in LAYOUTS if LAYOUTS[name].width <= 32)
    if op in ("decode", "decode_scale"):
        floats = {"f32": None}
    if float not in floats:
        raise ValueError(unknown_name(f"float of a sweep of {op}", float, floats))
    if op in _ON_BLOCKS and format not in MX_BLOCKS:
        raise ValueError(unknown_name(f"format of {op}", format, dict.fromkeys(MX_BLOCKS)))
    if op in ("encode_scale", "decode_scale") and format != E8M0.name:
        raise ValueError(f"format of {op} must be {E8M0.name}, got {format!r}: leave it out")
    if op in ("encode", "decode", "shared_scale") and format == E8M0.name:
        raise ValueError(f"format must be given for {op}: an element format such as 'e4m3'")
    if op not in _ON_BLOCKS and format in BLOCK_FORMATS:
        got = f"got the block format {format!r}: use {block_format(format).element.name!r}"
        raise ValueError(f"format of {op} must be an element format, {got}, or sweep quantize")
    if op in ("encode", "decode"):
        code_format(format)
    elif op == "shared_scale":
        element_format(format)
    file = without_cases(op, format, float)
    if not target.covers(op, format, float):
        names = ", ".join(_having(target, op, float))
        has = f", but of {names}" if names else ""
        text = f"target {target.name} does not cover {op} of {format} with {float}{has}"
        raise TargetError(text)
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

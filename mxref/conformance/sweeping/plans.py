"""The plans of a sweep, one for each format, after its arguments were checked."""

from __future__ import annotations

from collections.abc import Sequence

from mxref.bits.floats import LAYOUTS
from mxref.cases.answers import answerable
from mxref.cases.steps import input_count
from mxref.conformance.sweeping.block_kinds import kind_of
from mxref.conformance.sweeping.number_sweep import part_size
from mxref.conformance.sweeping.plan import Plan
from mxref.conformance.sweeping.scale_runs import has_runs
from mxref.formats.catalog import (
    BLOCK_FORMATS,
    E8M0,
    ELEMENT_FORMATS,
    FLOAT_SCALED_FORMATS,
    MX_BLOCKS,
    OTHER_BLOCK_FORMATS,
    OTHER_BLOCKS,
    block_format,
    code_format,
    element_format,
)
from mxref.formats.scale_kinds import has_power_scales, has_small_float_scales
from mxref.operations.registry import REGISTRY
from mxref.policy.policy import Policy
from mxref.support.text import unknown_name
from mxref.targets.calls import without_cases
from mxref.targets.target import Target, TargetError

__all__ = ["OPERATIONS", "on_blocks", "plans"]

#: The block formats that are swept: those of MX, and those under scales that are small floats.
_BLOCKS = (*MX_BLOCKS, *(one for one in OTHER_BLOCKS if one not in FLOAT_SCALED_FORMATS))

#: Operations that can be swept: on numbers and blocks, without random bits.
OPERATIONS = tuple(op for op, one in REGISTRY.items() if not (one.varied or one.random_bits))


def on_blocks(op: str) -> bool:
    """Whether an operation is swept by scales and blocks, and not by numbers."""
    return bool(REGISTRY[op].blocks)


def plans(
    target: Target,
    op: str,
    formats: Sequence[str],
    float: str,
    policy: Policy,
    *,
    digest: bool,
    inputs: tuple[int, int | None],
) -> list[Plan]:
    """The plans for some formats; for all that a target covers if there are none.

    Args:
        target: the target.
        op: the operation.
        formats: the formats.
        float: the float type.
        policy: the policy to compare with.
        digest: whether a digest is wanted.
        inputs: the first input and the end of the inputs, or None.

    Raises:
        ValueError: an unknown name, or a wrong range.
        TargetError: the target does not cover it.
    """
    if op not in OPERATIONS:
        raise ValueError(unknown_name("op", op, dict.fromkeys(OPERATIONS)))
    names = formats or _covered(target, op, float, policy)
    return [_plan(target, op, name, float, policy, digest=digest, inputs=inputs) for name in names]


def _covered(target: Target, op: str, float: str, policy: Policy) -> tuple[str, ...]:
    """The formats that a target covers in an operation, without blocks that read other choices."""
    found = _having(target, op, float)
    if on_blocks(op):
        found = tuple(one for one in found if has_power_scales(one) or not _unread(op, one, policy))
    if not found:
        for one in FLOAT_SCALED_FORMATS if on_blocks(op) else ():
            if target.covers(op, one, float):
                _refuse_float_scales(op, one)
        raise TargetError(f"target {target.name} does not cover {op} of any format with {float}")
    return found


def _refuse_float_scales(op: str, format: str) -> None:
    """Raise ValueError if a format has float32 scales: all blocks are too many."""
    if format in FLOAT_SCALED_FORMATS:
        raise ValueError(
            f"format of {op} must have scales of 8 bits for a sweep, got {format!r}, which has "
            "2**31 of them: `mxref verify` asks both sides of their thresholds"
        )


def _having(target: Target, op: str, float: str) -> tuple[str, ...]:
    names = _BLOCKS if on_blocks(op) else REGISTRY[op].formats
    return tuple(name for name in names if target.covers(op, name, float))


def _plan(
    target: Target,
    op: str,
    format: str,
    float: str,
    policy: Policy,
    *,
    digest: bool,
    inputs: tuple[int, int | None],
) -> Plan:
    """The plan for one format, after checking the arguments."""
    row = REGISTRY[op]
    floats = dict.fromkeys(name for name in row.slots(format) if LAYOUTS[name].width <= 32)
    if float not in floats:
        raise ValueError(unknown_name(f"float of a sweep of {op}", float, floats))
    if on_blocks(op) and format not in _BLOCKS:
        _refuse_float_scales(op, format)
        raise ValueError(unknown_name(f"format of {op}", format, dict.fromkeys(_BLOCKS)))
    of_scales = E8M0.name in row.formats
    if of_scales and format != E8M0.name:
        raise ValueError(f"format of {op} must be {E8M0.name}, got {format!r}: leave it out")
    if not of_scales and format == E8M0.name:
        raise ValueError(f"format must be given for {op}: an element format such as 'e4m3'")
    if not on_blocks(op) and format in {**BLOCK_FORMATS, **OTHER_BLOCK_FORMATS}:
        got = f"got the block format {format!r}: use {block_format(format).element.name!r}"
        raise ValueError(f"format of {op} must be an element format, {got}, or sweep quantize")
    if not (of_scales or on_blocks(op)):
        (element_format if row.formats is ELEMENT_FORMATS else code_format)(format)
    file = without_cases(op, format, float)
    if not target.covers(op, format, float):
        names = ", ".join(_having(target, op, float))
        has = f", but of {names}" if names else ""
        text = f"target {target.name} does not cover {op} of {format} with {float}{has}"
        raise TargetError(text)
    unread = _unread(op, format, policy) if has_small_float_scales(format) else ""
    if unread:
        raise ValueError(f"policy of a sweep of {format} must {unread}, got {policy}")
    if not answerable(op, format, float, policy):
        raise ValueError(f"policy of a sweep must need no random bits, got {policy}")
    is_error = policy.element.nan_to_finite.value == "error"
    reads_nan = "nan_to_finite" in row.reads(format) and not on_blocks(op)
    if is_error and reads_nan and not code_format(format).nan_codes:
        raise ValueError("policy of a sweep must have an answer to NaN, got nan_to_finite=error")
    plan = Plan(target, file, policy, 0, 0, 1, digest)
    count = kind_of(format).count(plan) if on_blocks(op) else input_count(op, format, float)
    first, end = inputs
    last = count if end is None else end
    if not 0 <= first < last <= count:
        raise ValueError(f"first and end must be from 0 to {count}, got {first} and {last}")
    size = 1 if on_blocks(op) else part_size(target, file)
    return Plan(target, file, policy, first, last, size, digest)


def _unread(op: str, format: str, policy: Policy) -> str:
    """What a policy must do for blocks under scales that are small floats; empty if it does."""
    if not answerable(op, format, "f32", policy):
        return "have only choices that are read there, and need no random bits"
    if REGISTRY[op].from_codes:
        return ""
    if not has_runs(policy):
        return "take a block's scale from its largest magnitude alone"
    is_exact = policy.scale.scale_arithmetic.value == "exact"  # which encodes no NaN
    if not is_exact and policy.element.nan_to_finite.value == "error":
        return "have an answer to NaN"
    return ""

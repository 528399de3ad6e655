"""What a target has and is not asked, and how it is asked, before its answers are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from mxref.blocks.two_level import TensorScaleKind
from mxref.cases.answers import answerable
from mxref.cases.records import VectorFile
from mxref.formats.catalog import OTHER_BLOCK_FORMATS
from mxref.operations.blocks import TENSOR_KINDS
from mxref.policy.choices import Rounding
from mxref.policy.policy import Policy
from mxref.targets.target import PythonTarget, Target

if TYPE_CHECKING:
    from mxref.profiles import Profile

__all__ = ["what_is_not_asked"]

#: What the policy must have under which these operations are asked.
_NEEDED = {
    "encode_stochastic": tuple(f"rounding={one.value}" for one in Rounding if one.stochastic),
    **dict.fromkeys(("pack_blocks", "unpack_blocks"), ("scale_place=before", "scale_place=after")),
}
#: What no question has, since the standard of the operation excludes it.
_EXCLUDED = {
    "rescale": "values outside of -2^(S - 1) to 2^(S - 1) - 1 with a 32-bit multiplier, and shifts "
    "S outside of 2 to 62: TOSA excludes them (Q12)"
}
#: What the number of a tensor is where it is no factor of its values.
_KINDS = {
    TensorScaleKind.DIVISOR: "a divisor of the tensor's values",
    TensorScaleKind.AMAX: "the tensor's largest magnitude",
    TensorScaleKind.AMAX_256: "the tensor's largest magnitude",
}


def what_is_not_asked(
    target: Target,
    files: Sequence[VectorFile],
    covered: Sequence[VectorFile],
    policy: Policy,
    profile: Profile | None = None,
) -> Iterator[str]:
    """Notes on operations that are not asked, on what the others are not asked, and on scales.

    Args:
        target: the implementation.
        files: what is asked for.
        covered: those of them that it is asked.
        policy: what its answers are compared with.
        profile: the profile that they are compared with, if it is one.
    """
    yield from _needs(target, files, policy)
    if isinstance(target, PythonTarget):
        yield from _unasked(target, files)
    ops = {file.op for file in covered}
    yield from (f"{op} is not asked about {what}" for op, what in _EXCLUDED.items() if op in ops)
    compared = policy if profile is None else profile.policy
    kind = TENSOR_KINDS[compared.scale.scale_arithmetic.value]
    blocks = {file.format for file in covered if file.format in OTHER_BLOCK_FORMATS}
    for name in sorted(blocks) if kind is not TensorScaleKind.FACTOR else ():
        if OTHER_BLOCK_FORMATS[name].tensor_scale:
            yield f"{name}: the last argument, here called tensor scale, is {_KINDS[kind]} (N42)"


def _needs(target: Target, files: Sequence[VectorFile], policy: Policy) -> Iterator[str]:
    """The operations of a target that are asked under other policies alone, with what these say."""
    for op, choices in _NEEDED.items():
        some = [f for f in files if f.op == op and target.covers(op, f.format, f.float)]
        if some and not any(answerable(op, f.format, f.float, policy) for f in some):
            needed = " or ".join(choices)
            yield (
                f"{op} is not asked under {policy}: its policy must have {needed} (write POLICY = "
                f'"ocp+{choices[0]}" beside it, or give --policy)'
            )
    for op in (
        dict.fromkeys(file.op for file in files) if policy.element.rounding.stochastic else ()
    ):
        some = [f for f in files if f.op == op and target.covers(op, f.format, f.float)]
        known = op in _NEEDED or any(answerable(op, f.format, f.float, policy) for f in some)
        if some and not known:
            yield f"{op} is not asked under {policy}: only encode_stochastic is given random bits"


def _unasked(target: PythonTarget, files: Sequence[VectorFile]) -> Iterator[str]:
    """The operations of a target about which nothing is asked in the formats that it claims."""
    for op in target.operations:
        some = [file for file in files if file.op == op]
        if some and not any(target.covers(op, file.format, file.float) for file in some):
            claimed = ", ".join(sorted(target.formats))
            yield (
                f"{op} is in the target but not asked: there are no questions about it in the "
                f"formats and float types that it claims ({claimed})"
            )

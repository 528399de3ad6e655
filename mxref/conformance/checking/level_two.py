"""Level 2: every input of a family put to a target, whose answers are computed and not stored."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F32, LAYOUTS
from mxref.cases.answers import answerable, choices_read
from mxref.cases.product import product_blocks
from mxref.cases.records import VectorFile
from mxref.conformance.checking.computed import Compared, compare_computed
from mxref.formats.catalog import MX_BLOCKS, code_format
from mxref.golden.level2 import Family
from mxref.operations.operation import AnyPolicy
from mxref.policy.choices import NaNToFinite
from mxref.policy.policy import Policy
from mxref.profiles import Profile
from mxref.targets.profile_target import speaks_of
from mxref.targets.target import Target

__all__ = ["ask_families", "families_for"]

Words = NDArray[np.uint64]


def ask_families(
    target: Target,
    families: Sequence[Family],
    policy: AnyPolicy,
    profile: Profile | None,
    only: Sequence[VectorFile],
) -> Iterator[Compared]:
    """Put families of level 2 to a target, one for each operation, format and float type.

    Args:
        target: the implementation.
        families: the families, such as `mxref.golden.level2.families()`.
        policy: what to compare with.
        profile: what to compare with where it speaks of something.
        only: vector files of the operations, formats and float types to ask.

    >>> from mxref.conformance import target_of
    >>> from mxref.golden.level2 import select
    >>> from mxref.targets.calls import without_cases
    >>> class Kernel:
    ...     def encode_scale(self, values):  # rounds to the nearest
    ...         return ((values.view("u2") + np.uint16(64)) >> 7).astype("u1")
    >>> files = [without_cases("encode_scale", "e8m0", "bf16")]
    >>> kernel, families = target_of(Kernel(), "kernel"), select("encode_scale")
    >>> (asked,) = ask_families(kernel, families, Policy(), None, files)
    >>> asked.cases, asked.wrong > 0
    (65536, True)
    """
    for file in only:
        if not target.covers(file.op, file.format, file.float):
            continue
        speaks = profile is not None and speaks_of(profile, file.op, file.format, file.float)
        by = profile if speaks else None
        chosen = policy if by is None else by.policy
        for family in families_for(families, file, chosen):
            name = f"level2.{family.op}"
            yield compare_computed(target, file, _chunks(family, chosen), chosen, by, name=name)


def families_for(
    families: Sequence[Family], file: VectorFile, policy: AnyPolicy
) -> tuple[Family, ...]:
    """The family of an operation, format and float type for a policy; none if there is no answer.

    Without a family of that policy it is the first one, whose inputs do for every policy; the
    blocks of `quantize` from float32 are made for the scale rule.

    >>> from mxref.golden.level2 import select
    >>> from mxref.targets.calls import without_cases
    >>> file = without_cases("quantize", "mxint8", "f32")
    >>> rules = ("rceil", "ceil")
    >>> policies = [Policy().replace(scale_rule=rule) for rule in rules]
    >>> [one.policy for p in policies for one in families_for(select("quantize"), file, p)]
    ['ocp+scale_rule=rceil', 'ocp+scale_rule=ceil']
    >>> lanes = select("quantize.mxint8.f16")
    >>> file = without_cases("quantize", "mxint8", "f16")
    >>> [one.chunks is lanes[0].chunks for one in families_for(lanes, file, policies[0])]
    [True]
    """
    place = file.op, file.format, file.float
    found = [one for one in families if (one.op, one.format, one.float) == place]
    if not found or not answerable(*place, policy):
        return ()
    if isinstance(policy, str):
        return (dataclasses.replace(found[0], policy=policy),)
    name = str(Policy().replace(**choices_read(file.op, policy, file.format)))
    same = [one for one in found if one.policy == name]
    if same:
        return (same[0],)
    chunks = found[0].chunks
    if file.row.blocks == "numbers" and file.float == F32.name and file.format in MX_BLOCKS:
        chunks = partial(product_blocks, file.format, policy)
    return (dataclasses.replace(found[0], policy=name, chunks=chunks),)


def _chunks(family: Family, policy: AnyPolicy) -> Iterator[Words]:
    """A family's input words, without those that the policy refuses."""
    refuses = (
        family.op == "encode"
        and not isinstance(policy, str)
        and policy.element.nan_to_finite is NaNToFinite.ERROR
    )
    if refuses:
        refuses = code_format(family.format).nan_code is None
    for chunk in family.chunks():
        words = chunk.astype(np.uint64)
        if refuses:
            layout = LAYOUTS[family.float]
            words = words[words[:, 0] & np.uint64(layout.sign_bit - 1) <= layout.inf_bits]
        if words.size:
            yield words

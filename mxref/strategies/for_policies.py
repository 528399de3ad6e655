"""Strategies of policies."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from hypothesis import strategies as st

from mxref.blocks.shapes import EXACT_ONLY, POWER_ONLY
from mxref.formats import catalog
from mxref.formats.catalog import E8M0, BlockFormat, CodeFormat
from mxref.operations.registry import REGISTRY
from mxref.policy.choices import Activations, ScaleArithmetic
from mxref.policy.policy import READS, Policy
from mxref.support.text import unknown_name

__all__ = ["policies"]


def policies(
    op: str | None = None,
    format: str | None = None,
    *,
    allow_stochastic: bool = False,
    allow_refusals: bool = False,
) -> st.SearchStrategy[Policy]:
    """Policies with any members of the choices that an operation reads; the others as in `ocp`.

    Combinations that the operation refuses are never drawn. Policies shrink to `ocp`.

    Args:
        op: an operation, such as `encode`; None for all choices. `pack_blocks` refuses
            `scale_place=separate`, which `ocp` has.
        format: its format; choices that it does not read keep their value.
        allow_stochastic: whether to draw roundings that need `random_bits=`.
        allow_refusals: whether to draw policies under which some inputs are errors:
            `nan_to_finite=error`, `tail=refused`, and adders that do not have all formats.

    Raises:
        ValueError: unknown operation or format.

    >>> from hypothesis import find, settings
    >>> quiet = settings(database=None, derandomize=True)
    >>> to_odd = lambda policy: policy.element.rounding.value == "to_odd"
    >>> str(find(policies("encode"), to_odd, settings=quiet))
    'ocp+rounding=to_odd'
    """
    if op is not None and op not in READS:
        raise ValueError(unknown_name("op", op, READS))
    row = REGISTRY[op or "encode_scale"]  # so that policies of all choices are those of scales, too
    fmt = None if format is None else _any_format(format)
    names = READS[op] if op else tuple(dict.fromkeys(itertools.chain(*READS.values())))
    members = {
        name: [
            member
            for member in Policy.members(name)
            if member.value not in row.refused.get(name, ())
            and not ((name, member.value) == _SIGNED and _has_other_scales(fmt))
            and (allow_stochastic or "stochastic" not in member.value)
            and (allow_refusals or (name, member.value) not in _REFUSALS)
        ]
        for name in names
        if not _unread(fmt, name)
    }
    # The default is as likely as all others together, so that policies near `ocp` are drawn, too.
    each = {
        name: st.sampled_from([*some[:1] * max(1, len(some) - 1), *some[1:]])
        for name, some in members.items()
    }
    return st.fixed_dictionaries(each).map(lambda chosen: _legal(Policy().replace(**chosen), fmt))


#: Choices under which some inputs are errors.
_REFUSALS = (
    ("nan_to_finite", "error"),
    ("tail", "refused"),
    *(("accumulation", f"aligned_{bits}") for bits in (25, 35, 13)),
)


#: A byte for scales that are powers of two alone.
_SIGNED = ("scale_byte", "signed")


def _has_other_scales(fmt: BlockFormat | CodeFormat | None) -> bool:
    return isinstance(fmt, BlockFormat) and fmt.scale != E8M0


def _unread(fmt: BlockFormat | CodeFormat | None, name: str) -> bool:
    """Whether a choice is read only in other formats."""
    if not isinstance(fmt, BlockFormat):
        return False
    return name == "scale_arithmetic" if fmt.scale == E8M0 else name in POWER_ONLY


def _legal(policy: Policy, fmt: BlockFormat | CodeFormat | None) -> Policy:
    """A policy without the choices that its scale arithmetic or unquantized operands refuse."""
    if policy.products.activations is Activations.KEPT:
        policy = policy.replace(accumulation="exact")
    if fmt is None or policy.scale.scale_arithmetic is ScaleArithmetic.EXACT:
        return policy
    default = Policy().choices()
    return policy.replace(**{name: default[name] for name in EXACT_ONLY})


def _any_format(name: str) -> BlockFormat | CodeFormat:
    known: Mapping[str, BlockFormat | CodeFormat] = {
        **catalog.ELEMENT_FORMATS,
        **catalog.OTHER_FORMATS,
        **catalog.SCALE_FORMATS,
        **catalog.BLOCK_FORMATS,
        **catalog.OTHER_BLOCK_FORMATS,
    }
    if name not in known:
        raise ValueError(unknown_name("format", name, known))
    return known[name]

"""Policies: one value for every choice that the standards leave open.

A policy has one spelling everywhere: a profile's name and the choices that differ from it, as in
``ocp+rounding=toward_zero+overflow=nonsaturating``. `mxref.choices` explains each choice.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mxref.policy import keywords as k
from mxref.policy.choices import Choice
from mxref.policy.groups import (
    DecodePolicy,
    ElementPolicy,
    FloatScalePolicy,
    LayoutPolicy,
    ProductPolicy,
    ScalePolicy,
    chosen_member,
)
from mxref.support.text import unknown_name


@dataclass(frozen=True, slots=True)
class Policy:
    """One value for every open choice: a named function instead of "some MXFP4".

    Args:
        element: choices of element encoding.
        scale: choices of the scale.
        float_scale: choices of float32 scales.
        decode: choices of decoding.
        layout: choices of layout.
        products: choices of products and linear layers.

    >>> policy = Policy.parse("ocp+rounding=toward_zero")
    >>> policy.element.rounding.value, str(policy), policy == Policy()
    ('toward_zero', 'ocp+rounding=toward_zero', False)
    """

    element: ElementPolicy = ElementPolicy()
    scale: ScalePolicy = ScalePolicy()
    float_scale: FloatScalePolicy = FloatScalePolicy()
    decode: DecodePolicy = DecodePolicy()
    layout: LayoutPolicy = LayoutPolicy()
    products: ProductPolicy = ProductPolicy()

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, type(field.default)):
                raise TypeError(
                    f"{field.name} must be a {type(field.default).__name__}, "
                    f"got {type(value).__name__}"
                )

    def __repr__(self) -> str:
        """A line that makes the policy again."""
        return f"Policy.parse({str(self)!r})"

    def __str__(self) -> str:
        """The policy's one spelling: choices that differ from `ocp`, in a fixed order."""
        changed = [
            f"+{name}={value.value}"
            for group, names in _NAMES.items()
            if (mine := getattr(self, group)) is not (default := getattr(_DEFAULT, group))
            for name in names
            if (value := getattr(mine, name)) != getattr(default, name)
        ]
        return "ocp" + "".join(changed)

    @staticmethod
    def parse(text: str) -> Policy:
        """The policy that a string spells.

        Raises:
            ValueError: unknown profile, choice or value, or a choice given twice.
        """
        return _parse(text)[0]

    def replace(self, **choices: str | Choice) -> Policy:
        """This policy with single choices replaced, by name and string.

        >>> str(Policy().replace(overflow="nonsaturating"))
        'ocp+overflow=nonsaturating'

        Raises:
            ValueError: unknown choice or value.
        """
        if not choices:
            return self
        groups: dict[str, dict[str, Any]] = {}
        for name, value in choices.items():
            members = Policy.members(name)
            groups.setdefault(_GROUP_OF[name], {})[name] = chosen_member(name, value, members)
        parts = {
            group: dataclasses.replace(getattr(self, group), **changed)
            for group, changed in groups.items()
        }
        return dataclasses.replace(self, **parts)

    @staticmethod
    def members(choice: str) -> list[Choice]:
        """Every member of a choice.

        >>> [member.value for member in Policy.members("clamp")]
        ['after_rounding', 'before_rounding']

        Raises:
            ValueError: unknown choice.
        """
        return list(type(_DEFAULT.member(choice)))

    def member(self, choice: str) -> Choice:
        """The member of a choice that this policy has.

        >>> Policy.parse("ocp+scale_rule=rceil").member("scale_rule").value
        'rceil'

        Raises:
            ValueError: unknown choice.
        """
        if choice not in _GROUP_OF:
            raise ValueError(unknown_name("choice", choice, _GROUP_OF))
        member: Choice = getattr(getattr(self, _GROUP_OF[choice]), choice)
        return member

    def choices(self) -> dict[str, str]:
        """Every choice by name, as strings, in the order of the policy's spelling."""
        return {
            name: getattr(getattr(self, group), name).value for name, group in _GROUP_OF.items()
        }


_DEFAULT = Policy()
#: part of a Policy -> the choices that it holds, in the order in which policies are spelled.
_NAMES: Mapping[str, tuple[str, ...]] = {
    group.name: tuple(field.name for field in dataclasses.fields(getattr(_DEFAULT, group.name)))
    for group in dataclasses.fields(Policy)
}
#: choice name -> the part of a Policy that holds it.
_GROUP_OF: Mapping[str, str] = {name: group for group, names in _NAMES.items() for name in names}

#: Operations, with the choices that each reads.
READS: Mapping[str, tuple[str, ...]] = {
    op: tuple(name for name in _GROUP_OF if name in reads.__annotations__ or name in more)
    for op, reads, more in (
        ("encode", k.ElementChoices, ()),
        ("decode", k.DecodeChoices, ()),
        ("encode_scale", k.EncodeScaleChoices, ()),
        ("decode_scale", k.DecodeScaleChoices, ()),
        ("shared_scale", k.SharedScaleChoices, ("scale_rule",)),
        ("quantize", k.QuantizeChoices, ()),
        ("quantize of float32 scales", k.FloatScaleChoices, ()),
        ("dequantize", k.DequantizeChoices, ()),
        ("pack", k.PackChoices, ()),
        ("unpack", k.PackChoices, ()),
        ("pack_blocks", k.PackBlocksChoices, ()),
        ("unpack_blocks", k.PackBlocksChoices, ()),
        ("pack_scales", k.PackScalesChoices, ()),
        ("unpack_scales", k.PackScalesChoices, ()),
        ("matmul", k.ProductChoices, ()),
        ("linear", k.LinearChoices, ()),
        ("linear_gradients", k.LinearGradientsChoices, ()),
    )
}


def spellings(word: str) -> list[str]:
    """What a word that names a member, with or without its choice, is in a policy.

    >>> spellings("RCEIL"), spellings("rounding=to_odd"), spellings("rcel")
    (['scale_rule=rceil'], ['rounding=to_odd'], [])
    """
    choice, _, value = word.lower().rpartition("=")
    return [
        f"{name}={value}"
        for name in _GROUP_OF
        if choice in ("", name) and value in (member.value for member in Policy.members(name))
    ]


def _meant(word: str, before: str = "") -> str:
    """The spellings of a word as the end of a sentence; empty if there is none."""
    found = " or ".join(f"'{before}{one}'" for one in spellings(word))
    return f" (did you mean {found}?)" if found else ""


def _parse(text: str) -> tuple[Policy, tuple[str, ...]]:
    """The policy that a string spells, and the choices that it names."""
    if not isinstance(text, str):
        raise TypeError(f"policy must be a string or a Policy, got {type(text).__name__}")
    return _parsed(text)


@functools.lru_cache(maxsize=1024)
def _parsed(text: str) -> tuple[Policy, tuple[str, ...]]:
    profile, *parts = text.split("+")
    if profile != "ocp":
        raise ValueError(
            f"policy must be ocp, or ocp+choice=value+..., got {text!r}{_meant(text, 'ocp+')}; a "
            "profile is named by mxref.profile(NAME), by --profile NAME of commands, and by "
            "PROFILE in a target's file"
        )
    choices: dict[str, str] = {}
    for part in parts:
        name, equals, value = part.partition("=")
        if not equals:
            raise ValueError(
                f"policy {text!r} must spell a choice as name=value, got {part!r}{_meant(part)}"
            )
        if name in choices:
            raise ValueError(f"policy {text!r} gives {name!r} twice: keep one")
        choices[name] = value
    return _DEFAULT.replace(**choices), tuple(choices)


def spelled(policy: str | Policy, choices: Mapping[str, Any]) -> list[str]:
    """Names of the choices that a call spells out; a `Policy` object spells none."""
    return [*([] if isinstance(policy, Policy) else _parse(policy)[1]), *choices]


def resolve(operation: str, policy: str | Policy, choices: Mapping[str, Any]) -> Policy:
    """The policy of one call; refuses a spelled choice that the operation does not read.

    A `Policy` object is taken whole, since it always has every choice.

    Raises:
        ValueError: unknown, unread or repeated choice.
        TypeError: policy is neither a string nor a `Policy`.
    """
    given = tuple(choices.items())
    known = isinstance(policy, str | Policy)
    known = known and all(isinstance(value, str | Choice) for value in choices.values())
    return (_kept if known else _resolved)(operation, policy, given)


def _resolved(operation: str, policy: str | Policy, given: tuple[tuple[str, Any], ...]) -> Policy:
    """`resolve`, with the choices as pairs."""
    base, named = (policy, ()) if isinstance(policy, Policy) else _parse(policy)
    reads, choices = READS[operation], dict(given)
    for name in (*named, *choices):
        if name not in _GROUP_OF:
            raise ValueError(unknown_name("choice", name, dict.fromkeys(reads)))
        if name not in reads:
            readers = ", ".join(one for one in READS if name in READS[one])
            raise ValueError(
                f"{operation} does not read the choice {name!r}, which {readers} "
                f"{'read' if ',' in readers else 'reads'}"
            )
    twice = [name for name in choices if name in named]
    if twice:
        raise ValueError(f"choice {twice[0]!r} is given twice, in policy and by keyword: keep one")
    return base.replace(**choices)


#: `_resolved` of what can be hashed: it takes as long as a small call computes.
_kept = functools.lru_cache(maxsize=1024)(_resolved)

"""Which members of a choice are one function for an operation, a format and a float type, and why.

What holds whatever the other choices are is used before anything is asked (`alike`); what holds
only under other choices is found by asking, and explained afterwards (`because`).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from mxref._bits import F16, F32, F64, LAYOUTS, FloatLayout
from mxref.conformance.calls import code_format, without_cases
from mxref.formats import CodeFormat
from mxref.golden.answers import reads
from mxref.policy import Policy
from mxref.scale_rule import ScaleRule

__all__ = ["Setting", "alike", "because", "members"]


@dataclass(frozen=True, slots=True)
class Setting:
    """An operation on a format, with the float type of its inputs or results.

    Args:
        op: operation.
        format: element, scale or block format.
        float: float type, or what stands in its place where there is none.
    """

    op: str
    format: str
    float: str

    def __str__(self) -> str:
        return " ".join((self.op, self.format, self.float))

    @property
    def element(self) -> CodeFormat:
        """The format of the codes."""
        return code_format(without_cases(self.op, self.format, self.float))

    @property
    def layout(self) -> FloatLayout:
        """The float type; float32 where there is none."""
        return LAYOUTS.get(self.float, F32)


def members(setting: Setting, choice: str) -> list[str]:
    """The members of a choice that an operation can have.

    >>> members(Setting("encode_stochastic", "e2m1", "f32"), "rounding")
    ['stochastic_a', 'stochastic_b', 'stochastic_c']
    """
    some = [member.value for member in Policy.members(choice)]
    match setting.op, choice:
        case "encode_stochastic", "rounding":
            return [one for one in some if one.startswith("stochastic")]
        case _, "rounding":  # without random bits there is no other
            return [one for one in some if not one.startswith("stochastic")]
        case "encode_scale", "scale_overflow":
            return [one for one in some if one != "wrap"]
        case "pack_blocks" | "unpack_blocks", "scale_place":
            return [one for one in some if one != "separate"]
    return some


def narrower(layout: FloatLayout) -> dict[str, FloatLayout]:
    """The types that a choice can round a float type to first and that do not hold all of it."""
    types = {"float32": F32, "bfloat16": LAYOUTS["bf16"], "float16": F16}
    return {
        name: one
        for name, one in types.items()
        if one.exponent_bits < layout.exponent_bits or one.mantissa_bits < layout.mantissa_bits
    }


def alike(setting: Setting, choice: str) -> list[tuple[tuple[str, ...], str]]:
    """The members of a choice, those that are one function together, and why they are.

    >>> alike(Setting("encode", "e4m3", "bf16"), "pre_rounding")[0]
    (('none', 'float32', 'bfloat16'), 'they hold every bf16')
    """
    groups: list[tuple[tuple[str, ...], str]]
    groups = [((member,), "") for member in members(setting, choice)]
    for some, why in _alike(setting, choice):
        touched = [group for group in groups if set(group[0]) & set(some)]
        if len(touched) > 1:
            first = groups.index(touched[0])
            whole = tuple(member for group, _ in touched for member in group)
            groups = [group for group in groups if group not in touched]
            groups.insert(first, (whole, why))
    return groups


@functools.cache
def _alike(setting: Setting, choice: str) -> list[tuple[Collection[str], str]]:
    """Members that are one function whatever the other choices are, and why."""
    fmt, layout, op = setting.element, setting.layout, setting.op
    name, encodes = fmt.name, "rounding" in reads(op)
    every = members(setting, choice)
    small = layout == F16 and op != "dequantize"
    special = fmt.nan_code if fmt.inf_code is None else fmt.inf_code
    is_int8 = getattr(fmt, "twos_complement", False)
    found: list[tuple[bool, str, Collection[str], str]] = [
        (not is_int8, "int8_range", every, f"{name} is not INT8"),
        (not is_int8, "int8_emax", every, f"{name} is not INT8"),
        (fmt.nan_code is None, "nan", every, f"{name} has no NaN"),
        (
            fmt.inf_code is None,
            "nan",
            ("signed", "signed_quiet"),
            f"{name} has one NaN of each sign",
        ),
        (fmt.nan_code is not None, "nan_to_finite", every, f"{name} has a NaN"),
        (
            is_int8,
            "nan_to_finite",
            ("zero", "signed_zero", "opposite_zero"),
            "INT8 has one zero",
        ),
        (special is None, "overflow", every, f"{name} has only its largest number for it"),
        (special is None, "clamp", every, f"both give the largest number of {name}"),
        (not fmt.has_negative_zero, "zero_sign", every, f"{name} has no -0"),
        (not fmt.has_negative_zero, "underflow_sign", every, f"{name} has no -0"),
        (
            op == "decode" and not fmt.has_negative_zero,
            "decoded_zero",
            every,
            f"{name} has no -0",
        ),
        (
            True,
            "pre_rounding",
            [one for one in every if one not in narrower(layout)],
            f"they hold every {layout.name}",
        ),
        (
            True,
            "amax_type",
            [one for one in every if one not in narrower(layout)],
            f"they hold every {layout.name}",
        ),
        (small, "scale_overflow", every, f"no {layout.name} needs a scale above 2^127"),
        (small, "scale_underflow", every, f"no {layout.name} needs a scale below 2^-127"),
        (small, "tiny_scale", every, "every f16 that is not 0 is above 2^-126"),
        (
            small,
            "scale_rule",
            ("floor", "floor_exponent_field"),
            "the subnormals of f16 are normal numbers of float32",
        ),
        (
            layout.width == 16,
            "scale_rule",
            ("floor", "floor_log2_float32"),
            f"no {layout.name} lies so close below a power of two",
        ),
        (
            op == "encode_scale",
            "scale_rounding",
            ("toward_zero", "toward_negative"),
            "the magnitude is rounded",
        ),
        (True, "scale_arithmetic", every, "scales are powers of two"),
        (op == "quantize", "tail", every, "blocks are whole"),
        (op == "dequantize" and layout == F64, "product_overflow", every, "f64 holds them all"),
        (fmt.bits != 4, "fp4_packing", every, f"{name} has {fmt.bits} bits"),
        (fmt.bits != 6, "fp6_packing", every, f"{name} has {fmt.bits} bits"),
    ]
    result = [(some, why) for holds, one, some, why in found if holds and one == choice]
    if choice == "scale_rule" and not encodes | (op == "shared_scale"):
        return []
    if choice == "scale_rule":
        for one, other in itertools.combinations([r for r in ScaleRule if not r.is_quirk], 2):
            same = one.limit(fmt) == other.limit(fmt)  # type: ignore[arg-type]
            if same and not is_int8:  # whose emax is a choice that only some rules read
                result.append(((one.value, other.value), f"they have one limit on {name}"))
    return result


#: A reason: the choice, the members that it makes one, under what other choices, and the sentence.
_Reason = tuple[str, Collection[str], Callable[[Setting, Mapping[str, str]], bool], str]


def _nearest(rounding: str) -> bool:
    return rounding.startswith(("ties_", "stochastic"))


def _to_zero(rounding: str) -> bool:
    return rounding == "toward_zero" or (_nearest(rounding) and "stoch" not in rounding)


def _one_sign(known: Mapping[str, str]) -> bool:
    return known["zero_sign"] == known["underflow_sign"]


def _vanishes(setting: Setting) -> bool:
    """Whether the subnormals of a float type lie below half the smallest number of a format."""
    fmt, layout = setting.element, setting.layout
    return setting.op == "encode" and layout.emin < fmt.emin - fmt.mantissa_bits - 1


def _no_nan_element(known: Mapping[str, str]) -> bool:
    return known.get("block_nan") == "nan_block"


_REASONS: tuple[_Reason, ...] = (
    (
        "clamp",
        ("after_rounding", "before_rounding"),
        lambda s, k: k["overflow"] in ("saturate", "propagate"),
        "under overflow={overflow} both give the largest number",
    ),
    (
        "overflow",
        ("nonsaturating", "nonsaturating_ieee"),
        lambda s, k: _nearest(k["rounding"]),
        "rounding={rounding} has no direction in which IEEE 754 stops",
    ),
    (
        "overflow",
        ("nonsaturating_ieee", "propagate"),
        lambda s, k: k["rounding"] in ("toward_zero", "to_odd"),
        "under rounding={rounding} both stop finite numbers at the largest one",
    ),
    (
        "underflow_sign",
        ("kept", "dropped"),
        lambda s, k: k["rounding"] in ("to_odd", "toward_negative"),
        "under rounding={rounding} no negative number becomes a zero",
    ),
    (
        "subnormal_inputs",
        (),
        lambda s, k: _vanishes(s) and _to_zero(k["rounding"]) and _one_sign(k),
        "under rounding={rounding} every subnormal of the float type becomes a zero of that sign",
    ),
    (
        "amax_type",
        (),
        lambda s, k: k["pre_rounding"] not in ("none", "float32") and s.layout != F16,
        "the numbers that remain after pre_rounding={pre_rounding} are such numbers already",
    ),
    (
        "nan_to_finite",
        (),
        lambda s, k: _no_nan_element(k),
        "under block_nan=nan_block no element is converted from NaN",
    ),
    (
        "tiny_scale",
        ("as_if_zero", "always_up"),
        lambda s, k: k["scale_rounding"] != "toward_positive",
        "they differ only under scale_rounding=toward_positive",
    ),
    (
        "zero_block",
        ("one", "minus_emax"),
        lambda s, k: s.element.emax == 0 and k["int8_emax"] == "zero",
        "the emax of INT8 is 0 under int8_emax=zero",
    ),
)


def because(
    setting: Setting, choice: str, values: Collection[str], known: Mapping[str, str]
) -> str:
    """Why these members of a choice cannot be told apart, given the other choices.

    >>> setting, known = Setting("encode", "e4m3", "f32"), {"overflow": "saturate"}
    >>> because(setting, "clamp", ("after_rounding", "before_rounding"), known)
    'under overflow=saturate both give the largest number'
    """
    groups = [(set(group) & set(values), why) for group, why in alike(setting, choice)]
    sentences = [why for group, why in groups if len(group) > 1]
    left = {next(iter(group)): group for group, _ in groups if group}
    if len(left) > 1:
        for sentence, some in reasons(setting, choice, known):
            covered = {one for one, group in left.items() if not some or group & set(some)}
            if len(covered) == len(left):
                return "; ".join([*sentences, sentence])
        sentences.append("no input tells them apart under the other choices")
    return "; ".join(dict.fromkeys(sentences))


def reasons(
    setting: Setting, choice: str, known: Mapping[str, str]
) -> list[tuple[str, tuple[str, ...]]]:
    """The sentences that hold of a choice under other choices, and the members that they make one.

    No members stand for all.
    """
    found = []
    for name, some, holds, sentence in _REASONS:
        try:
            applies = name == choice and holds(setting, known)
        except KeyError:  # the other choice is not known, or not read
            continue
        if applies:
            found.append((sentence.format(**known), tuple(some)))
    return found

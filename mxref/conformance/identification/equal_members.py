"""Members of a choice that always give the same answers, and why.

`equal_members` lists members that are equivalent whatever the other choices are, before any
question.
`because` explains members that the questions could not tell apart under the other choices.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Collection

from mxref.bits.floats import F16, F64, LAYOUTS
from mxref.conformance.identification.equal_reasons import Known, narrower, reasons
from mxref.conformance.identification.setting import OF_OPERANDS, Setting, same_products
from mxref.policy.scale_rule import ScaleRule

__all__ = ["because", "equal_members"]


def equal_members(setting: Setting, choice: str) -> list[tuple[tuple[str, ...], str]]:
    """The members of a choice in groups that are one function, each with the reason.

    >>> equal_members(Setting("encode", "e4m3", "bf16"), "pre_rounding")[0]
    (('none', 'float32', 'bfloat16'), 'they hold every bf16')
    """
    groups: list[tuple[tuple[str, ...], str]]
    groups = [((member,), "") for member in setting.row.members(setting.format, choice)]
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
    """Members that are one function whatever the other choices are, with the reason."""
    fmt, layout, row = setting.element, setting.layout, setting.row
    name, encodes = fmt.name, "rounding" in row.reads(setting.format)
    every = row.members(setting.format, choice)
    small = layout == F16
    far = ("float16",) if layout == F16 else ()
    special = fmt.nan_code if fmt.inf_code is None else fmt.inf_code
    is_int8 = getattr(fmt, "twos_complement", False)
    found: list[tuple[bool, str, Collection[str], str]] = [
        (not is_int8, "int8_range", every, f"{name} is not INT8"),
        (not is_int8, "int8_emax", every, f"{name} is not INT8"),
        (fmt.nan_code is None, "nan", every, f"{name} has no NaN"),
        (setting.one_nan, "nan", every, "every NaN code is right, and all were compared as one"),
        (
            setting.one_nan,
            "nan_block_codes",
            every,
            "the codes of a NaN block may be any, and were not compared",
        ),
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
            row.one_code and not fmt.has_negative_zero,
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
            # A number rounded to bfloat16 first can be too large for float16.
            [one for one in every if one not in narrower(layout) and not (encodes and one in far)],
            f"they hold every {layout.name}",
        ),
        (
            small and not encodes,
            "scale_overflow",
            every,
            f"no {layout.name} needs a scale above 2^127",
        ),
        (small, "scale_underflow", every, f"no {layout.name} needs a scale below 2^-127"),
        (
            not encodes,
            "scale_underflow",
            ("clamp", "flush", "flush_subnormal"),
            "elements alone are flushed",
        ),
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
            True,
            "scale_rounding",
            ("toward_zero", "toward_negative"),
            "the magnitude is rounded",
        ),
        (not setting.is_scaled, "scale_arithmetic", every, "scales are powers of two"),
        (bool(row.blocks), "tail", every, "blocks are whole"),
        (layout == F64, "product_overflow", every, "f64 holds them all"),
        (fmt.bits != 4, "fp4_packing", every, f"{name} has {fmt.bits} bits"),
        (fmt.bits != 6, "fp6_packing", every, f"{name} has {fmt.bits} bits"),
    ]
    if row.from_codes and setting.is_scaled:
        found.append((True, "scale_arithmetic", *same_products(setting)))
    result = [(some, why) for holds, one, some, why in found if holds and one == choice]
    if choice == "scale_rule":
        for one, other in itertools.combinations([r for r in ScaleRule if not r.is_quirk], 2):
            same = one.limit(fmt) == other.limit(fmt)  # type: ignore[arg-type]
            if same and not is_int8:  # whose emax is a choice that only some rules read
                result.append(((one.value, other.value), f"they have one limit on {name}"))
    return result


def because(
    setting: Setting,
    choice: str,
    values: Collection[str],
    known: Known,
    looked_at: int,
    *,
    wrong: bool = False,
) -> str:
    """Why these members of a choice were not told apart, given the other choices; empty of one.

    Where no reason is known, it says how many questions do not tell them apart. If there are wrong
    answers, which no policy gives, inputs that were asked may tell them apart.

    Args:
        setting: what was asked about.
        choice: the choice.
        values: the members that are left of it.
        known: those that are left of each choice.
        looked_at: how many questions the members were compared on.
        wrong: whether some answers are of no policy.

    >>> setting, known = Setting("encode", "e4m3", "f32"), {"overflow": "saturate"}
    >>> because(setting, "clamp", ("after_rounding", "before_rounding"), known, 9)
    'under overflow=saturate both give the largest number'
    """
    if len(values) < 2:
        return ""
    groups = [(set(group) & set(values), why) for group, why in equal_members(setting, choice)]
    sentences = [why for group, why in groups if len(group) > 1]
    left = {next(iter(group)): group for group, _ in groups if group}
    if len(left) > 1:
        for sentence, some in reasons(setting, choice, known):
            covered = {one for one, group in left.items() if not some or group & set(some)}
            if len(covered) == len(left):
                return "; ".join([*sentences, sentence])
        never = "no input tells them apart under the other choices"
        if not setting.row.one_code:
            float = f"{setting.float} " * (setting.float in LAYOUTS)
            never = f"none of {looked_at} {float}questions tells them apart under the other choices"
        if setting.row.of_layers and choice in OF_OPERANDS:
            never = f"none of {looked_at} questions about layers tells them apart; "
            never += "those about quantize may"
        sentences.append("the answers are of no policy" if wrong else never)
    return "; ".join(dict.fromkeys(sentences))

"""Members of a choice that are one function under some other choices: a table, with the reasons."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from mxref.bits.floats import F16, F32, LAYOUTS, FloatLayout
from mxref.conformance.identification.setting import Setting

__all__ = ["REASONS", "Known", "narrower", "reasons"]

#: Other choices: the members that each still has, joined by "|".
Known = Mapping[str, str]
#: A reason: the choice, its equivalent members (none for all), a condition, and the sentence.
_Reason = tuple[str, Collection[str], Callable[[Setting, Known], bool], str]


def narrower(layout: FloatLayout) -> dict[str, FloatLayout]:
    """The types that a choice can round to first and that do not hold every number of a type."""
    types = {"float32": F32, "bfloat16": LAYOUTS["bf16"], "float16": F16}
    return {
        name: one
        for name, one in types.items()
        if one.exponent_bits < layout.exponent_bits or one.mantissa_bits < layout.mantissa_bits
    }


def _among(known: Known, choice: str, *members: str) -> bool:
    """Whether only these members of a choice are left."""
    return set(known[choice].split("|")) <= set(members)


_NEAREST = ("ties_to_even", "ties_to_away", "ties_to_zero")


def _flushed_alike(setting: Setting, known: Known) -> bool:
    """Whether every subnormal input becomes the same zero as by a flush."""
    fmt, layout = setting.element, setting.layout
    rounded = known["pre_rounding"].split("|")
    emin = max(narrower(layout).get(one, layout).emin for one in rounded)
    vanishes = emin < fmt.emin - fmt.mantissa_bits - 1
    one_sign = known["zero_sign"] == known["underflow_sign"] and "|" not in known["zero_sign"]
    one_sign |= not fmt.has_negative_zero
    to_zero = _among(known, "rounding", *_NEAREST, "toward_zero")
    plain = _among(known, "pre_rounding", "none", "float32", "bfloat16")
    return not setting.has_blocks and vanishes and one_sign and to_zero and plain


def _below(setting: Setting, known: Known) -> bool:
    """Whether no finite amax, as the scale rule sees it, reaches 2**128."""
    small = setting.layout.exponent_bits <= 8
    return small and _among(known, "amax_type", "source", "float32")


#: Under which members of pre_rounding the values of a type are float32 numbers.
_ARE_FLOAT32 = {"f32": ("none", "float32"), "f64": ("float32",)}

REASONS: tuple[_Reason, ...] = (
    (
        "clamp",
        (),
        lambda s, k: _among(k, "overflow", "saturate", "propagate"),
        "under overflow={overflow} both give the largest number",
    ),
    (
        "overflow",
        ("nonsaturating", "nonsaturating_ieee"),
        lambda s, k: _among(k, "rounding", *_NEAREST) or s.row.random_bits,
        "rounding={rounding} has no direction in which IEEE 754 stops",
    ),
    (
        "overflow",
        ("nonsaturating_ieee", "propagate"),
        lambda s, k: _among(k, "rounding", "toward_zero", "to_odd"),
        "under rounding={rounding} both stop finite numbers at the largest one",
    ),
    (
        "overflow",
        ("saturate", "propagate"),
        lambda s, k: _among(k, "block_inf", "nan_block") and s.layout.name in ("f32", "f16"),
        "under block_inf=nan_block no element is infinite",
    ),
    (
        "underflow_sign",
        (),
        lambda s, k: _among(k, "rounding", "to_odd", "toward_negative") and not s.has_blocks,
        "under rounding={rounding} no negative number becomes a zero",
    ),
    (
        "subnormal_inputs",
        (),
        _flushed_alike,
        "under rounding={rounding} every subnormal of the float type becomes that zero anyway",
    ),
    (
        "nan_to_finite",
        (),
        lambda s, k: (
            _among(k, "block_nan", "nan_block")
            and (_among(k, "scaling", "divide") or _among(k, "block_inf", "nan_block"))
        ),
        "under block_nan=nan_block no element is converted from NaN",
    ),
    (
        "amax_type",
        ("source", "float32", "bfloat16"),
        lambda s, k: _among(k, "pre_rounding", "bfloat16"),
        "under pre_rounding=bfloat16 every amax is a bfloat16",
    ),
    (
        "scale_rule",
        ("floor", "floor_exponent_field"),
        lambda s, k: (
            s.layout.name in ("f32", "bf16")
            and _among(k, "scale_underflow", "clamp", "flush_subnormal")
        ),
        "under scale_underflow={scale_underflow} subnormal amaxes have the scale 00 under both",
    ),
    (
        "scale_overflow",
        (),
        lambda s, k: _below(s, k) and (s.element.emax >= 1 or s.layout == F16),
        "every scale of {float} is below 2^127 or is it",
    ),
    (
        "scaling",
        (),
        lambda s, k: (
            s.element.emax >= 2
            and _below(s, k)
            and _among(k, "block_inf", "nan_block", "ignore")
            and _among(k, "scale_underflow", "clamp", "nan", "flush", "flush_subnormal")
        ),
        "no block of {float} has the scale FE",
    ),
    (
        "tiny_scale",
        ("as_if_zero", "always_up"),
        lambda s, k: "toward_positive" not in k["scale_rounding"],
        "they differ only under scale_rounding=toward_positive",
    ),
    (
        "scale_from",
        ("quotient", "source_quotient"),
        lambda s, k: _among(k, "pre_rounding", *_ARE_FLOAT32.get(s.float, ())),
        "under pre_rounding={pre_rounding} values of {float} have the type of scales",
    ),
    (
        "zero_block",
        ("one", "minus_emax"),
        lambda s, k: s.element.emax == 0 and _among(k, "int8_emax", "zero"),
        "the emax of INT8 is 0 under int8_emax=zero",
    ),
)


def reasons(setting: Setting, choice: str, known: Known) -> list[tuple[str, tuple[str, ...]]]:
    """The sentences that hold for a choice under other choices, with members (none for all)."""
    found = []
    for name, some, holds, sentence in REASONS:
        try:
            applies = name == choice and holds(setting, known)
        except KeyError:  # the other choice is not read
            continue
        if applies:
            found.append((sentence.format(float=setting.float, **known), tuple(some)))
    return found

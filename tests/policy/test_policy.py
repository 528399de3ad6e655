"""Policies: one spelling, every refusal, and the roundings by their definitions."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from helpers import sentence
from hypothesis import given
from hypothesis import strategies as st

import mxref
from mxref.policy.choices import Overflow, Rounding, Tail
from mxref.policy.policy import (
    READS,
    DecodePolicy,
    ElementPolicy,
    LayoutPolicy,
    Policy,
    ProductPolicy,
    ScalePolicy,
    resolve,
)
from mxref.policy.scale_rule import ScaleRule

ROUNDINGS = [
    "ties_to_even",
    "ties_to_away",
    "ties_to_zero",
    "toward_zero",
    "toward_positive",
    "toward_negative",
    "to_odd",
]
STOCHASTIC = ["stochastic_a", "stochastic_b", "stochastic_c"]
TYPES = ["float32", "bfloat16", "float16"]
# Every group with its choices in the order of the spelling, and their members, `ocp`'s first.
GROUPS: dict[str, dict[str, list[str]]] = {
    "element": {
        "rounding": [*ROUNDINGS, *STOCHASTIC],
        "overflow": ["saturate", "nonsaturating", "nonsaturating_ieee", "propagate"],
        "clamp": ["after_rounding", "before_rounding"],
        "nan": ["positive", "signed", "negative", "signed_quiet"],
        "nan_to_finite": ["max", "signed_max", "zero", "signed_zero", "opposite_zero", "error"],
        "zero_sign": ["kept", "dropped"],
        "underflow_sign": ["kept", "dropped"],
        "subnormal_inputs": ["kept", "flushed"],
        "int8_range": ["symmetric", "full"],
        "pre_rounding": ["none", *TYPES],
    },
    "scale": {
        "scale_rule": [
            "floor",
            "ceil",
            "rceil",
            "even",
            "tosa",
            "nearest",
            "nearest_log2",
            "nearest_log2_power",
            "floor_log2_float32",
            "floor_exponent_field",
            "rceil_reciprocal",
        ],
        "scale_rounding": ["toward_zero", *(r for r in ROUNDINGS if r != "toward_zero")],
        "block_nan": ["nan_block", "ignore"],
        "block_inf": ["nan_block", "largest_scale", "ignore"],
        "zero_block": ["code_00", "code_01", "one", "minus_emax", "nan"],
        "scale_overflow": ["clamp", "nan", "wrap"],
        "scale_underflow": ["clamp", "nan", "wrap", "flush", "flush_subnormal"],
        "amax_type": ["source", *TYPES],
        "int8_emax": ["zero", "one"],
        "nan_block_codes": ["zeros", "ones"],
        "scaling": ["divide", "reciprocal_flushed"],
        "scale_arithmetic": [
            "exact",
            "torchao",
            "transformer_engine",
            "transformer_engine_4over6",
            "transformer_engine_4over6_mse",
            "cublas",
            "compressed_tensors",
        ],
        "scale_of_zero": ["code_00", "nan"],
        "scale_of_negative": ["magnitude", "nan", "code_00", "code_00_if_finite"],
        "scale_of_inf": ["nan", "largest"],
        "tiny_scale": ["exact", "as_if_zero", "always_up"],
    },
    "decode": {
        "scale_00": ["power", "zero"],
        "scale_ff": ["nan", "inf", "power"],
        "product_overflow": ["inf", "nan", "saturate"],
        "product_rounding": ["once", "scale_first"],
        "decoded_zero": ["kept", "dropped"],
    },
    "layout": {
        "tail": ["zero_padded", "short", "refused"],
        "fp4_packing": [
            "low_nibble_first",
            "high_nibble_first",
            "halves",
            "middle_bits",
            "byte_each",
        ],
        "fp6_packing": ["lsb_first", "quark", "torchao_planar", "torchao_quads", "byte_each"],
        "scale_place": ["separate", "before", "after"],
        "scale_byte": ["biased", "signed"],
        "scale_layout": [
            *("row_major", "tiles_128x4", "tiles_8x4", "mn_major_words", "tiles_gfx950"),
            *("tiles_32x8", "tiles_hopper_4", "tiles_hopper_8", "tiles_16x16"),
        ],
    },
    "products": {
        "accumulation": [
            "exact",
            "sequential",
            "pairwise",
            "by_block",
            "scales_last",
            "aligned_25",
            "aligned_35",
            "aligned_13",
        ],
        "backward_operands": ["requantized", "reused"],
        "gradient_rows": ["flattened", "sequences"],
        "weight_axis": ["in", "out"],
        "activations": ["quantized", "kept"],
    },
}
CHOICES = {name: members for group in GROUPS.values() for name, members in group.items()}
KINDS: tuple[Any, ...] = (
    ElementPolicy,
    ScalePolicy,
    DecodePolicy,
    LayoutPolicy,
    ProductPolicy,
)
DEFAULTS = {name: members[0] for name, members in CHOICES.items()}
CHOICE_NAMES = ", ".join(CHOICES)
ROUNDING_NAMES = ", ".join(CHOICES["rounding"])

# What SPEC_NOTES and the docstrings say that every operation reads, typed by hand.
ELEMENT_CHOICES = (
    "rounding overflow clamp nan nan_to_finite zero_sign underflow_sign subnormal_inputs "
    "int8_range pre_rounding"
)
QUANTIZE_CHOICES = (
    ELEMENT_CHOICES
    + " scale_rule block_nan block_inf zero_block scale_overflow scale_underflow amax_type"
    + " int8_emax nan_block_codes scaling scale_arithmetic tail"
)
OPERATIONS = {
    "encode": ELEMENT_CHOICES,
    "decode": "decoded_zero",
    "encode_scale": (
        "pre_rounding scale_rounding scale_overflow scale_of_zero scale_of_negative scale_of_inf "
        "tiny_scale"
    ),
    "decode_scale": "scale_00 scale_ff",
    "shared_scale": "scale_rule zero_block scale_overflow scale_underflow amax_type int8_emax",
    "quantize": QUANTIZE_CHOICES,
    "dequantize": "scale_arithmetic scale_00 scale_ff product_overflow product_rounding "
    "decoded_zero",
    "pack": "fp4_packing fp6_packing",
    "unpack": "fp4_packing fp6_packing",
    "pack_blocks": "fp4_packing fp6_packing scale_place scale_byte",
    "unpack_blocks": "fp4_packing fp6_packing scale_place scale_byte",
    "pack_scales": "scale_layout",
    "unpack_scales": "scale_layout",
    "matmul": "accumulation",
    "linear": QUANTIZE_CHOICES + " accumulation weight_axis activations",
    "linear_gradients": QUANTIZE_CHOICES + " accumulation backward_operands gradient_rows",
}
X = np.float32([1.0, -0.25])
BLOCKS = mxref.quantize(X, "mxfp4_e2m1")
CALLS: dict[str, Callable[..., Any]] = {
    "encode": partial(mxref.encode, X, "e2m1"),
    "decode": partial(mxref.decode, [1], "e2m1"),
    "encode_scale": partial(mxref.encode_scale, X),
    "decode_scale": partial(mxref.decode_scale, [127]),
    "shared_scale": partial(mxref.shared_scale, X[:1], "e2m1"),
    "quantize": partial(mxref.quantize, X, "mxfp4_e2m1", block_size=2),
    "dequantize": partial(mxref.dequantize, BLOCKS),
    "pack": partial(mxref.pack, [1, 2], "e2m1"),
    "unpack": partial(mxref.unpack, [7], "e2m1", 1),
    "pack_blocks": partial(mxref.pack_blocks, [127], range(32), "mxint8"),
    "unpack_blocks": partial(mxref.unpack_blocks, [range(33)], "mxint8"),
    "pack_scales": partial(mxref.pack_scales, [[127]]),
    "unpack_scales": partial(mxref.unpack_scales, np.arange(512) % 256, (128, 4)),
    "matmul": partial(mxref.matmul, BLOCKS, BLOCKS),
}
UNREAD = [(op, name) for op in CALLS for name in CHOICES if name not in OPERATIONS[op].split()]
PAIRS = [(name, value) for name, members in CHOICES.items() for value in members]
SUBSETS = st.lists(st.sampled_from(PAIRS), unique_by=lambda pair: pair[0]).map(dict)


def spelling(choices: dict[str, str]) -> str:
    changed = [f"+{n}={choices[n]}" for n in CHOICES if choices.get(n, DEFAULTS[n]) != DEFAULTS[n]]
    return "ocp" + "".join(changed)


# The value and its spelling.


def test_the_default_policy() -> None:
    assert Policy() == Policy.parse("ocp")
    assert str(Policy()) == "ocp"
    assert Policy().choices() == DEFAULTS
    assert list(Policy().choices()) == list(CHOICES)


def test_the_groups_have_their_choices_in_the_order_of_the_spelling() -> None:
    assert [field.name for field in dataclasses.fields(Policy)] == list(GROUPS)
    for group, choices in GROUPS.items():
        fields = dataclasses.fields(getattr(Policy(), group))
        assert [field.name for field in fields] == list(choices), group


@given(SUBSETS)
def test_every_policy_has_one_spelling_and_is_read_in_any_order(choices: dict[str, str]) -> None:
    policy = Policy.parse("ocp" + "".join(f"+{name}={value}" for name, value in choices.items()))
    assert str(policy) == spelling(choices)
    assert Policy.parse(str(policy)) == policy
    assert policy.choices() == DEFAULTS | choices
    assert Policy().replace(**choices) == policy
    assert hash(Policy().replace(**choices)) == hash(policy)
    groups = [
        kind(**{n: member(n, choices[n]) for n in choices if n in GROUPS[name]})
        for name, kind in zip(GROUPS, KINDS, strict=True)
    ]
    assert Policy(*groups) == policy


def member(name: str, value: str) -> Any:
    """The member of a choice, by the type of the default."""
    group = next(group for group, choices in GROUPS.items() if name in choices)
    return type(getattr(getattr(Policy(), group), name))(value)


def test_every_member_is_spelled_alone() -> None:
    for name, members in CHOICES.items():
        for value in members:
            want = "ocp" if value == DEFAULTS[name] else f"ocp+{name}={value}"
            assert str(Policy.parse(f"ocp+{name}={value}")) == want
            assert str(Policy().replace(**{name: member(name, value)})) == want


def test_the_order_of_the_spelling_is_fixed() -> None:
    text = "ocp+tail=short+decoded_zero=dropped+scale_rounding=to_odd+nan=signed+rounding=to_odd"
    assert str(Policy.parse(text)) == (
        "ocp+rounding=to_odd+nan=signed+scale_rounding=to_odd+decoded_zero=dropped+tail=short"
    )


NO_POLICY = "policy must be ocp, or ocp+choice=value+..., got"
A_PROFILE = (
    "; a profile is named by mxref.profile(NAME), by --profile NAME of commands, and by PROFILE in "
    "a target's file"
)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", f"{NO_POLICY} ''{A_PROFILE}"),
        ("OCP", f"{NO_POLICY} 'OCP'{A_PROFILE}"),
        (" ocp", f"{NO_POLICY} ' ocp'{A_PROFILE}"),
        (
            "rounding=to_odd",
            f"{NO_POLICY} 'rounding=to_odd' (did you mean 'ocp+rounding=to_odd'?){A_PROFILE}",
        ),
        ("RCEIL", f"{NO_POLICY} 'RCEIL' (did you mean 'ocp+scale_rule=rceil'?){A_PROFILE}"),
        (
            "saturate",
            f"{NO_POLICY} 'saturate' (did you mean 'ocp+overflow=saturate' or "
            f"'ocp+product_overflow=saturate'?){A_PROFILE}",
        ),
        (
            "ocp+rceil",
            "policy 'ocp+rceil' must spell a choice as name=value, got 'rceil' (did you mean "
            "'scale_rule=rceil'?)",
        ),
        ("nvidia+rounding=to_odd", f"{NO_POLICY} 'nvidia+rounding=to_odd'{A_PROFILE}"),
        ("ocp+", "policy 'ocp+' must spell a choice as name=value, got ''"),
        ("ocp+rounding", "policy 'ocp+rounding' must spell a choice as name=value, got 'rounding'"),
        (
            "ocp+roundin=to_odd",
            "choice must be one of rounding, pre_rounding, scale_rounding, product_rounding and "
            f"{len(CHOICES) - 4} others, got 'roundin' (did you mean 'rounding'?)",
        ),
        ("ocp+=to_odd", f"choice must be one of {CHOICE_NAMES}, got ''"),
        ("ocp+rounding=", f"rounding must be one of {ROUNDING_NAMES}, got ''"),
        # What begins as written is named before what merely resembles it.
        (
            "ocp+rounding=to",
            f"rounding must be one of {ROUNDING_NAMES}, got 'to' (did you mean 'toward_zero'?)",
        ),
        (
            "ocp+zero=zero",
            f"choice must be one of zero_sign, zero_block, scale_of_zero, decoded_zero "
            f"and {len(CHOICES) - 4} others, got 'zero' "
            "(did you mean 'zero_sign'?)",
        ),
        (
            "ocp+rounding=TO_ODD",
            f"rounding must be one of {ROUNDING_NAMES}, got 'TO_ODD' (did you mean 'to_odd'?)",
        ),
        (
            "ocp+rounding=to_odd=1",
            f"rounding must be one of {ROUNDING_NAMES}, got 'to_odd=1' (did you mean 'to_odd'?)",
        ),
        ("ocp+clamp=zz", "clamp must be one of after_rounding, before_rounding, got 'zz'"),
        (
            "ocp+overflow=saturated",
            "overflow must be one of saturate, nonsaturating, nonsaturating_ieee, propagate, "
            "got 'saturated' (did you mean 'saturate'?)",
        ),
        (
            "ocp+rounding=to_odd+rounding=to_odd",
            "policy 'ocp+rounding=to_odd+rounding=to_odd' gives 'rounding' twice: keep one",
        ),
        (
            "ocp+tail=short+nan=signed+tail=refused",
            "policy 'ocp+tail=short+nan=signed+tail=refused' gives 'tail' twice: keep one",
        ),
    ],
)
def test_a_string_that_spells_no_policy(text: str, error: str) -> None:
    assert sentence(ValueError, lambda: Policy.parse(text)) == error
    for call in CALLS.values():
        assert sentence(ValueError, partial(call, policy=text)) == error


@pytest.mark.parametrize("value", STOCHASTIC)
def test_a_scale_has_no_random_bits(value: str) -> None:
    error = f"scale_rounding must be one of {', '.join(CHOICES['scale_rounding'])}, got "
    assert sentence(ValueError, lambda: Policy.parse(f"ocp+scale_rounding={value}")) == (
        f"{error}{value!r}"
    )
    given_member: Any = Rounding(value)
    text = sentence(ValueError, lambda: Policy().replace(scale_rounding=given_member))
    assert text.startswith(f"{error}{given_member!r}")


def test_replace_leaves_the_rest_and_the_original() -> None:
    policy = Policy.parse("ocp+overflow=nonsaturating+scale_rounding=to_odd+tail=short")
    changed = policy.replace(rounding="toward_zero", scale_rounding="ties_to_even", scale_00="zero")
    assert str(changed) == (
        "ocp+rounding=toward_zero+overflow=nonsaturating+scale_rounding=ties_to_even"
        "+scale_00=zero+tail=short"
    )
    assert str(policy) == "ocp+overflow=nonsaturating+scale_rounding=to_odd+tail=short"
    assert policy.replace() == policy


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        (
            "round",
            "to_odd",
            "choice must be one of rounding, pre_rounding, scale_rounding, product_rounding and "
            f"{len(CHOICES) - 4} others, got 'round' (did you mean 'rounding'?)",
        ),
        ("rounding", "up", f"rounding must be one of {ROUNDING_NAMES}, got 'up'"),
        ("rounding", 3, f"rounding must be one of {ROUNDING_NAMES}, got 3"),
        ("rounding", None, f"rounding must be one of {ROUNDING_NAMES}, got None"),
        (
            "rounding",
            Overflow.SATURATE,
            f"rounding must be one of {ROUNDING_NAMES}, got <Overflow.SATURATE: 'saturate'>",
        ),
        ("tail", b"zz", "tail must be one of zero_padded, short, refused, got b'zz'"),
        ("tail", ["zz"], "tail must be one of zero_padded, short, refused, got ['zz']"),
    ],
)
def test_replace_refuses(name: str, value: Any, error: str) -> None:
    assert sentence(ValueError, lambda: Policy().replace(**{name: value})) == error


def test_a_member_of_another_choice_is_refused_though_it_is_spelled_the_same() -> None:
    policy = Policy()
    assert policy.element.zero_sign.value == policy.decode.decoded_zero.value == "kept"
    with pytest.raises(ValueError, match=r"^zero_sign must be one of kept, dropped, got <Decoded"):
        policy.replace(zero_sign=policy.decode.decoded_zero)
    with pytest.raises(ValueError, match=r"^scale_rounding must be one of .*, got <Rounding"):
        policy.replace(scale_rounding=Rounding.TO_ODD)


def test_members() -> None:
    for name, values in CHOICES.items():
        assert [m.value for m in Policy.members(name)] == values
        assert all(type(m) is type(member(name, values[0])) for m in Policy.members(name))
    assert sentence(ValueError, lambda: Policy.members("zz")) == (
        f"choice must be one of {CHOICE_NAMES}, got 'zz'"
    )


@pytest.mark.parametrize(
    "thing", [Policy(), ElementPolicy(), ScalePolicy(), DecodePolicy(), LayoutPolicy()]
)
def test_policies_are_frozen_and_hashable(thing: Any) -> None:
    field = dataclasses.fields(thing)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(thing, field, getattr(thing, field))
    assert {thing: 1}[type(thing)()] == 1


def test_a_group_takes_members_or_their_spelling() -> None:
    for kind, group in zip(KINDS, GROUPS.values(), strict=True):
        for name, values in group.items():
            for value in values:
                spelled = kind(**{name: value})
                assert spelled == kind(**{name: member(name, value)})
                assert getattr(spelled, name) is member(name, value)
                assert dataclasses.replace(kind(), **{name: value}) == spelled
            names = ", ".join(values)
            for wrong in ("zz", 3):
                assert sentence(ValueError, partial(kind, **{name: wrong})) == (
                    f"{name} must be one of {names}, got {wrong!r}"
                )


@pytest.mark.parametrize("group", GROUPS)
def test_a_policy_has_groups_of_their_own_kind(group: str) -> None:
    own = type(getattr(Policy(), group))
    for wrong in ("ocp", None, *(kind() for kind in KINDS if kind is not own)):
        assert sentence(TypeError, partial(Policy, **{group: wrong})) == (
            f"{group} must be a {own.__name__}, got {type(wrong).__name__}"
        )


@pytest.mark.parametrize("policy", [None, 3, ElementPolicy(), b"ocp", ["ocp"]], ids=repr)
def test_a_policy_of_another_type(policy: Any) -> None:
    error = f"policy must be a string or a Policy, got {type(policy).__name__}"
    assert sentence(TypeError, lambda: Policy.parse(policy)) == error
    for operation, call in CALLS.items():
        assert sentence(TypeError, partial(resolve, operation, policy, {})) == error
        assert sentence(TypeError, partial(call, policy=policy)) == error


# resolve: the policy of one call.


def test_what_every_operation_reads() -> None:
    assert {op: set(reads) for op, reads in READS.items()} == {
        op: set(reads.split()) for op, reads in OPERATIONS.items()
    }
    for reads in READS.values():
        assert list(reads) == [name for name in CHOICES if name in reads]
    assert set(OPERATIONS["encode"].split()) == set(GROUPS["element"])
    assert set(OPERATIONS["dequantize"].split()) == {*GROUPS["decode"], "scale_arithmetic"}
    assert set().union(*READS.values()) == set(CHOICES)  # no choice is there for nothing


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("operation", "name"), UNREAD)
def test_an_operation_refuses_a_choice_that_it_does_not_read(operation: str, name: str) -> None:
    readers = [op for op, reads in OPERATIONS.items() if name in reads.split()]
    verb = "reads" if len(readers) == 1 else "read"
    error = f"{operation} does not read the choice {name!r}, which {', '.join(readers)} {verb}"
    for value in CHOICES[name]:
        spelled = f"ocp+{name}={value}"  # even the default
        for policy, choices in (
            (spelled, {}),
            ("ocp", {name: value}),
            ("ocp", {name: member(name, value)}),
            (Policy(), {name: value}),
        ):
            call = partial(resolve, operation, policy, choices)
            assert sentence(ValueError, call) == error
    for wrong in ({name: CHOICES[name][-1]}, {name: "zz"}, {"policy": spelled}):
        assert sentence(ValueError, partial(CALLS[operation], **wrong)) == error


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_operation_takes_every_choice_that_it_reads(operation: str) -> None:
    for name in OPERATIONS[operation].split():
        for value in CHOICES[name]:
            want = Policy().replace(**{name: value})
            assert resolve(operation, f"ocp+{name}={value}", {}) == want
            assert resolve(operation, "ocp", {name: value}) == want
            assert resolve(operation, "ocp", {name: member(name, value)}) == want
            assert resolve(operation, Policy(), {name: value}) == want


@pytest.mark.parametrize("operation", CALLS)
def test_a_policy_object_is_taken_whole(operation: str) -> None:
    everything = Policy().replace(**{name: members[-1] for name, members in CHOICES.items()})
    assert resolve(operation, everything, {}) == everything
    read = OPERATIONS[operation].split()[0]
    # Nor is a keyword a repetition of what the object says.
    changed = resolve(operation, everything, {read: DEFAULTS[read]})
    assert changed == everything.replace(**{read: DEFAULTS[read]})
    call = CALLS[operation]
    calm = everything.replace(
        rounding="to_odd",
        nan_to_finite="zero",
        tail="short",
        scale_overflow="nan",
        scale_layout="tiles_128x4",
        accumulation="exact",
    )
    mine = {n: calm.choices()[n] for n in OPERATIONS[operation].split()}
    mine.pop("scale_arithmetic", None)  # which E8M0 scales do not read
    by_object, by_keyword = call(policy=calm), call(**mine)
    if operation == "quantize":
        by_object, by_keyword = by_object.codes, by_keyword.codes
    if operation == "unpack_blocks":
        by_object, by_keyword = (np.concatenate(both) for both in (by_object, by_keyword))
    assert by_object.tobytes() == by_keyword.tobytes()


def test_resolve_merges_the_string_and_the_keywords() -> None:
    policy = resolve("encode", "ocp+rounding=to_odd", {"overflow": Overflow.NONSATURATING})
    assert str(policy) == "ocp+rounding=to_odd+overflow=nonsaturating"
    assert resolve("encode", "ocp", {}) == Policy()


def test_a_choice_given_twice() -> None:
    error = "choice 'rounding' is given twice, in policy and by keyword: keep one"
    for value in ("to_odd", "toward_zero", Rounding.TO_ODD):
        call = partial(resolve, "encode", "ocp+clamp=after_rounding+rounding=to_odd")
        assert sentence(ValueError, partial(call, {"rounding": value})) == error
    call = partial(mxref.quantize, X, "mxint8", "ocp+tail=short", tail="short")
    assert sentence(ValueError, call) == error.replace("rounding", "tail")


@pytest.mark.parametrize(
    ("operation", "name", "hint"),
    [
        ("encode", "roundig", " (did you mean 'rounding'?)"),
        ("dequantize", "product", " (did you mean 'product_overflow'?)"),
        ("decode", "rnd", ""),
    ],
)
def test_an_unknown_keyword(operation: str, name: str, hint: str) -> None:
    reads = [n for n in CHOICES if n in OPERATIONS[operation].split()]
    error = f"choice must be one of {', '.join(reads)}, got {name!r}{hint}"
    assert sentence(ValueError, partial(resolve, operation, "ocp", {name: "x"})) == error
    assert sentence(ValueError, partial(CALLS[operation], **{name: "x"})) == error


def test_string_keyword_member_and_object_say_the_same() -> None:
    x = np.float32([0.3, -0.3])
    changed: dict[str, Any] = {"rounding": Rounding.TOWARD_POSITIVE}
    for codes in (
        mxref.encode(x, "e2m1", "ocp+rounding=toward_positive"),
        mxref.encode(x, "e2m1", rounding="toward_positive"),
        mxref.encode(x, "e2m1", **changed),
        mxref.encode(x, "e2m1", Policy(ElementPolicy(**changed))),
        mxref.encode(x, "e2m1", Policy(), rounding="toward_positive"),
    ):
        assert codes.tolist() == [0x1, 0x8]
    rule = Policy(scale=ScalePolicy(scale_rule=ScaleRule.CEIL), layout=LayoutPolicy(Tail.SHORT))
    for blocks in (
        mxref.quantize(x, "mxfp4_e2m1", rule),
        mxref.quantize(x, "mxfp4_e2m1", "ocp+tail=short+scale_rule=ceil"),
        mxref.quantize(x, "mxfp4_e2m1", tail="short", scale_rule="ceil"),
    ):
        # 0.3 / 4 is at least 2**-4, so the scale is 2**-3 and the elements are 2.4.
        assert (blocks.codes.tolist(), blocks.scale_codes.tolist()) == ([4, 12], [124])


# The roundings.


def nearest(v: Fraction, on_tie: Callable[[list[int]], int]) -> int:
    candidates = [math.floor(v), math.ceil(v)]
    near = [n for n in candidates if abs(v - n) <= Fraction(1, 2)]
    return near[0] if len(near) == 1 else on_tie(near)


DEFINITIONS: dict[str, Callable[[Fraction], int]] = {
    "ties_to_even": round,
    "ties_to_away": lambda v: nearest(v, lambda both: max(both, key=abs)),
    "ties_to_zero": lambda v: nearest(v, lambda both: min(both, key=abs)),
    "toward_zero": math.trunc,
    "toward_positive": math.ceil,
    "toward_negative": math.floor,
    "to_odd": lambda v: next(n for n in (math.floor(v), math.ceil(v)) if n % 2 or n == v),
}


@pytest.mark.parametrize("name", ROUNDINGS)
def test_increments_by_definition(name: str) -> None:
    assert not Rounding(name).stochastic
    increments = Rounding(name).increments()
    assert (increments.shape, increments.dtype) == ((16,), np.int64)
    for i, increment in enumerate(increments.tolist()):
        negative, odd, half, rest = i & 8, i & 4, i & 2, i & 1
        code = 3 if odd else 2
        magnitude = code + Fraction(bool(half), 2) + Fraction(bool(rest), 4)
        result = DEFINITIONS[name](-magnitude if negative else magnitude)
        assert abs(result) == code + increment, f"situation {i:04b}"


@pytest.mark.parametrize("name", STOCHASTIC)
def test_a_stochastic_rounding_has_no_table_of_increments(name: str) -> None:
    assert Rounding(name).stochastic
    assert sentence(ValueError, Rounding(name).increments) == f"{name} needs random bits"


def test_the_repr_is_a_line_that_makes_the_policy_again() -> None:
    for text in ("ocp", "ocp+rounding=to_odd+tail=short"):
        policy = Policy.parse(text)
        assert repr(policy) == f"Policy.parse('{text}')"
        assert eval(repr(policy)) == policy

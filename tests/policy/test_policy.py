"""Policies: one spelling, every refusal, and the roundings by their definitions."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from helpers import ROUNDINGS, sentence
from hypothesis import given
from hypothesis import strategies as st
from tables import rows

import mxref
from mxref.policy.choices import Overflow, Rounding
from mxref.policy.groups import (
    DecodePolicy,
    ElementPolicy,
    FloatScalePolicy,
    LayoutPolicy,
    ProductPolicy,
    ScalePolicy,
)
from mxref.policy.policy import READS, Policy, resolve

TABLE = rows("policy", "choices")
#: The members of each choice, `ocp`'s first.
CHOICES = {name: members.split() for _, name, members in TABLE}
GROUPS = {
    group: [name for one, name, _ in TABLE if one == group]
    for group in ("element", "scale", "float_scale", "decode", "layout", "products")
}
KINDS: tuple[Any, ...] = (
    ElementPolicy,
    ScalePolicy,
    FloatScalePolicy,
    DecodePolicy,
    LayoutPolicy,
    ProductPolicy,
)
DEFAULTS = {name: members[0] for name, members in CHOICES.items()}
STOCHASTIC = ["stochastic_a", "stochastic_b", "stochastic_c"]
#: The choices that each operation reads.
OPERATIONS = {op: reads.split() for op, reads in rows("policy", "reads")}
for some in OPERATIONS.values():
    if some[0] == "QUANTIZE":
        some[:1] = OPERATIONS["quantize"]
X = np.float32([1.0, -0.25])
BLOCKS = mxref.quantize(X, "mxfp4_e2m1")
CALLS: dict[str, Callable[..., Any]] = {
    "encode": partial(mxref.encode, X, "e2m1"),
    "decode": partial(mxref.decode, [1], "e2m1"),
    "encode_scale": partial(mxref.encode_scale, X),
    "decode_scale": partial(mxref.decode_scale, [127]),
    "shared_scale": partial(mxref.shared_scale, X[:1], "e2m1"),
    "quantize": partial(mxref.quantize, X, "mxfp4_e2m1", block_size=2),
    "quantize of float32 scales": partial(mxref.quantize, X, "fp8_e4m3_f32", block_size=2),
    "dequantize": partial(mxref.dequantize, BLOCKS),
    "pack": partial(mxref.pack, [1, 2], "e2m1"),
    "unpack": partial(mxref.unpack, [7], "e2m1", 1),
    "pack_blocks": partial(mxref.pack_blocks, [127], range(32), "mxint8"),
    "unpack_blocks": partial(mxref.unpack_blocks, [range(33)], "mxint8"),
    "pack_scales": partial(mxref.pack_scales, [[127]]),
    "unpack_scales": partial(mxref.unpack_scales, np.arange(512) % 256, (128, 4)),
    "matmul": partial(mxref.matmul, BLOCKS, BLOCKS),
}
UNREAD = [(op, name) for op in CALLS for name in CHOICES if name not in OPERATIONS[op]]
PAIRS = [(name, value) for name, members in CHOICES.items() for value in members]
SUBSETS = st.lists(st.sampled_from(PAIRS), unique_by=lambda pair: pair[0]).map(dict)
#: What words of the table of refusals stand for.
WORDS = {
    "CHOICES": ", ".join(CHOICES),
    "ROUNDINGS": ", ".join(CHOICES["rounding"]),
    "OTHERS": str(len(CHOICES) - 4),
    "NO_POLICY": "policy must be ocp, or ocp+choice=value+..., got",
    " PROFILE": "; a profile is named by mxref.profile(NAME), by --profile NAME of commands, and "
    "by PROFILE in a target's file",
}


def member(name: str, value: str) -> Any:
    """The member of a choice, by the type of the default."""
    group = next(group for group, choices in GROUPS.items() if name in choices)
    return type(getattr(getattr(Policy(), group), name))(value)


def must_be(name: str) -> str:
    return f"{name} must be one of {', '.join(CHOICES[name])}, got "


# The value and its spelling.


def test_the_default_policy_and_its_groups() -> None:
    assert Policy() == Policy.parse("ocp")
    assert str(Policy()) == "ocp"
    assert list(Policy().choices().items()) == list(DEFAULTS.items())
    assert [field.name for field in dataclasses.fields(Policy)] == list(GROUPS)
    for group, choices in GROUPS.items():
        fields = dataclasses.fields(getattr(Policy(), group))
        assert [field.name for field in fields] == choices, group


@given(SUBSETS)
def test_every_policy_has_one_spelling_and_is_read_in_any_order(choices: dict[str, str]) -> None:
    policy = Policy.parse("ocp" + "".join(f"+{name}={value}" for name, value in choices.items()))
    changed = {n: choices[n] for n in CHOICES if choices.get(n, DEFAULTS[n]) != DEFAULTS[n]}
    assert str(policy) == "+".join(["ocp", *(f"{n}={value}" for n, value in changed.items())])
    assert Policy.parse(str(policy)) == policy
    assert policy.choices() == DEFAULTS | choices
    assert Policy().replace(**choices) == policy
    assert hash(Policy().replace(**choices)) == hash(policy)
    groups = [
        kind(**{n: member(n, choices[n]) for n in choices if n in GROUPS[name]})
        for name, kind in zip(GROUPS, KINDS, strict=True)
    ]
    assert Policy(*groups) == policy


@pytest.mark.parametrize("name", CHOICES)
def test_every_member_is_taken_and_spelled_alone(name: str) -> None:
    values, group = CHOICES[name], next(group for group in GROUPS if name in GROUPS[group])
    kind = type(getattr(Policy(), group))
    assert [m.value for m in Policy.members(name)] == values
    assert all(type(m) is type(member(name, values[0])) for m in Policy.members(name))
    for value in values:
        want = "ocp" if value == DEFAULTS[name] else f"ocp+{name}={value}"
        assert str(Policy.parse(f"ocp+{name}={value}")) == want
        assert str(Policy().replace(**{name: member(name, value)})) == want
        spelled = kind(**{name: value})
        assert spelled == kind(**{name: member(name, value)})
        assert getattr(spelled, name) is member(name, value)
        assert dataclasses.replace(kind(), **{name: value}) == spelled
    for wrong in ("zz", 3, None, b"zz", ["zz"]):
        for call in (kind, Policy().replace):
            text = sentence(ValueError, partial(call, **{name: wrong}))
            assert text.startswith(f"{must_be(name)}{wrong!r}")


def test_the_repr_is_a_line_that_makes_the_policy_again() -> None:
    text = "ocp+tail=short+decoded_zero=dropped+scale_rounding=to_odd+nan=signed+rounding=to_odd"
    policy = Policy.parse(text)
    assert repr(policy) == (
        "Policy.parse('ocp+rounding=to_odd+nan=signed+scale_rounding=to_odd+decoded_zero=dropped"
        "+tail=short')"
    )
    assert eval(repr(policy)) == policy


@pytest.mark.parametrize(("quoted", "error"), rows("policy", "refused"))
def test_a_string_that_spells_no_policy(quoted: str, error: str) -> None:
    text = json.loads(quoted)
    for word, meaning in WORDS.items():
        error = error.replace(word, meaning)
    assert sentence(ValueError, lambda: Policy.parse(text)) == error
    for call in CALLS.values():
        assert sentence(ValueError, partial(call, policy=text)) == error


def test_replace_leaves_the_rest_and_the_original() -> None:
    text = "ocp+overflow=nonsaturating+scale_rounding=to_odd+tail=short"
    policy = Policy.parse(text)
    changed = policy.replace(rounding="toward_zero", scale_rounding="ties_to_even", scale_00="zero")
    assert str(changed) == (
        "ocp+rounding=toward_zero+overflow=nonsaturating+scale_rounding=ties_to_even"
        "+scale_00=zero+tail=short"
    )
    assert str(policy) == text
    assert policy.replace() == policy
    assert sentence(ValueError, lambda: policy.replace(round="to_odd")) == (
        "choice must be one of rounding, pre_rounding, scale_rounding, product_rounding and "
        f"{WORDS['OTHERS']} others, got 'round' (did you mean 'rounding'?)"
    )
    assert sentence(ValueError, lambda: Policy.members("zz")) == (
        f"choice must be one of {WORDS['CHOICES']}, got 'zz'"
    )


def test_a_member_of_another_choice_is_refused_though_it_is_spelled_the_same() -> None:
    policy = Policy()
    assert policy.element.zero_sign.value == policy.decode.decoded_zero.value == "kept"
    stochastic = [(f"scale_rounding={value}", Rounding(value)) for value in STOCHASTIC]
    for spelled, other in (
        ("zero_sign=", policy.decode.decoded_zero),
        ("rounding=", Overflow.SATURATE),
        ("scale_rounding=", Rounding.TO_ODD),
        *stochastic,  # a scale has no random bits
    ):
        name, _, value = spelled.partition("=")
        text = sentence(ValueError, partial(policy.replace, **{name: other}))
        assert text.startswith(f"{must_be(name)}{other!r}")
        if value:
            text = sentence(ValueError, partial(Policy.parse, f"ocp+{spelled}"))
            assert text == f"{must_be(name)}{value!r}"


@pytest.mark.parametrize("thing", [Policy(), *(kind() for kind in KINDS)])
def test_policies_are_frozen_and_hashable(thing: Any) -> None:
    field = dataclasses.fields(thing)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(thing, field, getattr(thing, field))
    assert {thing: 1}[type(thing)()] == 1


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
        op: set(reads) for op, reads in OPERATIONS.items()
    }
    for reads in READS.values():
        assert list(reads) == [name for name in CHOICES if name in reads]
    assert set(OPERATIONS["encode"]) == set(GROUPS["element"])
    assert set(OPERATIONS["dequantize"]) == {*GROUPS["decode"], "scale_arithmetic"}
    assert set().union(*READS.values()) == set(CHOICES)  # no choice is there for nothing


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("operation", "name"), UNREAD)
def test_an_operation_refuses_a_choice_that_it_does_not_read(operation: str, name: str) -> None:
    readers = [op for op, reads in OPERATIONS.items() if name in reads]
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
    assert resolve(operation, "ocp", {}) == Policy()
    for name in OPERATIONS[operation]:
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
    read = OPERATIONS[operation][0]
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
    mine = {n: calm.choices()[n] for n in OPERATIONS[operation]}
    mine.pop("scale_arithmetic", None)  # which E8M0 scales do not read
    by_object, by_keyword = call(policy=calm), call(**mine)
    if operation.startswith("quantize"):
        by_object, by_keyword = by_object.codes, by_keyword.codes
    if operation == "unpack_blocks":
        by_object, by_keyword = (np.concatenate(both) for both in (by_object, by_keyword))
    assert by_object.tobytes() == by_keyword.tobytes()


def test_a_choice_given_twice() -> None:
    policy = resolve("encode", "ocp+rounding=to_odd", {"overflow": Overflow.NONSATURATING})
    assert str(policy) == "ocp+rounding=to_odd+overflow=nonsaturating"
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
    reads = [n for n in CHOICES if n in OPERATIONS[operation]]
    error = f"choice must be one of {', '.join(reads)}, got {name!r}{hint}"
    assert sentence(ValueError, partial(resolve, operation, "ocp", {name: "x"})) == error
    assert sentence(ValueError, partial(CALLS[operation], **{name: "x"})) == error


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


def test_a_policy_of_words_is_kept() -> None:
    for policy in ("ocp+nan=signed", Policy()):
        calls = [resolve("encode", policy, {"rounding": "to_odd"}) for _ in range(2)]
        assert calls[0] is calls[1]
        for value in (["to_odd"], {}, None):  # what no table of words can have
            call = partial(resolve, "encode", policy, {"rounding": value})
            assert sentence(ValueError, call).startswith("rounding must be one of")

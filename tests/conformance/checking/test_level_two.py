"""Every input of a family of level 2: one wrong answer of 65,536 is found, under any policy."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
from right_calls import quantized

import mxref
from mxref.conformance import target_of
from mxref.conformance.checking.computed import Compared
from mxref.conformance.checking.level_two import ask_families
from mxref.golden.level2 import Family, families, select
from mxref.policy.policy import Policy
from mxref.profiles import Profile
from mxref.targets.calls import without_cases

Array = np.ndarray[Any, Any]
BF16 = np.dtype(ml_dtypes.bfloat16)


def asked(
    place: tuple[str, str, str],
    function: Callable[..., Any],
    policy: str = "ocp",
    profile: Profile | None = None,
    among: Sequence[Family] | None = None,
) -> list[Compared]:
    target = target_of(SimpleNamespace(**{place[0]: function}), "kernel")
    every = families() if among is None else among
    chosen = Policy.parse(policy)
    return list(ask_families(target, every, chosen, profile, [without_cases(*place)]))


def first_scales(policy: str, count: int) -> list[Family]:
    """The families of `quantize` to MXFP4, with the blocks of some scales alone."""
    found = select("quantize.mxfp4_e2m1.f32.ocp")

    def some(family: Family) -> Family:
        chunks = family.chunks
        return dataclasses.replace(family, chunks=lambda: itertools.islice(chunks(), count))

    return [some(family) for family in found if family.policy == policy]


def test_one_wrong_answer_of_all_inputs() -> None:
    number = BF16.type(3.140625)

    def encode(values: Array, format: str) -> Array:
        return mxref.encode(values, format) ^ (values == number)

    (found,) = asked(("encode", "e4m3", "bf16"), encode)
    assert (found.cases, found.wrong) == (1 << 16, 1)
    assert found.outcome is not None
    (failure,) = found.outcome.failures
    assert failure.case.inputs == (0x4049,)
    assert failure.case.id.startswith("encode.e4m3.bf16.level2")
    assert len(found.outcome.file.cases) == 201  # 200 right ones beside it


def test_a_right_target_has_no_outcome() -> None:
    (found,) = asked(("shared_scale", "e2m1", "f16"), mxref.shared_scale)
    assert (found.cases, found.wrong, found.outcome) == (1 << 15, 0, None)


def test_what_a_target_does_not_have_is_not_asked() -> None:
    target = target_of(SimpleNamespace(encode=mxref.encode, FORMATS=["e4m3"]), "kernel")
    files = [without_cases("encode", name, "f16") for name in ("e4m3", "e5m2")]
    assert len(list(ask_families(target, families(), Policy(), None, files))) == 1
    assert asked(("encode", "e4m3", "f32"), mxref.encode) == []  # not in level 2


def test_only_the_choices_that_an_operation_reads_count() -> None:
    policy = "ocp+rounding=toward_zero+fp4_packing=halves+block_nan=ignore"

    def encode(values: Array, format: str) -> Array:
        return mxref.encode(values, format, rounding="toward_zero")

    (found,) = asked(("encode", "e2m1", "f16"), encode, policy)
    assert (found.cases, found.wrong) == (1 << 16, 0)
    (found,) = asked(("encode", "e2m1", "f16"), encode)
    # Of either sign above 0.25 1.25 2.5 5, from 0.75 1.75 3.5 on, below the next number.
    assert found.wrong == 2 * (1023 + 255 + 255 + 255 + 512 + 256 + 256)


def test_a_policy_without_a_family_is_asked_the_same_inputs() -> None:
    def encode(values: Array, format: str) -> Array:
        return mxref.encode(values, format, rounding="toward_zero", zero_sign="dropped")

    policy = "ocp+rounding=toward_zero+zero_sign=dropped"
    (found,) = asked(("encode", "e2m1", "f16"), encode, policy)
    assert (found.cases, found.wrong) == (1 << 16, 0)


def test_a_stochastic_rounding_has_no_answers_to_compare_with() -> None:
    assert asked(("encode", "e2m1", "f16"), mxref.encode, "ocp+rounding=stochastic_a") == []


def test_what_the_policy_refuses_is_not_asked() -> None:
    """E2M1 has no NaN: 2046 patterns of float16 are none."""

    def encode(values: Array, format: str) -> Array:
        assert not np.isnan(values).any()
        return mxref.encode(values, format)

    (found,) = asked(("encode", "e2m1", "f16"), encode, "ocp+nan_to_finite=error")
    assert (found.cases, found.wrong) == ((1 << 16) - 2046, 0)


def quantize(rule: str, wrong: int) -> Callable[..., Any]:
    def function(values: Array, format: str) -> Any:
        scales, codes = quantized(values, format, scale_rule=rule)
        codes[wrong, 7] ^= 1
        return scales, codes

    return function


def test_blocks_of_the_scale_rule() -> None:
    place = ("quantize", "mxfp4_e2m1", "f32")
    every = [one for rule in ("", "+scale_rule=rceil") for one in first_scales("ocp" + rule, 2)]
    (found,) = asked(place, quantize("rceil", 5), "ocp+scale_rule=rceil", among=every)
    assert found.wrong == 2  # one in each of two calls
    (found,) = asked(place, quantize("floor", 5), "ocp", among=every)
    assert found.wrong == 2
    assert found.outcome is not None
    assert {failure.case.rule for failure in found.outcome.failures} != {""}


def test_a_profile_is_compared_with_where_it_speaks() -> None:
    profile = mxref.profile("mlx_0_32")

    def function(values: Array, format: str) -> Any:
        blocks = profile.quantize(values, format)
        return blocks.scale_codes, blocks.codes

    place = ("quantize", "mxfp4_e2m1", "f32")
    by = str(Policy().replace(scale_rule=profile.policy.scale.scale_rule.value))
    among = first_scales(by, 1) or first_scales("ocp", 1)
    (found,) = asked(place, function, "ocp", profile, among)
    assert (found.cases > 0, found.wrong) == (True, 0)
    (found,) = asked(place, function, "ocp", None, first_scales("ocp", 1))
    assert found.wrong > 0

"""Identify: random policies are found exactly, and contradictions are named."""

from __future__ import annotations

import json
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import ROOT
from identify_helpers import Follower, random_policy, same
from right_calls import quantized
from shifted_kernels import quantizer
from tables import rows

import mxref
from mxref.cases.answers import exact_answers, reads
from mxref.cli import identify_verb
from mxref.conformance import identify, load_target, target_of
from mxref.conformance.identification.asking import PROBES, separating
from mxref.conformance.identification.equal_members import equal_members
from mxref.conformance.identification.equal_reasons import REASONS
from mxref.conformance.identification.identify import Identified, identify_one, settings
from mxref.conformance.identification.policy_sets import Factor, PolicySet
from mxref.conformance.identification.predicted import predicted
from mxref.conformance.identification.setting import Setting
from mxref.formats.catalog import OTHER_CODE_FORMATS
from mxref.operands.word_rows import NO_WORD, padded, same_width
from mxref.operations.registry import LAYER_OPERATIONS
from mxref.policy.choices import ScaleLayout
from mxref.policy.policy import Policy

ADAPTER = ROOT / "tools" / "adapters" / "ml_dtypes_adapter.py"
EVERY = [one for one in settings() if one.op not in LAYER_OPERATIONS]  # have their own tests
SCALARS = [
    one
    for one in EVERY
    if not one.op.startswith("quantize") and one.format not in OTHER_CODE_FORMATS
]
BLOCKS = [one for one in EVERY if one.op == "quantize"] + [
    one
    for one in EVERY
    if one.op == "quantize_tensor" and str(one).endswith(("mxfp4_e2m1 bf16", "mxint8 f64"))
]


def check(setting: Setting, chosen: dict[str, str]) -> None:
    """The truth is found, and the members that are one function with it, and no others."""
    truth = Policy().replace(**chosen)
    target = Follower(truth)
    found = identify_one(target, setting)
    assert len(target.asked) == len(found.probes) <= PROBES
    assert found.consistent, found.clashes
    assert found.contains(truth)
    left, draw = [], random.Random(str(chosen))
    for name in setting.choices:
        for group, _ in equal_members(setting, name):
            for member in group:
                other = {**chosen, name: member}
                if not found.contains(Policy().replace(**other)):
                    assert differs(found, other), (name, member)
                elif member != chosen[name]:
                    left.append((chosen[name] in group, other))
    asked = [other for static, other in left if not static]
    known = [other for static, other in left if static]
    rows = [(factor, draw.choice(factor.rows)) for factor in found._whole().factors]
    asked.append({n: m for f, row in rows for n, m in zip(f.names, row, strict=True)})
    for other in asked + draw.sample(known, min(1, len(known))):
        assert same(setting, chosen, other), {n: m for n, m in other.items() if m != chosen[n]}


def differs(found: Identified, chosen: dict[str, str]) -> bool:
    """Whether a policy gives another answer to some probe."""
    for size in {len(probe.words) for probe in found.probes}:
        probes = [probe for probe in found.probes if len(probe.words) == size]
        words = np.array([probe.words for probe in probes], np.uint64)
        want, got = same_width(
            predicted(found.setting, words, chosen), padded([p.answer or () for p in probes])
        )
        wrong = (want != got).any(axis=1)
        if found.setting.op.startswith("unpack"):  # bytes of another size have no answer
            wrong &= (want != np.uint64(NO_WORD)).any(axis=1)
        if wrong.any():
            return True
    return False


@pytest.mark.sampled(28)
@pytest.mark.parametrize("number", range(182))
def test_random_policies(number: int) -> None:
    check(*random_policy(SCALARS, number))


@pytest.mark.sampled(28)
@pytest.mark.parametrize("number", range(28))
def test_random_policies_of_blocks(number: int) -> None:
    check(*random_policy(BLOCKS, number))


#: Policies in which choices show only together, or only where nothing else does.
HARD = [
    (row["where"], row["policy"])
    for row in json.loads((Path(__file__).parent / "data" / "hard_policies.json").read_text())
]


@pytest.mark.sampled(14)
@pytest.mark.parametrize(("where", "policy"), HARD)
def test_choices_that_show_only_together(where: str, policy: str) -> None:
    setting, chosen = Setting("quantize", *where.split()), Policy.parse(policy).choices()
    check(setting, {name: chosen[name] for name in reads("quantize")})


@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", [105, 5, 36])
def test_stochastic_rounding_after_float16_shows_next_to_parts_of_the_smallest_number(
    number: int,
) -> None:
    """Only beside a quarter of it (and so on, by the random bits) does float16 round a bfloat16."""
    setting, draw = Setting("encode_stochastic", "e5m2", "bf16"), random.Random(number)
    check(
        setting,
        {name: draw.choice(setting.row.members(setting.format, name)) for name in setting.choices},
    )


@pytest.mark.sampled(6)
def test_a_pair_of_choices_that_shows_at_one_amax() -> None:
    where, policy = HARD[-1]
    truth = Policy.parse(policy)
    found = identify_one(Follower(truth), Setting("quantize", *where.split()))
    assert found.contains(truth.replace(clamp="before_rounding"))
    assert not found.contains(truth.replace(overflow="nonsaturating_ieee", clamp="before_rounding"))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("reason", REASONS, ids=lambda reason: f"{reason[0]}-{reason[3][:40]}")
def test_reasons_hold_of_random_policies(reason: Any) -> None:
    """Whatever else is chosen, the members that a sentence makes one are one function."""
    choice, some, holds, _ = reason
    draw, checked = random.Random(reason[3]), 0
    readers = [one for one in EVERY if choice in one.choices and one.op != "quantize_tensor"]
    while checked < 20:
        setting = draw.choice(readers)
        chosen = {n: draw.choice(setting.row.members(setting.format, n)) for n in setting.choices}
        known = {n: group[0] for n, m in chosen.items() for group in of(setting, n) if m in group}
        del known[choice]
        try:
            applies = holds(setting, known)
        except KeyError:  # the operation does not read it
            continue
        if not applies:
            continue
        one, other = draw.sample(list(some or setting.row.members(setting.format, choice)), 2)
        if any({one, other} <= set(group) for group in of(setting, choice)):
            continue  # which is so whatever else is chosen
        assert same(setting, {**chosen, choice: one}, {**chosen, choice: other}), (chosen, one)
        checked += 1


def of(setting: Setting, choice: str) -> list[tuple[str, ...]]:
    return [group for group, _ in equal_members(setting, choice)]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("setting", EVERY[::5], ids=str)
def test_members_that_are_always_one_function(setting: Setting) -> None:
    """What is not asked at all: over random policies, and all inputs or steps."""
    if setting.op == "quantize_tensor":
        return
    draw = random.Random(str(setting))
    for name in setting.choices:
        for group in of(setting, name):
            if len(group) > 1:
                chosen = {
                    n: draw.choice(setting.row.members(setting.format, n)) for n in setting.choices
                }
                one, other = draw.sample(group, 2)
                assert same(setting, {**chosen, name: one}, {**chosen, name: other}), (name, chosen)


def of_module(**functions: Any) -> Any:
    return target_of(SimpleNamespace(**functions), "mine")


def one(target: Any, op: str, format: str, float: str = "f32") -> Identified:
    return identify_one(target, Setting(op, format, float))


def test_bits_that_verify_does_not_compare_are_no_contradiction() -> None:
    """NaN is one class, and the codes of a NaN block are open: where they are of no policy."""

    def other_codes(values: np.ndarray, format: str) -> tuple[np.ndarray, np.ndarray]:
        scales, codes = quantized(values, format)
        codes[scales == 0xFF, 3:] = 5
        return scales, codes

    def other_nan(values: np.ndarray, format: str) -> np.ndarray:
        return np.where(np.isnan(values), 0x7D, mxref.encode(values, format))

    target = of_module(quantize=other_codes, encode=other_nan)
    found = one(target, "quantize", "mxfp4_e2m1", "f16")
    assert found.consistent
    for member in ("zeros", "ones"):
        assert found.contains(Policy.parse(f"ocp+nan_block_codes={member}"))
    assert not found.contains(Policy.parse("ocp+block_nan=ignore"))
    assert "ocp" not in found.profiles  # which verify compares bit for bit
    found = one(target, "encode", "e5m2", "bf16")
    assert found.contains(Policy())
    assert "every NaN code is right" in next(f for f in found.findings if f.choice == "nan").because


def test_errors_are_answers() -> None:
    def refuses_nan(values: np.ndarray, format: str) -> np.ndarray:
        if np.isnan(values).any():
            raise ValueError("NaN")
        return mxref.encode(values, format)

    target = of_module(encode=refuses_nan)
    found = one(target, "encode", "e2m1")
    assert found.consistent
    assert found.space.values("nan_to_finite") == ("error",)
    assert not one(target, "encode", "e4m3").consistent  # no policy refuses what has a code


@pytest.mark.sampled(0)
def test_ml_dtypes_is_what_is_known_of_it() -> None:
    results = identify(load_target(str(ADAPTER)))
    assert {one.setting.op for one in results} == {
        "encode",
        "decode",
        "encode_scale",
        "decode_scale",
    }
    for found in results:
        assert found.consistent, found.setting
        plain = found.setting.op.startswith("decode")
        assert "ml_dtypes" in found.profiles
        assert ("ocp" in found.profiles) == plain
    assert not results[0].contains(load_target(str(ADAPTER)).policy)  # what it claims of its NaNs


def test_the_set_of_profiles_is_exact() -> None:
    def saturating(values: np.ndarray, format: str) -> np.ndarray:
        return mxref.encode(values, format, mxref.profile("ml_dtypes").policy, overflow="saturate")

    # The others that saturate keep no sign of a NaN.
    found = one(of_module(encode=saturating), "encode", "e4m3")
    assert found.profiles == ("onnx", "torch", "compressed_tensors")
    found = one(of_module(encode=saturating), "encode", "e3m2")  # which has no overflow
    assert found.profiles == ("ml_dtypes", "onnx", "onnx_nosat")
    found = one(of_module(encode=mxref.encode), "encode", "int8")
    assert found.profiles == ("ocp",)


def test_what_is_shown_rules_out_what_it_says() -> None:
    found = one(of_module(encode=mxref.encode), "encode", "e4m3", "f64")
    (rounding,) = [finding for finding in found.findings if finding.choice == "rounding"]
    assert rounding.values == ("ties_to_even",)
    ruled = {*found.setting.row.members(found.setting.format, "rounding")} - {"ties_to_even"}
    assert set(rounding.shown) == ruled
    for member, (probe, word) in rounding.shown.items():
        bits = np.array([found.probes[probe].words], np.uint64).view(np.float64)
        assert mxref.encode(bits, "e4m3", rounding=member)[0, 0] != found.probes[probe].answer[word]


def test_spaces() -> None:
    space = PolicySet.of({"a": "xy", "b": "xy", "c": "xyz"})
    assert space.count == 12
    assert space.keep(["d"], [{"d": "x"}]) == space
    coupled = space.keep(["a", "b"], [{"a": "x", "b": "y"}, {"a": "y", "b": "x"}])
    assert coupled.factors == (
        Factor(("c",), (("x",), ("y",), ("z",))),
        Factor(("a", "b"), (("x", "y"), ("y", "x"))),
    )
    assert {"a": "x", "b": "x", "c": "z"} not in coupled
    assert {"a": "x", "b": "y", "c": "z"} in coupled
    again = coupled.keep(["b", "c"], [{"b": "x", "c": "z"}, {"b": "x", "c": "y"}])
    assert list(again) == [{"c": c, "a": "y", "b": "x"} for c in "zy"] or again.count == 2
    assert again.values("a") == ("y",)
    wide = again.widen("b", {"x": ("x", "w")})
    assert wide.count == 4
    assert wide.values("b") == ("x", "w")


def test_separating_questions() -> None:
    answers = np.array([[1, 1, 1, 5], [1, 2, 1, 5], [1, 2, 3, 5]], np.uint64)
    assert separating(list(answers)) == [1, 2]
    assert separating([answers[0]]) == []
    assert separating([answers[0], answers[0]]) == []


def _exchanged(values: Any, format: str) -> tuple[Any, Any]:
    scales, codes = quantized(values, format)
    return scales, codes.reshape(-1, 16, 2)[..., ::-1].reshape(-1, 32)


def _noise(values: Any, format: str) -> tuple[Any, Any]:
    scales, codes = quantized(values, format)
    return scales ^ 5, (codes * 37 + 11) % 16


def allow_few_predictions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail where as many policies are compared as are left by contradictions."""
    asked = []

    def counted(*arguments: Any) -> Any:
        asked.append(arguments)
        assert len(asked) < 3000
        return predicted(*arguments)

    monkeypatch.setattr("mxref.conformance.identification.asking.predicted", counted)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("quantize", "float", "told"),
    [
        (quantizer(lambda _: 3), "f32", "shift: every scale is 3 codes too large: 64 of 64"),
        (
            quantizer(lambda _: -2, unclamped=True),
            "f64",
            "shift: every scale is 2 codes too small, and elements",
        ),
        (quantizer(lambda _: 0, stored=2), "bf16", "shift: every scale is 2 codes too large"),
        (_exchanged, "f16", "bug: bug pairs_exchanged: exchanges the two codes of every pair"),
        (_noise, "bf16", ""),
    ],
)
def test_blocks_of_no_policy_are_compared_with_few_and_their_bug_is_named(
    monkeypatch: pytest.MonkeyPatch, quantize: Any, float: str, told: str
) -> None:
    """Answers that contradict each other rule out little: not all that is left is compared."""
    allow_few_predictions(monkeypatch)
    found = identify_one(of_module(quantize=quantize), Setting("quantize", "mxfp4_e2m1", float))
    assert len(found.clashes) > len(found.probes) // 2
    ((shift, bug),) = identify_verb._bugs([found])
    assert (f"shift: {shift}" if shift else f"bug: {bug}" if bug else "").startswith(told)
    assert bool(shift or bug) == bool(told)


def test_a_target_without_an_answer_is_not_compared_with_every_policy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def encode(values: Any, format: str) -> Any:
        raise MemoryError

    allow_few_predictions(monkeypatch)
    found = one(of_module(encode=encode), "encode", "e4m3")
    assert len(found.clashes) == len(found.probes) > 0


@pytest.mark.parametrize("layout", ScaleLayout)
def test_every_scale_layout_is_identified(layout: ScaleLayout) -> None:
    """Also where it has bytes of another length than the default's."""
    for op in ("pack_scales", "unpack_scales"):
        check(Setting(op, "e8m0", "bytes"), {"scale_layout": layout.value})


# --- members that are one function ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "choice", "group"), rows("conformance/identification", "equal_members")
)
def test_what_is_one_function_whatever_else_is_chosen(where: str, choice: str, group: str) -> None:
    groups = [
        " ".join(some) for some, _ in equal_members(Setting(*where.split()), choice) if some[1:]
    ]
    assert groups == [group] * bool(group)


def test_the_largest_float16_is_beyond_it_once_it_is_rounded_to_bfloat16() -> None:
    """65504 becomes 65536: of scale 2**(16 - 8) for E4M3, or an infinity."""
    block = tuple(np.float16([65504, *[0] * 31]).view(np.uint16).tolist())

    def scale(amax_type: str) -> int:
        policy = Policy().replace(pre_rounding="bfloat16", amax_type=amax_type)
        return exact_answers("quantize", "mxfp8_e4m3", "f16", [block], policy)[0][0]

    assert scale("source") == scale("float32") == 127 + 8
    assert scale("float16") == 0xFE

"""What a linear layer quantizes, and how a product adds, is told from answers without a guess."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import ROOT
from json_tables import cases
from product_targets import BF16, E4M3, Product, named, product_target, sums_in

from mxref.bits.floats import LAYOUTS
from mxref.conformance import Identified, identify, load_target, target_of
from mxref.conformance.identification.accumulation_rows import _UNNAMED, unnamed_adders
from mxref.conformance.identification.identified_text import lines
from mxref.conformance.identification.identify import identify_one
from mxref.conformance.identification.layer_questions import layer_pools
from mxref.conformance.identification.predicted import predicted
from mxref.conformance.identification.setting import Setting
from mxref.formats.catalog import BLOCK_FORMATS
from mxref.policy.policy import Policy
from mxref.products.linear_operands import gradient_operands, linear_operands

OWN = {
    "linear": ("weight_axis", "activations"),
    "linear_gradients": ("backward_operands", "gradient_rows"),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("op", OWN)
def test_the_questions_tell_all_members_apart(op: str) -> None:
    """In every format from every float type; but for sequences, which `reused` does not have."""
    every = [[(name, m.value) for m in Policy.members(name)] for name in OWN[op]]
    for format, float in itertools.product(BLOCK_FORMATS, LAYOUTS):
        setting = Setting(op, format, float)
        pool = layer_pools(setting)[0](Policy())
        answers = {
            tuple(dict(some).values()): predicted(setting, pool.words, dict(some)).tobytes()
            for some in itertools.product(*every)
        }
        if op == "linear_gradients":
            assert answers.pop(("reused", "sequences")) == answers["reused", "flattened"]
        assert len({*answers.values()}) == len(answers), setting


def in_order(a: Any, b: Any) -> Any:
    """A product by float32 additions one after the other."""
    total = np.zeros((len(a), b.shape[1]), np.float32)
    for k in reversed(range(a.shape[1])):
        total += np.outer(a[:, k], b[k]).astype(np.float32)
    return total


def layer(forward: dict[str, Any], backward: dict[str, Any]) -> Any:
    """A layer that adds in float32, and sums the gradient of the bias wrongly."""

    def linear(x: Any, w: Any, bias: Any, format: str) -> Any:
        a, b = linear_operands(x, w, format, **forward)
        rows = a if isinstance(a, np.ndarray) else a.dequantize(np.float32)
        y = in_order(rows.astype(np.float32), b.dequantize(np.float32))
        return y.astype(x.dtype).reshape(*x.shape[:-1], len(w))

    def linear_gradients(x: Any, w: Any, grad: Any, format: str) -> Any:
        pairs = gradient_operands(x, w, grad, format, **backward)
        dx, dw = (
            in_order(*(one.dequantize(np.float32) for one in pair)).astype(x.dtype)
            for pair in pairs
        )
        return dx.reshape(x.shape), dw, np.ones(len(w), x.dtype)

    return target_of(SimpleNamespace(linear=linear, linear_gradients=linear_gradients), "layer")


@pytest.mark.sampled(14)
@pytest.mark.parametrize(("op", "format", "float", "choices"), cases(__file__, "choices"))
def test_choices_are_told_whatever_the_order_of_additions(
    op: str, format: str, float: str, choices: dict[str, Any]
) -> None:
    one = identify_one(layer(choices, choices), Setting(op, format, float))
    assert one.contains(Policy().replace(**choices)), one.policy
    chosen = {**{name: Policy().choices()[name] for name in OWN[op]}, **choices}
    told = {finding.choice: finding.values for finding in one.findings}
    for name in OWN[op]:
        if (name, chosen.get("backward_operands")) != ("gradient_rows", "reused"):
            assert told[name] == (chosen[name],)
    assert len(told["scale_rule"]) < len(Policy.members("scale_rule")) / 2


# --- accumulations --------------------------------------------------------------------------------


FP4 = "mxfp4_e2m1-mxfp4_e2m1"


def found(matmul: Product, pair: str = E4M3) -> Identified:
    (one,) = identify(product_target(matmul, pair), ["matmul"])
    return one


@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    ("pair", "how"),
    [
        *((E4M3, how) for how in ("sequential", "pairwise", "by_block", "scales_last")),
        *((E4M3, how) for how in ("aligned_25", "aligned_13")),
        *((FP4, how) for how in ("pairwise", "by_block", "aligned_35")),
        ("mxint8-mxint8", "pairwise"),
    ],
)
def test_every_named_accumulation_is_told_from_all_others(pair: str, how: str) -> None:
    one = found(named(how), pair)
    assert [str(policy) for policy in one.policies] == [f"ocp+accumulation={how}"]
    assert len(one.probes) <= 64


def test_the_exact_sum() -> None:
    assert [str(policy) for policy in found(named("exact")).policies] == ["ocp"]


@pytest.mark.sampled(7)
def test_sums_without_a_name() -> None:
    one = found(sums_in(BF16))
    assert not one.consistent
    assert "adds as bfloat16 sums, one after the other" in lines([one])[2]
    (one,) = identify(load_target(str(ROOT / "tools/examples/my_matmul.py")), ["matmul"])
    assert "adds in float32, rounded to nearest, in an order that has no name" in lines([one])[2]


@pytest.mark.parametrize(
    ("codes", "answer", "adders"),
    [
        ((0x38, 0xB8), 0, [*_UNNAMED]),  # 1 - 1 is +0
        ((0x38, 0xB8), 0x80000000, []),
        ((0xB8, 0xB8), 0xC0000000, [*_UNNAMED]),  # -1 - 1
        # 256 + 1 + 1: with 8 bits 257 is a tie, and 256 is even.
        ((0x78, 0x38, 0x38), 0x43800000, ["bfloat16 sums, one after the other"]),
    ],
)
def test_adders_without_a_name(codes: tuple[int, ...], answer: int, adders: list[str]) -> None:
    row = [0x7F, *codes, 0x7F, *[0x38] * len(codes)]
    assert unnamed_adders(E4M3, [(row, answer)]) == adders

"""The accumulation of a product, identified by rows that swamp and cancel."""

from __future__ import annotations

import pytest
from helpers import ROOT
from product_targets import BF16, E4M3, Product, named, product_target, sums_in

from mxref.conformance import Identified, identify, load_target
from mxref.conformance.identification.accumulation_rows import _UNNAMED, unnamed_adders
from mxref.conformance.identification.identified_text import lines

FP4 = "mxfp4_e2m1-mxfp4_e2m1"


def found(matmul: Product, pair: str = E4M3) -> Identified:
    (one,) = identify(product_target(matmul, pair), ["matmul"])
    return one


@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    ("pair", "how"),
    [
        (E4M3, "sequential"),
        (E4M3, "pairwise"),
        (E4M3, "by_block"),
        (E4M3, "scales_last"),
        (E4M3, "aligned_25"),
        (E4M3, "aligned_13"),
        (FP4, "pairwise"),
        (FP4, "by_block"),
        (FP4, "aligned_35"),
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

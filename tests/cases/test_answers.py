"""Answers of both references to cases that are worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from mxref.cases.answers import answerable, exact_answers
from mxref.operands.kinds import signed
from mxref.operations.affine_words import affine
from mxref.operations.layers import exact_layer, fast_layer
from mxref.operations.product_words import BOUNDS
from mxref.operations.registry import CALL_OPERATIONS
from mxref.policy.policy import Policy

ONE, TWO, FOUR, SIX = 0x3F800000, 0x40000000, 0x40800000, 0x40C00000
MINUS = 1 << 31
MASK = (1 << 32) - 1


@pytest.mark.parametrize(("policy", "code"), [("nan=zero", 0), ("nan=lowest", -128)])
def test_a_policy_of_integers_is_its_name(policy: str, code: int) -> None:
    words = [-128 & MASK, 127, ONE, 5, 0x7FC00000]
    ((word,),) = exact_answers("quantize_affine", "int8", "f32", [words], policy)
    assert signed(word, 8) == code


@pytest.mark.parametrize(
    ("op", "words", "low", "high"),
    [
        ("linear", [1, 1, 1, 1, 0, ONE, TWO], [TWO], [TWO]),
        ("linear", [1, 1, 2, 1, 0, ONE, ONE, ONE, ONE], [TWO], [TWO]),
        ("linear", [1, 1, 1, 1, 1, ONE, TWO, TWO], [FOUR], [FOUR]),
        (
            "linear_gradients",
            [1, 1, 1, 1, ONE, TWO, TWO],
            [FOUR, TWO, TWO - 1],
            [FOUR, TWO, TWO + 1],
        ),
    ],
)
def test_the_ends_of_a_layer_by_hand(
    op: str, words: list[int], low: list[int], high: list[int]
) -> None:
    """Of x, w and the bias or the gradient; sums of few bits are exact in every order.

    The gradient of the bias is a sum of any floats: 2 +- (2**-24 * 2 + 2**-150), rounded.
    """
    for column, ends in zip(BOUNDS, (low, high), strict=False):
        assert exact_layer(op, "mxfp8_e4m3", "f32", words, column) == tuple(ends)
        assert fast_layer(op, "mxfp8_e4m3", "f32", words, column).tolist() == ends


def test_which_layers_have_answers() -> None:
    for op in ("linear", "linear_gradients"):
        assert answerable(op, "mxfp8_e4m3", "f32", Policy())
        assert not answerable(op, "mxfp8_e4m3", "f32", Policy().replace(accumulation="aligned_35"))


def test_the_words_of_a_scale_of_float64() -> None:
    parts = affine("int8_scale64", [-128 & MASK, 127, 0x3FF80000, 1, -1 & MASK, 7, 8])
    assert (parts.low, parts.high, parts.axis, parts.dims) == (-128, 127, None, (2,))
    assert (parts.scales, parts.zero_points) == ((0x3FF8000000000001,), (-1,))
    assert (parts.values, tuple(parts.which)) == ((7, 8), (0, 0))


def test_a_rescaling_of_two_channels() -> None:
    words = [3, -4 & MASK, 2, 1 << 30, 1 << 29, 30, 31, *(5, 6, 7, 8)]
    q, multiplier, shift, zero, out, target, bits = (
        CALL_OPERATIONS["rescale"].call("int8-int8", words).arguments
    )
    assert (q.tolist(), multiplier.tolist()) == ([[5, 6], [7, 8]], [1 << 30, 1 << 29])
    assert (shift.tolist(), zero, out, target, bits) == ([30, 31], 3, -4, np.int8, 32)
    for broken in (words[:2], words[:7], words[:-1], [3, 4, 0]):
        with pytest.raises(ValueError, match=r"case must|channels must|values must"):
            CALL_OPERATIONS["rescale"].call("int8-int8", broken)


def test_the_first_and_the_last_pixel_of_two_channels() -> None:
    corners = [-32767 & MASK] * 2 + [32767] * 2
    words = (1, 0, 0, 2, 2, 3, 1, 2, *range(1, 13), *corners)
    assert CALL_OPERATIONS["grid_sample"].exact_answer("int8", words, "default") == (1, 6, 7, 12)


def test_the_ends_of_a_layer_that_is_exact() -> None:
    """Twice 3 under the scale 1 is 6 in every order; sums of tenths depend on it."""
    words = (1, 1, 1, 1, ONE, 3, TWO)
    assert [
        CALL_OPERATIONS["linear_qcs8w"].twin_column("int8", words, column) for column in BOUNDS
    ] == [(SIX,)] * 4
    rounded = (1, 1, 2, 1, 0x3DCCCCCD, 3, 5, 0x3DCCCCCD, 0x3F8CCCCD)
    low, high, _, one = (
        CALL_OPERATIONS["linear_qcs8w"].twin_column("int8", rounded, c)[0] for c in BOUNDS
    )
    assert (low < high, one) == (True, 0x7FC00000)

"""Questions about integers: what a call has, what rules speak of, and how a wrong word is shown."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from mxref.conformance.checking.integer_questions import IntegerQuestion, IntegerSubject
from mxref.operands.draws import Draws
from mxref.operations.registry import CALL_OPERATIONS

LAYERS = [
    (op, format)
    for op in ("linear_qcs8w", "linear_qcs4w")
    for format in CALL_OPERATIONS[op].formats
]


def question(op: str, format: str, *sizes: int) -> IntegerQuestion:
    return IntegerQuestion(IntegerSubject(op, format, "default"), sizes)


#: What rules may speak of: operation, format, sizes, and the counts and words by hand.
FEATURES: tuple[tuple[str, str, tuple[int, ...], dict[str, int | str]], ...] = (
    ("quantize_affine", "int8", (33,), {"values": 33, "axes": "2 axes"}),
    ("pack_int4", "int4", (3, 5), {"rows": 3, "codes in a row": 5, "codes": 15}),
    (
        "rescale", "int8-int8", (4, 4),
        {"rows": 4, "channels": 4, "values": 16, "sides": "as many rows as channels"},
    ),
    (
        "linear_qcs8w", "int8", (2, 3, 20),
        {
            "rows": 2, "outputs": 3, "columns": 20,
            "sides": "another number of rows than of outputs",
        },
    ),
    (
        "linear_qcs8w", "int8_groups", (3, 3, 4, 5),
        {
            "rows": 3, "outputs": 3, "groups": 4, "columns in a group": 5, "columns": 20,
            "sides": "as many rows as outputs",
        },
    ),
)  # fmt: skip


@pytest.mark.parametrize(("op", "format", "sizes", "features"), FEATURES)
def test_features(
    op: str, format: str, sizes: tuple[int, ...], features: dict[str, int | str]
) -> None:
    assert question(op, format, *sizes).features == features


def test_features_of_an_axis_and_of_an_image() -> None:
    found = question("quantize_affine", "int8_axis", 6, 2, 3, 5).features
    assert {name: found[name] for name in ("values", "scales", "lines before")} == {
        "values": 6 * 2 * 3 * 5,
        "scales": "groups",
        "lines before": 3,
    }
    found = question("grid_sample", "int8", 2, 3, 3, 4, 5).features
    assert (found["points"], found["samples"]) == (20, 40)
    assert found["sides"] == "as many pixels down as pixels across"


def test_the_first_wrong_word_is_shown() -> None:
    one = question("pack_int4", "int4", 3, 5)
    (codes,) = one.arguments
    high, low = int(codes[1, 2]) + 8, int(codes[1, 3]) + 8
    got = one.wanted.copy()
    got[4] ^= 1  # of three bytes in a row the second one of row 1
    got[7] ^= 1
    want = f"want {high << 4 | low:02x}, got {(high << 4 | low) ^ 1:02x}"
    assert one.difference(got) == f"3 rows, 5 codes in a row: element (1, 1): {want}"


@pytest.mark.parametrize(("op", "format"), LAYERS)
def test_layers_have_a_scale_for_each_row_or_group(op: str, format: str) -> None:
    groups = format.endswith("_groups")
    x, w, scales = (
        CALL_OPERATIONS[op]
        .sized(format, (2, 3, 4, 5) if groups else (2, 3, 20), Draws("sizes 0"))
        .arguments
    )
    assert x.shape == (2, 20)
    assert w.shape == (3, 20 if op == "linear_qcs8w" else 10)
    assert scales.shape == ((3, 4) if groups else (3,))


@pytest.mark.parametrize("format", CALL_OPERATIONS["rescale"].formats)
def test_results_of_rescale_are_within_int32(format: str) -> None:
    call = CALL_OPERATIONS["rescale"].sized(format, (50, 7), Draws("sizes 0"))
    q, multiplier, shift, zero, out, dtype, bits = call.arguments
    assert (q.shape, multiplier.shape, shift.shape) == ((50, 7), (7,), (7,))
    assert (q.dtype.name, dtype.name) == tuple(format.split("_")[0].split("-"))
    assert bits == (16 if format.endswith("_m16") else 32)
    for row in q.tolist():
        for value, m, s in zip(row, multiplier.tolist(), shift.tolist(), strict=True):
            assert 2 <= s <= 62
            assert abs(Fraction((value - zero) * m, 2**s)) + abs(out) + 1 < 2**31


@pytest.mark.parametrize("format", ["int8", "uint8", "int16"])
def test_values_lie_at_midpoints_and_beyond_both_ends(format: str) -> None:
    """At most two float32 numbers from a midpoint, half of them on it, and a tenth beyond."""
    x, scale, zero, _, high, *_ = (
        CALL_OPERATIONS["quantize_affine"].sized(format, (4000,), Draws("sizes 0")).arguments
    )
    values = x.reshape(-1)
    near = np.floor(values.astype(np.float64) / scale)[:, None] + (-0.5, 0.5, 1.5)
    bits = (near * scale).astype(np.float32).view(np.int32).astype(np.int64)
    off = np.abs(bits - values.view(np.int32)[:, None].astype(np.int64)).min(axis=1)
    assert set(off.tolist()) == {0, 1, 2}
    assert abs(np.mean(off == 0) - 0.6) < 0.05  # of half of them, and of a fifth of the others
    codes: Any = values / scale + zero
    reach = min(high, 1 << 20)
    for beyond in (codes < -reach - 1, codes > reach + 1):
        assert np.mean(beyond) > 0.02

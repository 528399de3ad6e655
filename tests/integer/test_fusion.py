"""Each condition of a fusion, before those that come after it, and what fused layers compute."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mxref.integer import (
    Condition,
    QParams,
    dequantize_affine,
    fuses,
    linear_qcs4w,
    linear_qcs8w,
    pack_int4,
)

ROWS = QParams(np.float32([0.5, 0.25]), axis=0)
W4, W8 = np.int8([[-8, 7, 0, -1], [1, 2, 3, -4]]), np.int8([[-128, 7, 0, -1], [1, 2, 3, 127]])
#: What breaks a condition, and mostly those after it, but none before it.
BROKEN: list[tuple[Condition, Any, QParams, bool]] = [
    (Condition.INPUT, np.int16(W4), QParams(0.5, 3, dtype=np.int16), True),
    (Condition.CHANNELS, np.int16(W4), QParams(0.5, 3, dtype=np.int16), False),
    (Condition.CHANNELS, W4, QParams(np.ones((2, 2)), axis=1), False),
    (Condition.CHANNELS, W4, QParams(np.ones((2, 1)), axis=1), False),
    (Condition.DTYPE, np.int16(W4), QParams(np.ones(4), 3, dtype=np.int16, axis=1), False),
    (Condition.DTYPE, np.uint8(W4), QParams(np.ones(2), 3, 0, 255, np.uint8, 0), False),
    (Condition.ZEROS, W4[:, :3], QParams(np.ones(3), [0, 0, 1], axis=1), False),
    (Condition.AXIS, W4[:, :3], QParams(np.ones(3), axis=1), False),
    (Condition.AXIS, W8[:, :2], QParams(np.ones(2), axis=-1), False),
    (Condition.COLUMNS, W4[:, :3], ROWS, False),
]


@pytest.mark.parametrize(("condition", "w", "qparams", "input_dequantized"), BROKEN)
def test_q15_the_first_condition_that_fails_is_told(
    condition: Condition, w: Any, qparams: QParams, input_dequantized: bool
) -> None:
    assert fuses(w, qparams, input_dequantized=input_dequantized) == ((), condition)


def test_every_condition_is_broken_and_in_the_documentation() -> None:
    assert [*dict.fromkeys(condition for condition, *_ in BROKEN)] == [*Condition]
    text = (Path(__file__).parents[2] / "docs/integers.md").read_text()
    rows = re.findall(r"^\| `([A-Z]+)`: ([^|]+?) \|", text, re.MULTILINE)
    assert [name for name, _ in rows] == [one.name for one in Condition]
    assert all(said.replace("−", "-").startswith(Condition[name].value) for name, said in rows)


def test_bits_are_those_of_the_codes() -> None:
    assert fuses(W4, ROWS) == (("linear_qcs4w",), None)
    assert fuses(W8[:, :3], QParams(np.ones(2), axis=-2), bias=True).becomes == (
        "linear_qcs8w",
        "add",
    )
    for code, operator in ((7, "linear_qcs4w"), (8, "linear_qcs8w"), (-9, "linear_qcs8w")):
        assert fuses(np.int8([[-8, code], [0, 0]]), ROWS).becomes == (operator,)


def test_the_fused_layer_has_the_values_of_the_weight() -> None:
    """Under scales that are powers of two both are the exact product (Q11)."""
    x = np.float32(np.random.default_rng(1).integers(-99, 99, (5, 4)))
    want = x @ dequantize_affine(W4, ROWS).T
    scales = np.float32(ROWS.scale)
    for got in (linear_qcs4w(x, pack_int4(W4), scales), linear_qcs8w(x, W4, scales)):
        assert np.array_equal(got, want)

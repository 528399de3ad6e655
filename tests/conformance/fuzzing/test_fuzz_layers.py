"""Fuzzing linear layers: any shape, judged by intervals, and shrunk to one product."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mxref
from mxref.bits.floats import F32
from mxref.cases.drawn_layers import SHAPES, layer_words
from mxref.conformance import target_of
from mxref.conformance.fuzzing.fuzz import Counterexample, fuzz
from mxref.operands.word_rows import stripped
from mxref.operations.layers import exact_layer, fast_layer, layer_of, layer_sizes
from mxref.operations.simpler_layers import blanked_layers, rounder_layers, smaller_layers


def found(examples: int = 25, **functions: Any) -> Counterexample | None:
    target = target_of(SimpleNamespace(**functions), "layer")
    (row,) = fuzz(target, formats=["mxfp8_e4m3"], floats=["f32"], examples=examples)
    return row.found


def test_float32_sums_in_another_order_pass() -> None:
    def linear(x: Any, w: Any, bias: Any, format: str) -> Any:
        a, b = (mxref.quantize(one, format, axis=-1).dequantize(np.float32) for one in (x, w))
        y = np.zeros((*x.shape[:-1], len(w)), np.float32)
        for k in reversed(range(x.shape[-1])):
            y += a[..., k : k + 1] * b[:, k]
        return y if bias is None else y + bias

    assert found(linear=linear) is None


@pytest.mark.sampled(6)
@pytest.mark.parametrize("op", ["linear", "linear_gradients"])
def test_a_wrong_column_or_row_is_shrunk_to_one_product(
    op: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def linear(x: Any, w: Any, bias: Any, format: str) -> Any:
        y = mxref.linear(x, w, format, bias=bias, dtype=x.dtype)
        y[..., 16:] = 0
        return y

    def linear_gradients(x: Any, w: Any, grad: Any, format: str) -> Any:
        dx, dw, db = mxref.linear_gradients(x, w, grad, format, dtype=x.dtype)
        return dx, dw * (1 if x.shape[1] < 17 else 2), db

    function = {"linear": linear, "linear_gradients": linear_gradients}[op]
    wrong = found(**{op: function})
    assert wrong is not None
    words = wrong.failure.case.inputs
    layer = layer_of(op, words)
    arrays = (layer.x, layer.w) if op == "linear" else (layer.x, layer.more)
    for array in arrays:
        assert array is not None
        assert array[array != 0].tolist() == [
            0x3F800000
        ]  # one number that is not zero, and it is 1
    assert words[:4] == ((1, 1, 1, 17) if op == "linear" else (1, 17, 1, 1))
    module = ModuleType("layer")
    setattr(module, op, function)
    monkeypatch.setitem(sys.modules, "layer", module)
    exec(wrong.code, {})
    want, got = (line.split()[1:] for line in capsys.readouterr().out.splitlines())
    assert want == [f"{word:08x}" for word in wrong.failure.want]
    assert got == [f"{word:08x}" for word in wrong.failure.got or ()]


@pytest.mark.parametrize("op", ["linear", "linear_gradients"])
@pytest.mark.parametrize("float", ["f32", "bf16", "f16", "f64"])
def test_drawn_layers_equal_the_slow_twin(op: str, float: str) -> None:
    for seed, shape in enumerate(SHAPES[:4]):
        words = layer_words(op, "mxfp8_e4m3", float, shape, seed)
        assert len(words) == layer_sizes(op, words)[0]
        want = exact_layer(op, "mxfp8_e4m3", float, words, "ocp")
        assert fast_layer(op, "mxfp8_e4m3", float, words, "ocp").tolist() == [*want]


@pytest.mark.parametrize("op", ["linear", "linear_gradients"])
def test_simpler_layers_are_layers(op: str) -> None:
    words = layer_words(op, "mxint8", "f32", (2, 3, 5, 4), 1)
    nonzero = sum(map(bool, words))
    for row in smaller_layers(op, words):
        some = stripped(row)
        assert len(some) == layer_sizes(op, some)[0] < len(words)
    for row in blanked_layers(5 if op == "linear" else 4, words):
        assert len(row) == len(words)
        assert np.count_nonzero(row) < nonzero
    for row in rounder_layers(5 if op == "linear" else 4, words, F32):
        (place,) = np.flatnonzero(row != np.array(words, np.uint64))
        assert int(row[place]) & 0x7FFFFF == 0


@pytest.mark.parametrize(
    ("op", "words", "smaller"),
    [
        ("linear", (1, 1, 1, 1, 0, 10, 20), []),
        ("linear", (1, 1, 1, 1, 1, 10, 20, 30), [(1, 1, 1, 1, 0, 10, 20)]),  # without the bias
        (
            "linear",  # a row of two inputs: the first alone, the last alone
            (1, 1, 2, 1, 0, 10, 11, 20, 21),
            [(1, 1, 1, 1, 0, 10, 20), (1, 1, 1, 1, 0, 11, 21)],
        ),
        (
            "linear_gradients",  # three sequences: the first, the last, the first two, the last two
            (3, 1, 1, 1, 10, 11, 12, 20, 30, 31, 32),
            [
                (1, 1, 1, 1, 10, 20, 30),
                (1, 1, 1, 1, 12, 20, 32),
                (2, 1, 1, 1, 10, 11, 20, 30, 31),
                (2, 1, 1, 1, 11, 12, 20, 31, 32),
            ],
        ),
    ],
)
def test_smaller_layers_are_the_first_or_the_last_part_of_an_axis(
    op: str, words: tuple[int, ...], smaller: list[tuple[int, ...]]
) -> None:
    assert [stripped(row) for row in smaller_layers(op, words)] == smaller

"""Simpler cases to try, of numbers, integers and layers, and the code that shows a wrong word."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import drawn
from numpy.typing import NDArray
from tables import codes, rows

import mxref
from mxref.bits.floats import F32
from mxref.cases.drawn_layers import SHAPES, layer_words
from mxref.cases.records import Case
from mxref.conformance import target_of
from mxref.conformance.compare.compare import Failure
from mxref.conformance.fuzzing.fuzz import Counterexample, fuzz
from mxref.conformance.fuzzing.reproduce import _first_wrong
from mxref.operands.word_rows import padded, stripped
from mxref.operations.layers import exact_layer, fast_layer, layer_of, layer_sizes
from mxref.operations.registry import CALL_OPERATIONS, REGISTRY
from mxref.operations.simpler import dropped, moved_up
from mxref.operations.simpler_layers import blanked_layers, rounder_layers, smaller_layers
from mxref.strategies import integer_cases
from mxref.targets.calls import without_cases


def test_elements_are_dropped_or_moved_to_a_zero_before_them() -> None:
    block = np.array([9, 5, 0, 7, 0, 3], np.uint64)  # behind a scale
    assert dropped(block, 1).tolist() == [
        [9, 5, 0, 7, 0, 0],
        [9, 5, 0, 0, 0, 3],
        [9, 0, 0, 7, 0, 3],
    ]
    assert moved_up(block, 1).tolist() == [
        [9, 5, 7, 0, 0, 3],
        [9, 5, 3, 7, 0, 0],
        [9, 5, 0, 7, 3, 0],
    ]


@pytest.mark.parametrize(("op", "signed"), [("encode", True), ("shared_scale", False)])
def test_amax_stays_a_magnitude(op: str, signed: bool) -> None:
    (attempt,) = REGISTRY[op].attempts("e2m1", "f32", (0x40490FDB,))
    tried = attempt(np.array([0x40490FDB], np.uint64))[:, 0].tolist()
    assert {0x40400000, 0x40000000} <= {*tried}
    assert (0xBF800000 in tried) == signed
    assert (max(tried) >= 1 << 31) == signed
    assert max(tried) < 1 << 32


@pytest.mark.parametrize(
    ("op", "want", "got", "place"),
    [
        ("pack_int4", (1,) * 9, (1, 1, 1, 1, 1, 1, 0, 1, 0), 6),
        ("pack_int4", (1,) * 8, (1, 1, 1, 1, 1, 1, 0, 1), None),  # all of it is shown
        ("pack_int4", (1,) * 9, None, None),  # it raised
        ("quantize", (1,) * 33, (0,) * 33, None),
    ],
)
def test_of_long_answers_about_integers_the_first_wrong_word_is_shown(
    op: str, want: tuple[int, ...], got: tuple[int, ...] | None, place: int | None
) -> None:
    file = without_cases(op, *(("int4", "bytes") if op == "pack_int4" else ("mxint8", "f32")))
    case = Case("id", (), (want,), (), False, "", "")
    assert _first_wrong(file, Failure(0, case, want, got)) == place


# --- integers -------------------------------------------------------------------------------------


Array = NDArray[Any]


@pytest.mark.parametrize("op", CALL_OPERATIONS)
@pytest.mark.sampled(6)
def test_every_drawn_case_has_an_answer_and_smaller_ones(op: str) -> None:
    for format in CALL_OPERATIONS[op].formats:
        policy = CALL_OPERATIONS[op].first_policy(format)
        for words in drawn(integer_cases(op, format), 2 if op == "mma" else 8):  # of 12 formats
            if op.startswith("recipe") and len(words) > 2000:  # all that are smaller take minutes
                continue
            answer = CALL_OPERATIONS[op].answer(format, words, policy)
            assert len(answer) == np.prod(CALL_OPERATIONS[op].call(format, words).shape)
            for smaller in CALL_OPERATIONS[op].smaller_rows(format, padded([words])[0], 20):
                CALL_OPERATIONS[op].answer(format, stripped(smaller), policy)


@pytest.mark.parametrize(
    ("op", "format", "case", "simpler"), rows("conformance/fuzzing", "simpler")
)
def test_what_is_simpler_is_tried(op: str, format: str, case: str, simpler: str) -> None:
    row, one = tuple(codes(case)), tuple(codes(simpler))
    assert one in [
        stripped(tried) for tried in CALL_OPERATIONS[op].smaller_rows(format, padded([row])[0])
    ]


# --- layers ---------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(("op", "words", "smaller"), rows("conformance/fuzzing", "simpler_layers"))
def test_smaller_layers_are_the_first_or_the_last_part_of_an_axis(
    op: str, words: str, smaller: str
) -> None:
    wanted = [tuple(codes(one)) for one in smaller.strip("-").split(",") if one]
    assert [stripped(row) for row in smaller_layers(op, tuple(codes(words)))] == wanted

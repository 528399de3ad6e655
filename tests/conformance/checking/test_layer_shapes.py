"""Layers that are right for the vectors alone: what is asked beside them finds what is wrong."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from kernel_reports import files_of
from limits import assert_limits, recorded
from right_calls import linear as right
from right_calls import linear_gradients as gradients
from tables import rows
from uses import assert_use

import mxref
from mxref.conformance import Extent, Report, check, target_of
from mxref.conformance.checking import layer_shapes
from mxref.conformance.checking.computed_calls import ask_one_by_one
from mxref.conformance.checking.layer_shapes import LayerSubject
from mxref.conformance.checking.subjects import layer_subjects
from mxref.policy.policy import Policy

STEMS = ("linear/mxfp8_e4m3.f32", "linear_gradients/mxfp8_e4m3.f32")
SIZE, OPTIONS, STATE, MEMORY = (
    "depends on the size of the call",
    "is wrong with some options of a call",
    "is not reproducible",
    "depends on where its arrays lie in memory",
)


def wide(x: Any, w: Any, bias: Any, format: str) -> Any:
    """Wrong from column 17 on, where the vectors have two columns."""
    y = right(x, w, bias, format)
    y[..., 17:] *= 2
    return y


def later_rows(x: Any, w: Any, grad: Any, format: str) -> Any:
    """A gradient of the weight without the rows behind the 40th; the vectors have 36."""
    dx, dw, db = gradients(x, w, grad, format)
    sequences, rows = x.shape[:2]
    if sequences * rows > 40:
        some = x.reshape(-1, x.shape[-1])[:40], grad.reshape(-1, len(w))[:40]
        _, dw, _ = gradients(some[0], w, some[1], format)
    return dx, dw, db


def by_address() -> Any:
    """Weights that are read once for each address, as a cache of prepared weights does."""
    seen: dict[Any, Any] = {}

    def linear(x: Any, w: Any, bias: Any, format: str) -> Any:
        key = w.__array_interface__["data"][0], w.shape
        return right(x, seen.setdefault(key, w.copy()), bias, format)

    return linear


def test_errors_of_other_float_types_hide_no_wrong_size() -> None:
    """A kernel that gives float32 whatever it is asked for, and is right for the vectors."""
    files = files_of("linear/mxfp8_e4m3.f32", "linear/mxfp8_e4m3.bf16")
    target = target_of(
        SimpleNamespace(linear=lambda *call: right(*call).astype(np.float32)), "layer"
    )
    (subject,) = layer_subjects(check(target, files, extent=Extent(elements=0)))
    assert (subject.float, subject.fails) == ("f32", False)


def without_bias(x: Any, w: Any, bias: Any, format: str) -> Any:
    """Wrong in a layer without bias."""
    return right(x, w, bias, format) * (2 if bias is None else 1)


def by_calls() -> Any:
    """An accumulator that is not reset between calls of a shape."""
    sums: dict[Any, Any] = {}

    def linear(x: Any, w: Any, bias: Any, format: str) -> Any:
        key = x.shape, w.shape
        sums[key] = right(x, w, bias, format) + sums.get(key, np.float32(0))
        return sums[key]

    return linear


def without_gaps(x: Any, w: Any, bias: Any, format: str) -> Any:
    """Reads its input as if it had no gaps in memory."""
    if all(step > 0 for step in x.strides):
        flat = np.lib.stride_tricks.as_strided(x, (x.size,), (x.itemsize,))
        x = flat.copy().reshape(x.shape)
    return right(x, w, bias, format)


#: From which counts on kernels are wrong.
LEAST = {wide: {"outputs": 18}, later_rows: {"rows": 41}}


def checked(extent: Extent, **functions: Any) -> Report:
    return check(target_of(SimpleNamespace(**functions), "layer"), files_of(*STEMS), extent=extent)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("functions", "searched"), [({"linear": right}, 48), ({"linear_gradients": gradients}, 36)]
)
def test_right_layers_pass(functions: dict[str, Any], searched: int) -> None:
    report = checked(Extent(), **functions)
    assert report.verdict == "conforms"
    assert any(note.startswith("layers: ") for note in report.scope.notes)
    assert report.scope.searched == searched


@pytest.mark.sampled(0)
@pytest.mark.parametrize(
    ("function", "kind", "verdict", "text"),
    [
        (wide, "size", SIZE, "wrong only in layers with 18 outputs and more"),
        (later_rows, "size", SIZE, "wrong only in layers with 41 rows and more ("),
        (without_bias, "options", OPTIONS, "wrong only in layers with no bias"),
        (by_address(), "state", STATE, ""),
        (by_calls(), "state", STATE, "...wrong in later ones"),
        (without_gaps, "memory", MEMORY, "wrong only in calls with arrays with gaps in memory"),
    ],
)
def test_what_depends_on_shapes_memory_or_other_calls_is_caught(
    function: Any, kind: str, verdict: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = recorded(monkeypatch)
    op = "linear_gradients" if function is later_rows else "linear"
    report = checked(Extent(search=False), **{op: function})
    assert not report.passed
    assert report.verdict.startswith(verdict)
    use = assert_use(report.uses, kind, text)
    assert_limits(use.text, LEAST.get(function, {}), asked)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("functions", [{"linear": wide}, {"linear_gradients": later_rows}])
def test_without_them_it_passes_and_the_search_catches_it(functions: dict[str, Any]) -> None:
    assert checked(Extent(elements=0, search=False), **functions).passed
    report = checked(Extent(elements=0), **functions)
    assert not report.passed
    assert all(".search_" in failure.case.id for _, failure in report.failures)


def bias_of_quantized(x: Any, w: Any, grad: Any, format: str) -> Any:
    """From 17 rows on the gradient of the bias is a sum of the quantized gradient."""
    dx, dw, db = gradients(x, w, grad, format)
    rows = grad.reshape(-1, grad.shape[-1])
    if len(rows) > 16:
        db = mxref.quantize(rows, format, axis=0).dequantize(np.float64).sum(0).astype(np.float32)
    return dx, dw, db


def ragged_outputs(x: Any, w: Any, grad: Any, format: str) -> Any:
    """The gradient of x is half as large where the outputs are no whole blocks."""
    dx, dw, db = gradients(x, w, grad, format)
    return dx * np.float32(0.5 if grad.shape[-1] % 32 else 1), dw, db


def without_later_weights(x: Any, w: Any, grad: Any, format: str) -> Any:
    """The gradient of the weight is left as it was where there are more than 16 rows."""
    dx, dw, db = gradients(x, w, grad, format)
    return dx, dw if grad.shape[0] * grad.shape[1] <= 16 else np.zeros_like(dw), db


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("name", "text"), rows("conformance/checking", "layer_faults"))
def test_of_layers_whose_vectors_fail_it_is_said_which_and_what_is_wrong(
    name: str, text: str
) -> None:
    faults = bias_of_quantized, ragged_outputs, without_later_weights
    (function,) = (one for one in faults if one.__name__ == name)
    report = checked(Extent(search=False), linear_gradients=function)
    assert_use(report.uses, "size", f"wrong only in layers with {text}")
    assert report.failures


def test_all_shapes_are_asked_of_the_first_file_of_an_operation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each twice; of further formats, and of a file that fails, one shape in six."""
    monkeypatch.setattr(layer_shapes, "_SHAPES", tuple((1, 1, n, 1) for n in range(1, 14)))
    names = ("mxfp8_e4m3", "mxfp8_e5m2")
    for fails, calls in ((False, 2 * (13 + 3)), (True, 2 * (3 + 3))):
        subjects = [LayerSubject("linear", name, "f32", Policy(), fails) for name in names]
        target = target_of(SimpleNamespace(linear=right), "layer")
        uses, scope = ask_one_by_one(target, subjects, 100)
        (note,) = scope.notes
        assert not uses
        assert note.startswith(f"layers: {calls} calls of other shapes, the longest of ")

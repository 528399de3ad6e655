"""Kernels that are wrong in whole calls of one kind of data: sparse, of one sign, all equal."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import vector_file
from product_targets import limit_shapes
from right_calls import RIGHT_CALLS
from uses import assert_use

import mxref
from mxref import integer
from mxref.conformance import Extent, check, target_of
from mxref.conformance.checking import layer_shapes

#: Fewer are as they are by chance.
LEAST = 40


def wrong_where(op: str, holds: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel whose answers have a wrong last bit in calls whose arguments have a property."""

    def kernel(*arguments: Any) -> Any:
        result = RIGHT_CALLS[op](*arguments)
        if max(np.size(one) for one in arguments[:4]) < LEAST or not np.all(holds(*arguments)):
            return result
        answer = result.codes if isinstance(result, mxref.Blocks) else result
        bits = answer.view(f"u{answer.itemsize}") ^ 1
        if isinstance(result, mxref.Blocks):
            return result.scale_codes, bits
        return bits.view(answer.dtype)

    return kernel


def sparse(x: Any) -> bool:
    return bool(np.mean(x == 0) > 3 / 4)


def equal(x: Any) -> bool:
    return bool((x == x.flat[0]).all())


def int4(packed: Any, k: int) -> Any:
    return integer.unpack_int4(packed, k)


@pytest.mark.parametrize(
    ("op", "stem", "holds", "text"),
    [
        ("decode", "e4m3.f32", lambda c, _: (c != 0).any() and sparse(c),
         "wrong only in calls with more zero codes than three quarters"),
        ("dequantize", "mxfp8_e4m3.f32", lambda s, c, *_: equal(c),
         "wrong only in calls with equal codes"),
        ("quantize_tensor", "mxfp4_e2m1.f32",
         lambda x, *_: (x >= 0).all() and (x == 0).any() and not sparse(x),
         "wrong in "),
        ("linear", "mxfp8_e4m3.f32", lambda x, *_: x > 0, "wrong in "),
        ("unpack_int4", "int4.bytes", lambda p, k: equal(int4(p, k)),
         "wrong only in calls with ...equal codes"),
        ("unpack_int4", "int4.bytes", lambda p, k: sparse(int4(p, k)),
         "wrong only in calls with ...mostly zero codes"),
        ("linear_qcs4w", "int4.f32",
         lambda x, w, _: w.size >= LEAST and (int4(w, x.shape[-1]) < 0).all(),
         "wrong only in calls with ...w <= 0"),
    ],
)  # fmt: skip
def test_kernels(
    op: str, stem: str, holds: Callable[..., Any], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layer_shapes, "_SHAPES", layer_shapes._SHAPES[::6])
    target = target_of(SimpleNamespace(**{op: wrong_where(op, holds)}), "kernel")
    extent = Extent(elements=20_000, search=False)
    report = check(target, [vector_file(f"{op}/{stem}")], extent=extent)
    assert not report.failures
    assert_use(report.uses, "data", text)


@pytest.mark.parametrize(
    ("holds", "text"),
    [
        (lambda x: (x < 0).all(), "wrong only in products with numbers <= 0"),
        (equal, "wrong in "),
    ],
)
def test_products(holds: Callable[[Any], bool], text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    limit_shapes(monkeypatch, 3000, 5)
    e4m3 = mxref.formats.element_format("e4m3")

    def both(_a: Any, a: Any, _b: Any, b: Any, *_: Any) -> bool:
        return all(len(one) > 7 and holds(mxref.decode(one, e4m3)) for one in (a, b))

    matmul = wrong_where("matmul", both)
    target = target_of(SimpleNamespace(matmul=matmul), "kernel")
    file = vector_file("matmul/mxfp8_e4m3-mxfp8_e4m3.f32")
    report = check(target, [file], extent=Extent(elements=20_000, search=False))
    assert not report.failures
    assert_use(report.uses, "data", text)


def test_what_was_asked_names_the_kinds() -> None:
    def kernel(*arguments: Any) -> Any:
        return RIGHT_CALLS["rescale"](*arguments)

    target = target_of(SimpleNamespace(rescale=kernel), "kernel")
    extent = Extent(elements=2000, search=False)
    scope = check(target, [vector_file("rescale/int8-int8.bytes")], extent=extent).scope
    (one,) = scope.ordinary
    assert (one.op, one.format) == ("rescale", "int8-int8")
    assert {"numbers negative", "numbers after ReLU", "parameters equal"} < {*one.kinds}
    assert one.calls >= 3 * len(one.kinds)
    assert one.largest <= 2000
    kinds = "numbers positive, negative, after ReLU and 5 others; parameters equal"
    assert f"{one.calls} calls drawn like tensors ({kinds}), of at most " in scope.text

"""What a target keeps or changes between calls: planted faults are found in every family."""

from __future__ import annotations

import ctypes
import functools
import itertools
import platform
import re
import weakref
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers import VECTORS
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

import mxref
from mxref import golden, integer
from mxref.conformance import Extent, check, target_of
from mxref.conformance.checking import layer_shapes, product_shapes
from mxref.conformance.checking.call_questions import CallSubject
from mxref.conformance.checking.computed_calls import ask_one_by_one, ask_sizes
from mxref.conformance.checking.integer_questions import IntegerSubject
from mxref.conformance.checking.kept_results import misused
from mxref.conformance.checking.layer_shapes import LayerSubject
from mxref.conformance.checking.layout_questions import LayoutSubject
from mxref.conformance.checking.product_shapes import ProductSubject
from mxref.conformance.verdict.call_dependence import CallDependence
from mxref.policy.policy import Policy
from mxref.targets.product_function import ProductFunction

Array = NDArray[Any]
Function = Callable[..., Any]

PAIR = "mxfp8_e4m3-mxfp8_e4m3"


@functools.cache
def some_cases(stem: str) -> golden.VectorFile:
    """A file with a few of its cases, evenly from all of them."""
    (file,) = golden.read_vectors(VECTORS, lambda one: one == stem)
    return replace(file, cases=file.cases[:: len(file.cases) // 64])


@pytest.fixture(autouse=True)
def few_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    """One shape of products and of layers before those that share memory."""
    monkeypatch.setattr(product_shapes, "_SHAPES", ((3, 5, 1),))
    monkeypatch.setattr(product_shapes, "_FIRST", (8, 8, 1))
    monkeypatch.setattr(layer_shapes, "_SHAPES", ((1, 3, 5, 2),))


def of_cases(stem: str) -> Callable[[Function], list[CallDependence]]:
    def uses(function: Function) -> list[CallDependence]:
        file = some_cases(stem)
        target = target_of(SimpleNamespace(**{file.op: function}), "kernel")
        return list(check(target, [file], extent=Extent(elements=100, search=False)).uses)

    return uses


def of_subject(subject: CallSubject) -> Callable[[Function], list[CallDependence]]:
    def uses(function: Function) -> list[CallDependence]:
        target = target_of(SimpleNamespace(**{subject.op: function}), "kernel")
        return ask_sizes(target, [subject], 100)[0]

    return uses


def of_products(function: Function) -> list[CallDependence]:

    kernel = ProductFunction.of(function, function, (1, 1, 32))
    target = target_of(SimpleNamespace(matmul=function), "kernel")
    return ask_one_by_one(target, [ProductSubject("matmul", PAIR, "f32", kernel)], 1 << 20)[0]


def of_layers(function: Function) -> list[CallDependence]:
    target = target_of(SimpleNamespace(linear=function), "kernel")
    subject = LayerSubject("linear", "mxfp8_e4m3", "f32", Policy())
    return ask_one_by_one(target, [subject], 1 << 20)[0]


def quantize(values: Array, name: str, axis: int = -1) -> tuple[Array, Array]:
    blocks = mxref.quantize(values, name, axis=axis)
    scales = blocks.scale_codes
    return (scales[:, 0] if axis == -1 else scales).copy(), blocks.codes.copy()


def dequantize(scales: Array, codes: Array, name: str, dtype: Any) -> Array:
    found: Array = mxref.dequantize(codes, dtype, scale_codes=scales[:, None], block_format=name)
    return found


def pack_blocks(scales: Array, codes: Array, name: str) -> Array:
    return mxref.pack_blocks(scales, codes.reshape(-1), name, scale_place="before")


def matmul(sa: Array, ca: Array, sb: Array, cb: Array, fa: str, fb: str) -> Array:
    x, y = (dequantized(*one) for one in ((sa, ca, fa), (sb, cb, fb)))
    return (x @ y.T).astype(np.float32)


def dequantized(scales: Array, codes: Array, name: str) -> Array:
    found: Array = mxref.dequantize(codes, np.float64, scale_codes=scales, block_format=name)
    return found


def linear(x: Array, w: Array, bias: Any, name: str) -> Array:
    return mxref.linear(x, w, name, bias=bias, dtype=x.dtype)


def quantize_affine(x: Array, scale: Any, zero: Any, *rest: Any) -> Array:
    return integer.quantize_affine(x, integer.QParams(scale, zero, *rest), nan="zero")


def rescale(q: Array, m: Array, s: Array, zero: int, out: int, dtype: Any, bits: int) -> Array:
    return integer.rescale(q, m, s, zero, out, dtype=dtype, bits=bits)


def grid_sample(q: Array, grid: Array, align: bool, padding: Any, zero: int) -> Array:
    return integer.grid_sample(q, grid, align_corners=align, padding=padding, zero_point=zero)


def layouts(
    op: str, name: str, slot: str, policy: str
) -> Callable[[Function], list[CallDependence]]:
    return of_subject(LayoutSubject(op, name, slot, Policy.parse(policy)))


def integers(op: str, name: str, policy: str) -> Callable[[Function], list[CallDependence]]:
    return of_subject(IntegerSubject(op, name, policy))


#: A function of each family with what asks it, an argument that it might change, and a number of
#: results that might take turns.
KERNELS: dict[str, tuple[Function, Callable[[Function], list[CallDependence]], int, int]] = {
    "encode": (mxref.encode, of_cases("encode/e4m3.f32"), 1, 2),
    "quantize": (quantize, of_cases("quantize/mxfp4_e2m1.bf16"), 1, 3),
    "dequantize": (dequantize, of_cases("dequantize/mxfp8_e4m3.f32"), 2, 8),
    "quantize_tensor": (quantize, layouts("quantize_tensor", "mxfp8_e4m3", "f32", "ocp"), 1, 5),
    "pack": (mxref.pack, layouts("pack", "e2m1", "bytes", "ocp"), 1, 2),
    "pack_scales": (
        functools.partial(mxref.pack_scales, scale_layout="tiles_128x4"),
        layouts("pack_scales", "e8m0", "bytes", "ocp+scale_layout=tiles_128x4"),
        1,
        3,
    ),
    "pack_blocks": (
        pack_blocks,
        layouts("pack_blocks", "mxfp6_e3m2", "bytes", "ocp+scale_place=before"),
        2,
        8,
    ),
    "matmul": (matmul, of_products, 4, 5),
    "linear": (linear, of_layers, 2, 2),
    "quantize_affine": (
        quantize_affine,
        integers("quantize_affine", "int8_axis", "default"),
        2,
        3,
    ),
    "rescale": (rescale, integers("rescale", "int16-int8", "default"), 3, 8),
    "grid_sample": (grid_sample, integers("grid_sample", "int8", "default"), 2, 5),
    "linear_qcs8w": (integer.linear_qcs8w, integers("linear_qcs8w", "int8", "default"), 1, 2),
}


def parts_of(result: Any) -> tuple[Array, ...]:
    return result if isinstance(result, tuple) else (result,)


def in_turns(function: Function, count: int) -> Function:
    """A function whose results lie in so many buffers, one after the other."""
    buffers: dict[Any, Array] = {}
    turns = itertools.count()

    def kernel(*arguments: Any) -> Any:
        result, turn = function(*arguments), next(turns) % count
        held = []
        for place, part in enumerate(parts_of(result)):
            key = turn, place, part.shape, part.dtype
            held.append(buffers.setdefault(key, np.empty_like(part)))
            held[-1][...] = part
        return tuple(held) if isinstance(result, tuple) else held[0]

    return kernel


def changing(function: Function, argument: int) -> Function:
    """A function that changes the last number of an argument, counted from 1."""

    def kernel(*arguments: Any) -> Any:
        result = function(*arguments)
        array = arguments[argument - 1]
        if array.size:
            array.view(f"u{array.itemsize}")[(-1,) * array.ndim] ^= 1
        return result

    return kernel


def by_ends(function: Function) -> Function:
    """A function that keeps answers by shapes, and the first and last numbers of its arrays."""
    kept: dict[Any, Any] = {}

    def key_of(argument: Any) -> Any:
        if not isinstance(argument, np.ndarray):
            return str(argument)
        flat = argument.reshape(-1)
        return argument.shape, argument.dtype, flat[:2].tobytes(), flat[-2:].tobytes()

    def kernel(*arguments: Any) -> Any:
        key = tuple(map(key_of, arguments))
        if key not in kept:
            kept[key] = function(*arguments)
        return kept[key]

    return kernel


@pytest.mark.parametrize("op", KERNELS)
def test_right_functions_pass(op: str) -> None:
    function, uses, _, _ = KERNELS[op]
    assert uses(function) == []


@pytest.mark.parametrize("op", KERNELS)
def test_a_result_that_a_later_call_overwrites(op: str) -> None:
    function, uses, _, count = KERNELS[op]
    (use,) = uses(in_turns(function, count))
    assert use.kind == "state"
    ordinal = {2: "second", 3: "third", 5: "fifth", 8: "eighth"}[count]
    by = f"the result of a call is overwritten by the {ordinal} call after it: "
    assert use.text.startswith(by)


@pytest.mark.parametrize("op", KERNELS)
def test_an_argument_that_a_call_changes(op: str) -> None:
    function, uses, argument, _ = KERNELS[op]
    (use,) = uses(changing(function, argument))
    assert use.kind == "effect"
    place = r"(number \d+|element \(.*\))"
    assert re.match(rf"changes its argument {argument}: {place} was \S+ and is \S+$", use.text)


def test_an_argument_that_calls_of_two_float_types_change_is_said_once() -> None:
    files = [some_cases(f"encode/e4m3.{name}") for name in ("f32", "bf16")]
    target = target_of(SimpleNamespace(encode=changing(mxref.encode, 1)), "kernel")
    (use,) = check(target, files, extent=Extent(elements=100, search=False)).uses
    assert (use.op, use.format, use.kind) == ("encode", "e4m3", "effect")


def test_results_of_which_only_a_few_may_be_kept() -> None:
    """No result is overwritten: calls raise while four earlier results are still held."""
    held: list[weakref.ref[Array]] = []

    def encode(values: Array, format: str) -> Array:
        if sum(one() is not None for one in held) >= 4:
            raise MemoryError("no buffer is free")
        codes = mxref.encode(values, format).copy()
        held.append(weakref.ref(codes))
        return codes

    (use,) = of_cases("encode/e4m3.f32")(encode)
    assert use.kind == "state"
    assert use.text.startswith(
        "not reproducible: a call raises where others of its size do not: MemoryError: no buffer"
    )


@pytest.mark.parametrize("op", KERNELS)
def test_answers_kept_by_the_ends_of_arrays(op: str) -> None:
    function, uses, _, _ = KERNELS[op]
    (use,) = uses(by_ends(function))
    assert use.kind == "state"
    assert use.text.startswith(
        "not reproducible: a call gives the answers to an earlier one that differs from it in one "
        "number in the middle"
    )


def test_state_comes_before_wrong_numbers_and_nothing_after_an_exception() -> None:
    def known(number: int) -> Any:
        x = np.arange(5, dtype=np.uint64) + np.uint64(number)
        return SimpleNamespace(
            arguments=[x, number],
            words=lambda result: np.array(result, np.uint64),
            is_wrong=lambda got: not np.array_equal(got, 2 * x),
            difference=lambda got: f"got {got[0]}",
        )

    held = np.zeros(5, np.uint64)

    def shared(x: Array, number: int) -> Array:
        held[...] = x
        return held

    def raises(x: Array, number: int) -> Array:
        if number:
            raise MemoryError
        return x

    assert misused(lambda x, number: 2 * x, known) is None
    wrong = misused(lambda x, number: x + np.uint64(1), known)
    assert wrong == ("numbers", "wrong with some numbers: got 2")
    text = "the result of a call is overwritten by the next call: got 1"
    assert misused(shared, known) == ("state", text)
    assert misused(raises, known) is None


def test_arguments_that_only_numbers_of_the_vectors_change() -> None:
    """NaN, and codes of large numbers: what is asked in many shapes has neither."""
    products = golden.read_vectors(VECTORS, lambda stem: stem == f"matmul/{PAIR}.f32")
    affine = golden.read_vectors(VECTORS, lambda stem: stem == "quantize_affine/int8.f32")

    def replaces(x: Array, *rest: Any) -> Array:
        result = quantize_affine(x, *rest)
        x[np.isnan(x)] = 0
        return result

    def clips(sa: Array, ca: Array, *rest: Any) -> Array:
        result = matmul(sa, ca, *rest)
        ca[ca > 0x78] = 0x78
        return result

    target = target_of(SimpleNamespace(matmul=clips, quantize_affine=replaces), "kernel")
    files = [replace(one, cases=one.cases[::8]) for one in (*products, *affine)]
    uses = check(target, files, extent=Extent(elements=100, search=False)).uses
    texts = {use.op: use.text for use in uses}
    assert re.match(r"changes its argument 1: .* was nan and is 0\.0$", texts["quantize_affine"])
    assert re.match(r"changes its argument 2: element .* and is 120$", texts["matmul"])


#: The rounding modes of a processor of this kind, as C has them: to nearest, and toward zero.
MODES = {"x86_64": (0, 0xC00), "aarch64": (0, 0xC00000)}


def test_float_arithmetic_that_a_call_leaves_otherwise() -> None:
    """A rounding mode, which is said once, and NumPy's treatment of errors."""
    (file,) = golden.read_vectors(VECTORS, lambda stem: stem == "decode/e2m1.f32")
    set_mode = ctypes.CDLL(None).fesetround
    nearest, toward_zero = MODES[platform.machine()]

    def decode(codes: Array, format: str) -> Array:
        set_mode(toward_zero)
        return mxref.decode(codes, format)

    def quietly(codes: Array, format: str) -> Array:
        np.seterr(all="ignore")
        return mxref.decode(codes, format)

    def found(function: Function) -> tuple[str, str]:
        target = target_of(SimpleNamespace(decode=function), "kernel")
        (use,) = check(target, [file], extent=Extent(elements=100, search=False)).uses
        return use.kind, use.text

    try:
        text = "leaves the processor in another rounding mode"
        assert found(decode) == ("effect", text)
    finally:
        set_mode(nearest)
    text = "leaves NumPy treating floating-point errors otherwise (`np.seterr`)"
    assert found(quietly) == ("effect", text)


@pytest.mark.parametrize("op", ["quantize", "dequantize", "linear_qcs8w", "matmul", "linear"])
def test_rows_with_gaps_that_are_read_as_if_they_had_none(op: str) -> None:
    function, uses, _, _ = KERNELS[op]

    def packed(array: Any) -> Any:
        if not isinstance(array, np.ndarray) or array.ndim < 2 or array.flags.c_contiguous:
            return array
        *_, step, item = array.strides
        if item != array.itemsize or step <= 0:
            return array
        return as_strided(array, strides=np.empty(array.shape, array.dtype).strides)

    @functools.wraps(function)
    def careless(*arguments: Any) -> Any:
        return function(*map(packed, arguments))

    (use,) = uses(careless)
    assert use.kind == "memory"
    assert re.match(
        "wrong (only with arrays with gaps between their rows|where arrays are not)", use.text
    )

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
from kernel_reports import file_of
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray
from right_calls import RIGHT_CALLS, matmul, quantize_affine
from uses import assert_use

import mxref
from mxref.cases.records import VectorFile
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
Uses = Callable[[Function], list[CallDependence]]

PAIR = "mxfp8_e4m3-mxfp8_e4m3"


@functools.cache
def some_cases(stem: str) -> VectorFile:
    """A file with a few of its cases, evenly from all of them."""
    file = file_of(stem)
    return replace(file, cases=file.cases[:: len(file.cases) // 64])


@pytest.fixture(autouse=True)
def few_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    """One shape of products and of layers before those that share memory."""
    monkeypatch.setattr(product_shapes, "_SHAPES", ((3, 5, 1),))
    monkeypatch.setattr(product_shapes, "_FIRST", (8, 8, 1))
    monkeypatch.setattr(layer_shapes, "_SHAPES", ((1, 3, 5, 2),))


def of_cases(stem: str) -> Uses:
    def uses(function: Function) -> list[CallDependence]:
        file = some_cases(stem)
        target = target_of(SimpleNamespace(**{file.op: function}), "kernel")
        return list(check(target, [file], extent=Extent(elements=100, search=False)).uses)

    return uses


def of_subject(subject: CallSubject) -> Uses:
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


def layouts(op: str, name: str, slot: str, policy: str = "ocp") -> Uses:
    return of_subject(LayoutSubject(op, name, slot, Policy.parse(policy)))


def integers(op: str, name: str) -> Uses:
    return of_subject(IntegerSubject(op, name, "default"))


def pack_blocks(scales: Array, codes: Array, name: str) -> Array:
    return mxref.pack_blocks(scales, codes.reshape(-1), name, scale_place="before")


TILES, BEFORE = "ocp+scale_layout=tiles_128x4", "ocp+scale_place=before"
RIGHT = RIGHT_CALLS | {
    "pack_scales": functools.partial(mxref.pack_scales, scale_layout="tiles_128x4"),
    "pack_blocks": pack_blocks,
    "matmul": matmul,
}
#: What asks a function of each family, an argument that it might change, and a number of results
#: that might take turns.
KERNELS: dict[str, tuple[Uses, int, int]] = {
    "encode": (of_cases("encode/e4m3.f32"), 1, 2),
    "quantize": (of_cases("quantize/mxfp4_e2m1.bf16"), 1, 3),
    "dequantize": (of_cases("dequantize/mxfp8_e4m3.f32"), 2, 8),
    "quantize_tensor": (layouts("quantize_tensor", "mxfp8_e4m3", "f32"), 1, 5),
    "pack": (layouts("pack", "e2m1", "bytes"), 1, 2),
    "pack_scales": (layouts("pack_scales", "e8m0", "bytes", TILES), 1, 3),
    "pack_blocks": (layouts("pack_blocks", "mxfp6_e3m2", "bytes", BEFORE), 2, 8),
    "matmul": (of_products, 4, 5),
    "linear": (of_layers, 2, 2),
    "quantize_affine": (integers("quantize_affine", "int8_axis"), 2, 3),
    "rescale": (integers("rescale", "int16-int8"), 3, 8),
    "grid_sample": (integers("grid_sample", "int8"), 2, 5),
    "linear_qcs8w": (integers("linear_qcs8w", "int8"), 1, 2),
}


def parts_of(result: Any) -> tuple[Array, ...]:
    if isinstance(result, mxref.Blocks):
        return result.scale_codes, result.codes
    return (result,)


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
        return held[0] if len(held) == 1 else tuple(held)

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


def by_address(function: Function) -> Function:
    """A function that gives its last answer again to the same arrays."""
    last: tuple[list[Array], Any] = [], None

    def kernel(*arguments: Any) -> Any:
        nonlocal last
        arrays = [one for one in arguments if isinstance(one, np.ndarray)]
        if [*map(id, arrays)] != [*map(id, last[0])]:
            last = arrays, function(*arguments)
        return last[1]

    return kernel


@pytest.mark.parametrize("op", KERNELS)
def test_right_functions_pass(op: str) -> None:
    uses, *_ = KERNELS[op]
    assert uses(RIGHT[op]) == []


@pytest.mark.parametrize("op", KERNELS)
def test_a_result_that_a_later_call_overwrites(op: str) -> None:
    uses, _, count = KERNELS[op]
    ordinal = {2: "second", 3: "third", 5: "fifth", 8: "eighth"}[count]
    by = f"the result of a call is overwritten by the {ordinal} call after it: "
    assert_use(uses(in_turns(RIGHT[op], count)), "state", by)


@pytest.mark.parametrize("op", KERNELS)
def test_an_argument_that_a_call_changes(op: str) -> None:
    uses, argument, _ = KERNELS[op]
    use = assert_use(uses(changing(RIGHT[op], argument)), "effect", "")
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

    said = "not reproducible: a call raises where others of its size do not: MemoryError: no buffer"
    assert_use(of_cases("encode/e4m3.f32")(encode), "state", said)


@pytest.mark.parametrize("op", KERNELS)
def test_answers_kept_by_the_ends_of_arrays(op: str) -> None:
    uses, *_ = KERNELS[op]
    earlier = "gives the answers to an earlier one that differs from it in one number in the middle"
    assert_use(uses(by_ends(RIGHT[op])), "state", f"not reproducible: a call {earlier}")


@pytest.mark.parametrize("op", KERNELS)
def test_answers_kept_by_the_address_of_an_array(op: str) -> None:
    uses, *_ = KERNELS[op]
    said = "...an array changed in place gives the answers to what it was before: "
    assert_use(uses(by_address(RIGHT[op])), "state", said)


def test_wrong_numbers_are_no_state_and_nothing_is_said_after_an_exception() -> None:
    def known(number: int) -> Any:
        x = np.arange(5, dtype=np.uint64) + np.uint64(number)
        return SimpleNamespace(
            arguments=[x, number],
            words=lambda result: np.array(result, np.uint64),
            is_wrong=lambda got: not np.array_equal(got, 2 * x),
            difference=lambda got: f"got {got[0]}",
        )

    def raises(x: Array, number: int) -> Array:
        if number:
            raise MemoryError
        return x

    assert misused(lambda x, number: 2 * x, known) is None
    wrong = misused(lambda x, number: x + np.uint64(1), known)
    assert wrong == ("numbers", "wrong with some numbers: got 2")
    assert misused(raises, known) is None


def test_arguments_that_only_numbers_of_the_vectors_change() -> None:
    """NaN, and codes of large numbers: what is asked in many shapes has neither."""

    def replaces(x: Array, *rest: Any) -> Array:
        result = quantize_affine(x, *rest)
        x[np.isnan(x)] = 0
        return result

    def clips(sa: Array, ca: Array, *rest: Any) -> Array:
        result = matmul(sa, ca, *rest)
        ca[ca > 0x78] = 0x78
        return result

    target = target_of(SimpleNamespace(matmul=clips, quantize_affine=replaces), "kernel")
    every = file_of(f"matmul/{PAIR}.f32"), file_of("quantize_affine/int8.f32")
    files = [replace(one, cases=one.cases[::8]) for one in every]
    uses = check(target, files, extent=Extent(elements=100, search=False)).uses
    texts = {use.op: use.text for use in uses}
    assert re.match(r"changes its argument 1: .* was nan and is 0\.0$", texts["quantize_affine"])
    assert re.match(r"changes its argument 2: element .* and is 120$", texts["matmul"])


#: The rounding modes of a processor of this kind, as C has them: to nearest, and toward zero.
MODES = {"x86_64": (0, 0xC00), "aarch64": (0, 0xC00000)}


def test_float_arithmetic_that_a_call_leaves_otherwise() -> None:
    """A rounding mode, which is said once, and NumPy's treatment of errors."""
    file = file_of("decode/e2m1.f32")
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
    uses, *_ = KERNELS[op]
    function = RIGHT[op]

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

    said = (
        "arrays with gaps between their rows, arrays with 64 KiB and more between their rows and "
    )
    assert_use(uses(careless), "memory", f"wrong only in calls with {said}arrays that reach over")

"""Products of many shapes, and what is said of wrong ones; which sizes every family is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from product_targets import blocks, product_file
from right_calls import matmul as right
from uses import assert_use

import mxref
from mxref.blocks.two_level import TensorScale, TensorScaleKind
from mxref.conformance import Extent, check
from mxref.conformance.checking import layer_shapes, product_shapes
from mxref.conformance.checking.axis_sizes import SMALL
from mxref.conformance.checking.computed_calls import ask_one_by_one
from mxref.conformance.checking.integer_sizes import sizes_of
from mxref.conformance.checking.layout_shapes import LINES, MOVED, shapes
from mxref.conformance.checking.product_shapes import Product, ProductSubject
from mxref.conformance.verdict.call_dependence import CallDependence
from mxref.operations.product_words import PAIRS, pair_formats
from mxref.operations.registry import CALL_OPERATIONS
from mxref.products.dot import exact_in_every_order
from mxref.targets.product_function import MULTIPLES, ProductFunction
from mxref.targets.target import target_of

#: Few shapes, so that the tests are fast, with each size on both sides of a power of two.
SHAPES = (
    *((1, 1, 1), (7, 9, 1), (9, 7, 5), (15, 33, 2)),
    *((16, 2, 4), (17, 5, 3), (33, 16, 2), (34, 34, 1)),
)
FP4 = "mxfp4_e2m1-mxfp4_e2m1"
FACTOR = TensorScaleKind.FACTOR
Kernel = Callable[..., Any]


@pytest.fixture(autouse=True)
def few_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few shapes, all of them fast."""
    monkeypatch.setattr(product_shapes, "_SHAPES", SHAPES)
    monkeypatch.setattr(product_shapes, "_REAL", ())
    monkeypatch.setattr(product_shapes, "_SECONDS", 100.0)
    monkeypatch.setattr(product_shapes, "_FIRST", (8, 8, 1))


def asked(
    kernel: Kernel, pairs: tuple[str, ...] = (FP4,), **more: Any
) -> tuple[list[CallDependence], Any]:
    function = ProductFunction.of(kernel, kernel, more.pop("multiples", (1, 1, 32)))
    fails = more.pop("fails", False)
    subjects = [ProductSubject("matmul", pair, "f32", function, fails) for pair in pairs]
    target = target_of(SimpleNamespace(matmul=kernel), "kernel")
    uses, scope = ask_one_by_one(target, subjects, more.pop("elements", 1 << 20))
    return uses, tuple(note.partition(", the longest of ")[0] for note in scope.notes)


def product(pair: str, shape: tuple[int, int, int], *more: Any) -> Product:
    """A product of the target above, with `float`, `single` and its draw."""
    float, single, draw = (*more, *("f32", False, 0)[len(more) :])
    function = ProductFunction.of(right, right, (1, 1, 32))
    return Product(ProductSubject("matmul", pair, float, function, single), shape, draw)


def changed(change: Callable[[Any], object]) -> Kernel:
    """A right product, whose result is then changed in place."""

    def kernel(*operands: Any) -> Any:
        product = right(*operands)
        change(product)
        return product

    return kernel


def test_every_order_of_additions_gives_the_outputs() -> None:
    for pair in PAIRS:
        for shape, single in (((5, 7, 3), True), ((2, 3, 65), False)):
            one = product(pair, shape, "f32", single, 1)
            sides = []
            for i, fmt in enumerate(pair_formats(pair)):
                tensor = TensorScale.of(one.arguments[i - 2], FACTOR) if fmt.tensor_scale else None
                sides.append(blocks(*one.side(i)[:2], fmt.name, tensor_scale=tensor))
            a, b = sides[0], sides[1].T
            assert exact_in_every_order(a, b).all(), pair
            for float, dtype in (("f32", np.float32), ("f16", np.float16)):
                want = mxref.matmul(a, b, dtype)
                words = product(pair, shape, float, single, 1).wanted
                assert np.array_equal(words, want.view(f"u{want.itemsize}")), (pair, float)
            got = mxref.matmul(a, b, accumulation="sequential").view(np.uint32)
            assert np.array_equal(got, one.wanted), pair


def test_a_single_element_of_a_row_is_anywhere_and_last() -> None:
    one = product(FP4, (64, 1, 2), "f32", True)
    _, codes, _ = one.side(0)
    places = np.argmax(codes != 0, axis=1)
    assert (np.count_nonzero(codes, axis=1) == 1).all()
    assert (places[::5] == 63).all()
    assert len({*places.tolist()}) > 20
    assert np.count_nonzero(one.side(1)[1]) == 64


def test_draws_and_sides_differ_and_cannot_be_changed() -> None:
    one = product(FP4, (4, 4, 1))
    arrays = one.arguments
    assert not np.array_equal(arrays[1], arrays[3])
    assert not np.array_equal(arrays[1], one.again(1).arguments[1])
    with pytest.raises(ValueError, match="read-only"):
        arrays[1][...] = 0


def test_a_right_product_is_asked_each_shape_twice() -> None:
    shapes: list[tuple[int, ...]] = []

    def kernel(*operands: Any) -> Any:
        shapes.append((len(operands[1]), len(operands[3]), operands[0].shape[1]))
        return right(*operands)

    uses, notes = asked(kernel)
    assert not uses
    assert notes == ("products: 16 calls of other shapes",)
    assert all(shapes.count(shape) >= 2 for shape in SHAPES)  # more of them with ordinary data


def test_the_longest_call_is_said() -> None:
    function = ProductFunction.of(right, right, (1, 1, 32))
    subject = ProductSubject("matmul", FP4, "f32", function, False)
    notes = ask_one_by_one(target_of(SimpleNamespace(matmul=right), "k"), [subject], 1 << 20)[
        1
    ].notes
    assert notes[0].endswith(", the longest of (33, 96) x (96, 65)")  # in other memory


def test_shapes_have_the_multiples_of_the_target() -> None:
    def kernel(*operands: Any) -> Any:
        (m, k), n = operands[1].shape, len(operands[3])
        assert (m % 16, n % 8, k % 64) == (0, 0, 0)
        return right(*operands)

    assert not asked(kernel, multiples=(16, 8, 64))[0]


@pytest.mark.parametrize(("multiples", "found"), [(MULTIPLES, True), ((1, 1, 32), False)])
def test_half_a_step_of_blocks_of_16_is_asked(multiples: Any, found: bool) -> None:
    """By default K is whole blocks of the format."""

    def kernel(sa: Any, ca: Any, sb: Any, cb: Any, *names: str) -> Any:
        k = ca.shape[1] - ca.shape[1] % 32
        return right(sa[:, : k // 16], ca[:, :k], sb[:, : k // 16], cb[:, :k], *names)

    uses, _ = asked(kernel, ("fp4_ue4m3-fp4_ue4m3",), multiples=multiples)
    assert bool(uses) is found
    if found:
        assert "summed elements that is no multiple of 32" in uses[0].text


def test_what_is_slow_or_large_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    limit = (33 + 16) * 2 * 32
    assert asked(right, elements=limit)[1] == ("products: 16 calls of other shapes",)
    assert asked(right, elements=limit - 1)[1] == ("products: 14 calls of other shapes",)
    monkeypatch.setattr(product_shapes, "_pace", lambda *_: 1e6)
    monkeypatch.setattr(product_shapes, "_SMALL", 64)
    assert asked(right)[1] == ("products: 12 calls of other shapes",)


def test_of_further_pairs_some_shapes_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(product_shapes, "_FEWER", 4)
    both = (FP4, "mxfp8_e4m3-mxfp8_e4m3")
    assert asked(right, both)[1] == ("products: 20 calls of other shapes",)
    assert asked(zero_from(16), both)[1] == ("products: 20 calls of other shapes",)
    assert asked(zero_from(16), (FP4, FP4))[1] == ("products: 16 calls of other shapes",)


def zero_from(row: int) -> Kernel:
    return changed(lambda product: product[row:].fill(0))


def test_a_size_that_decides_is_named_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "wrong only in products with 17 rows and more (...right in the other...; row 16, col"
    use = assert_use(asked(zero_from(16))[0], "size", said)
    assert (use.op, use.format) == ("matmul", FP4)
    tail = changed(lambda product: product[len(product) & -4 :].fill(0))
    whole = ((4 * n, 2, 1) for n in range(1, 7))
    monkeypatch.setattr(product_shapes, "_SHAPES", (*SHAPES, *whole))
    said = "wrong only in products with a number of rows that is no multiple of 4 ("
    said += "...), in the rows behind the last multiple of 4, where every wrong output is 0: "
    assert_use(asked(tail)[0], "size", said)
    assert_use(asked(zero_from(16), fails=True)[0], "size", "")


def one_row_in_float16(*operands: Any) -> Any:
    """A product with one row is added up in float16."""
    product = right(*operands)
    if len(product) > 1:
        return product
    a, b = (blocks(*operands[i : i + 2], operands[4 + i // 2]).dequantize() for i in (0, 2))
    total = np.zeros(product.shape, np.float16)
    with np.errstate(all="ignore"):
        for start in range(0, a.shape[1], 8):
            total += (a[:, start : start + 8] @ b[:, start : start + 8].T).astype(np.float16)
    return total.astype(np.float32)


def test_few_outputs_that_are_right_by_chance_are_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    deep = ((1, 128, 32), (1, 1, 32), (2, 128, 32), (3, 9, 32), (16, 128, 32))
    monkeypatch.setattr(product_shapes, "_SHAPES", (*SHAPES, *deep))
    use = assert_use(asked(one_row_in_float16)[0], "size", "wrong only in products with fewer than")
    assert "columns, " not in use.text
    assert "), where every wrong output is a value of float16: " in use.text


def test_what_right_outputs_are_too_is_not_said_of_wrong_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    deep = ((1, 128, 32), (2, 128, 32), (3, 9, 32), (16, 128, 32))  # right ones need float32
    monkeypatch.setattr(product_shapes, "_SHAPES", (*SHAPES, *deep))
    doubled = changed(lambda product: product[16:].__imul__(2))
    use = assert_use(asked(doubled)[0], "size", "wrong only in products with 17 rows and more (")
    assert "float16" not in use.text


def test_wrong_products_of_the_vectors_are_asked_in_other_calls() -> None:
    target = target_of(SimpleNamespace(matmul=one_row_in_float16), "kernel")
    report = check(target, [product_file()], extent=Extent(search=False, elements=2000))
    said = "wrong only in products with fewer than 2 rows (44 of 44 such calls, right in the other "
    said += "116), where every wrong output is a value of float16: with 1 x 1 outputs, matmul."
    assert_use(report.uses, "size", said)


def test_products_that_are_wrong_in_every_call_are_no_matter_of_their_shape() -> None:
    target = target_of(SimpleNamespace(matmul=changed(lambda one: one.__imul__(2))), "kernel")
    report = check(target, [product_file()], extent=Extent(search=False, elements=2000))
    assert not report.passed
    assert not report.uses


def test_a_tail_of_the_summed_elements_behind_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    def kernel(*operands: Any) -> Any:
        scales, codes, *rest = operands
        k = codes.shape[1]
        whole = k // 1024 * 1024 if k >= 2048 else k
        return right(scales, np.where(np.arange(k) < whole, codes, 0).astype(np.uint8), *rest)

    shapes = ((3, 2, blocks) for blocks in (32, 33, 63, 64, 65, 128))
    monkeypatch.setattr(product_shapes, "_SHAPES", (*SHAPES, *shapes))
    said = "wrong only in products with more than N summed elements, N from 2,016 to 2,079, and "
    said += "a number of summed elements that is no multiple of 1024 ("
    assert_use(asked(kernel)[0], "size", said)


def test_numbers_that_are_wrong_everywhere() -> None:
    wrong = changed(lambda product: product.__iadd__(1))
    said = "wrong in 83 of 83 products: (1, 32) x (32, 1): 1 of 1 outputs; row"
    assert_use(asked(wrong)[0], "numbers", said)
    assert asked(wrong, fails=True) == ([], ("products: 16 calls of other shapes",))


def test_an_error_in_some_shapes_is_told() -> None:
    def kernel(*operands: Any) -> Any:
        if len(operands[3]) > 16:
            raise ValueError("too many columns")
        return right(*operands)

    said = "...17 columns and more...: ValueError: too many columns (test_product_shapes.py:"
    assert_use(asked(kernel)[0], "size", said)


def test_state_is_named() -> None:
    seen: dict[tuple[int, ...], int] = {}

    def later(product: Any) -> None:
        seen[product.shape] = seen.get(product.shape, 0) + 1
        if seen[product.shape] > 1:
            product[...] = 0

    said = "not reproducible: right in the first call of each shape, wrong in later ones: "
    assert_use(asked(changed(later))[0], "state", said)

    calls = [0]

    def sometimes(product: Any) -> None:
        calls[0] += 1
        if calls[0] % 5 == 0:
            product[...] = 0

    said = "not reproducible: the same product gave two answers: "
    assert_use(asked(changed(sometimes))[0], "state", said)


def test_a_result_that_is_overwritten_is_told_where_other_calls_raise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    odd = range(3, 12, 2)
    monkeypatch.setattr(product_shapes, "_SHAPES", [(m, n, 1) for m in odd for n in odd])
    buffer = np.zeros((64, 70), np.float32)

    def kernel(*operands: Any) -> Any:
        result = buffer[: len(operands[0]), : len(operands[2])]
        if result.shape in ((5, 3), (9, 11)):
            raise ValueError("not these")
        result[...] = right(*operands)
        return result

    said = "the result of a call is overwritten by the next call: "
    assert_use(asked(kernel)[0], "state", said)


# --- which sizes are asked ------------------------------------------------------------------------


Shapes = Iterable[tuple[int, ...]]

#: What is asked of every format and float type of layers and products.
LAYERS = [(a * b, k, n) for a, b, k, n in layer_shapes._SHAPES]
PRODUCTS = product_shapes._SHAPES


def of_integers(op: str, format: str) -> Shapes:
    """The sizes that calls of every format have."""
    return (*sizes_of(CALL_OPERATIONS[op], format, all=False),)


#: Of layers with one scale for a row and with several, and of values with several scales.
LAYER_CALLS, GROUPS = (of_integers("linear_qcs8w", one) for one in ("int8", "int8_groups"))
CHANNELS = of_integers("quantize_affine", "int8_axis")
#: Those of every operation and format, each with the number of sizes of a call.
INTEGERS = {
    of_integers(op, format): len(one.units(format))
    for op, one in CALL_OPERATIONS.items()
    for format in one.formats
}


def tensors(*, first_float: bool = True, first_format: bool = False) -> Shapes:
    return shapes("tensor", first_float=first_float, first_format=first_format)


def of_layouts(op: str) -> Shapes:
    return shapes(op, first_float=False, first_format=False)


def test_small_calls_lie_around_powers_of_two() -> None:
    around = {2**k + side for k in range(3, 9) for side in (-1, 0, 1)}
    assert list(SMALL) == sorted({1, 2, 3, *around})


@pytest.mark.parametrize(
    ("asked", "axes", "most"),
    [
        (PRODUCTS, (0, 1), 256),
        (PRODUCTS, (2,), 32),
        (LAYERS, (0, 1, 2), 32),
        (of_layouts("pack"), (1,), 256),
        (of_layouts("unpack"), (1,), 256),
        (of_layouts("pack_blocks"), (1,), 256),
        *((asked, range(axes), 256) for asked, axes in INTEGERS.items()),
    ],
)
def test_every_axis_has_the_sizes_around_powers_of_two(
    asked: Shapes, axes: Iterable[int], most: int
) -> None:
    every = list(asked)
    powers = [2**k for k in range(3, most.bit_length())]
    assert powers[-1] == most
    for axis in axes:
        found = {shape[axis] for shape in every}
        assert {1, 2, 3, *(n + side for n in powers for side in (-1, 0, 1))} <= found


def behind(*sizes: int, unit: int = 32) -> bool:
    """Whether all sizes are different, and each has one more than whole parts of some size."""
    return len({*sizes}) == len(sizes) and all(n > unit and n % unit == 1 for n in sizes)


def whole(*sizes: int, unit: int = 32) -> bool:
    return all(n % unit == 0 for n in sizes)


#: Faults that a kernel has where several sizes come together: what is asked, and where it is wrong.
TOGETHER: dict[str, tuple[Shapes, Callable[..., bool]]] = {
    "tails of a warp along rows and outputs and columns": (LAYER_CALLS, behind),
    "tails of a warp along rows and outputs, in groups": (
        GROUPS, lambda m, n, groups, k: groups > 1 and behind(m, n),
    ),
    "tails of a warp along an image": (
        of_integers("grid_sample", "int8"), lambda c, h, w, *_: c > 1 and behind(h, w),
    ),
    "lines behind an axis of scales beyond 4096": (
        CHANNELS, lambda scales, size, before, n: scales > 1 and behind(n, unit=4096),
    ),
    "lines before an axis of scales beyond 1024": (
        CHANNELS, lambda scales, size, before, n: behind(before, unit=1024),
    ),
    "tensors with rows between 512 and 1024 numbers": (
        tensors(), lambda rows, columns: rows > 1 and 512 < columns < 1024,
    ),
    "tensors with columns between 512 and 1024 numbers": (
        tensors(), lambda rows, columns: columns > 1 and 512 < rows < 1024,
    ),
    "tensors with whole blocks along both axes, in other memory": (
        MOVED["tensor"], lambda rows, columns: whole(rows, columns),
    ),
    "tensors with tails along both axes, in other memory": (
        MOVED["tensor"], lambda rows, columns: rows % 32 != 0 != columns % 32,
    ),
    **{
        f"layers with {n} rows, inputs and outputs": (LAYERS, lambda *sizes, n=n: {*sizes} == {n})
        for n in (1, 8, 16, 32, 48, 64)
    },
    **{
        f"products of {n} rows and columns": (PRODUCTS, lambda r, c, _, n=n: r == c == n)
        for n in (1, 8, 16, 32, 48, 64, 96, 128, 256)
    },
}  # fmt: skip


@pytest.mark.parametrize("name", TOGETHER)
def test_a_fault_of_several_axes_meets_a_call(name: str) -> None:
    asked, wrong = TOGETHER[name]
    assert any(wrong(*shape) for shape in asked)


def test_what_tells_of_lines_has_all_small_numbers_of_them() -> None:
    lines, lengths = LINES
    assert {*range(1, 7)} <= {*lines}
    assert {1, 32, 33, 64} <= {*lengths}

"""Which sizes are asked: faults of one axis at powers of two, and of two axes, meet a call."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from mxref.conformance.checking import layer_shapes, product_shapes
from mxref.conformance.checking.axis_sizes import SMALL
from mxref.conformance.checking.integer_sizes import sizes_of
from mxref.conformance.checking.layout_shapes import LINES, MOVED, shapes
from mxref.operations.registry import CALL_OPERATIONS

Shapes = Iterable[tuple[int, ...]]

#: What is asked of every format and float type of layers and products.
LAYERS = [(a * b, k, n) for a, b, k, n in layer_shapes._SHAPES]
PRODUCTS = product_shapes._SHAPES

#: The number of sizes of the calls of each kind of operation.
AXES = {
    one.size_kind(format): len(one.units(format))
    for one in CALL_OPERATIONS.values()
    for format in one.formats
}


def of_integers(kind: str) -> Shapes:
    """The sizes that calls of every format have."""
    return [*sizes_of(kind, AXES[kind], all=False)]


def tensors(*, first_float: bool = True, first_format: bool = False) -> Shapes:
    return shapes("quantize_tensor", first_float=first_float, first_format=first_format)


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
        *((of_integers(kind), range(axes), 256) for kind, axes in AXES.items() if kind != "values"),
        (of_integers("values"), (0,), 256),
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
    "tails of a warp along rows and outputs and columns": (of_integers("layer"), behind),
    "tails of a warp along rows and outputs, in groups": (
        of_integers("layer_groups"), lambda m, n, groups, k: groups > 1 and behind(m, n),
    ),
    "tails of a warp along an image": (
        of_integers("grid_sample"), lambda c, h, w, *_: c > 1 and behind(h, w),
    ),
    "lines behind an axis of scales beyond 4096": (
        of_integers("axis"), lambda scales, size, before, n: scales > 1 and behind(n, unit=4096),
    ),
    "lines before an axis of scales beyond 1024": (
        of_integers("axis"), lambda scales, size, before, n: behind(before, unit=1024),
    ),
    "tensors with rows between 512 and 1024 numbers": (
        tensors(), lambda rows, columns: rows > 1 and 512 < columns < 1024,
    ),
    "tensors with columns between 512 and 1024 numbers": (
        tensors(), lambda rows, columns: columns > 1 and 512 < rows < 1024,
    ),
    "tensors with whole blocks along both axes, in other memory": (
        MOVED["quantize_tensor"], lambda rows, columns: whole(rows, columns),
    ),
    "tensors with tails along both axes, in other memory": (
        MOVED["quantize_tensor"], lambda rows, columns: rows % 32 != 0 != columns % 32,
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

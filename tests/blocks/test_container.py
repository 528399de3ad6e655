"""The container: views of blocks, shapes without data, and results in `out`."""

from __future__ import annotations

import ast
import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers import sentence
from hypothesis import example, given
from hypothesis import strategies as st
from refused import call_of, value_of
from tables import rows

import mxref
from mxref import Blocks, exact, quantize, result_shapes
from mxref.blocks.shapes import ResultShapes
from mxref.formats.catalog import BLOCK_FORMATS

FP4 = BLOCK_FORMATS["mxfp4_e2m1"]
Axis = int | tuple[int, ...]


def sample(shape: Sequence[int], seed: int = 1, dtype: Any = np.float32) -> np.ndarray:
    """Floats of several binades; zeros of both signs, subnormals and now and then no number."""
    generator = np.random.default_rng(seed)
    values = generator.standard_normal(shape) * 2.0 ** generator.integers(-6, 4, shape)
    for share, special in ((0.05, -0.0), (0.05, 2.0**-140), (0.01, np.nan), (0.01, -np.inf)):
        values = np.where(generator.random(shape) < share, special, values)
    return values.astype(dtype)


def identical(a: Blocks, b: Blocks) -> bool:
    """Every field, without the container's own equality."""
    fields = ("format", "axis", "shape", "dtype", "tensor_scale")
    return (
        all(getattr(a, name) == getattr(b, name) for name in fields)
        and (a.codes.shape, a.codes.tolist()) == (b.codes.shape, b.codes.tolist())
        and a.scale_codes.shape == b.scale_codes.shape
        and a.scale_codes.tolist() == b.scale_codes.tolist()
    )


# Strategies.


@st.composite
def tensors(draw: st.DrawFn, smallest: int = 0) -> tuple[np.ndarray, dict[str, Any]]:
    """A tensor of any memory order, and how to quantize it."""
    ndim = draw(st.integers(smallest, 4))
    shape = draw(st.lists(st.integers(0, 7), min_size=ndim, max_size=ndim))
    x = sample(shape, draw(st.integers(0, 999)))
    order = draw(st.sampled_from(["C", "F", "negative strides", "read-only"]))
    if order == "F":
        x = np.asfortranarray(x)
    elif order == "negative strides":
        x = np.flip(np.flip(x).copy())
    elif order == "read-only":
        x.flags.writeable = False
    axis: Axis = draw(st.integers(-max(ndim, 1), max(ndim, 1) - 1))
    size: Axis = draw(st.integers(1, 5))
    if ndim > 1 and draw(st.booleans()):
        axis = tuple(sorted(draw(st.sets(st.integers(0, ndim - 1), min_size=2, max_size=3))))
        size = tuple(draw(st.integers(1, 5)) for _ in axis)
    tail = draw(st.sampled_from(["zero_padded", "short"]))
    name = draw(st.sampled_from(["mxfp8_e4m3", "mxfp4_e2m1", "mxint8"]))
    return x, {"block_format": name, "axis": axis, "block_size": size, "tail": tail}


def axes_of(how: dict[str, Any], ndim: int) -> tuple[int, ...]:
    axis = how["axis"]
    return axis if isinstance(axis, tuple) else (axis % max(ndim, 1),)


def sizes_of(how: dict[str, Any]) -> tuple[int, ...]:
    size = how["block_size"]
    return size if isinstance(size, tuple) else (size,)


# Transposition.


@pytest.mark.sampled(6)
@given(tensors(), st.data())
def test_quantize_then_transpose_is_transpose_then_quantize(
    tensor: tuple[np.ndarray, dict[str, Any]], data: st.DataObject
) -> None:
    x, how = tensor
    order = data.draw(st.permutations(range(x.ndim)))
    # Where the axes of blocks go, and with them their lengths.
    lengths = zip(axes_of(how, x.ndim), sizes_of(how), strict=True)
    place = sorted((order.index(axis) if order else 0, n) for axis, n in lengths)
    several = isinstance(how["axis"], tuple)
    moved = {
        **how,
        "axis": tuple(a for a, _ in place) if several else place[0][0],
        "block_size": tuple(n for _, n in place) if several else place[0][1],
    }
    before = quantize(x, **how)
    after = quantize(x.transpose(order), **moved)
    shifted = [axis - x.ndim for axis in order]
    for view in (before.transpose(*order), before.transpose(order), before.transpose(*shifted)):
        assert identical(view, after)
    assert identical(before.transpose(order).transpose(*np.argsort(order)), before)
    assert np.shares_memory(before.codes, before.T.codes) or before.codes.size == 0


def test_transpose_by_hand() -> None:
    x = np.float32([[1, -2, 3], [0.5, 6, -6]])
    blocks = quantize(x, "mxfp4_e2m1", block_size=2)
    for view in (blocks.T, blocks.transpose(), blocks.transpose(None), blocks.transpose(1, 0)):
        assert (view.shape, view.axis, view.block_size, view.padding) == ((3, 2), 0, 2, 1)
        assert view.codes.tolist() == [[4, 1], [14, 7], [7, 15], [0, 0]]
        assert view.scale_codes.tolist() == [[126, 127], [126, 127]]
        assert view.dequantize().tolist() == x.T.tolist()
        assert not view.codes.flags.writeable
    scalar = quantize(3.0, "mxfp4_e2m1")
    assert scalar.T is scalar
    assert scalar.transpose(()) is scalar


def _exact_block(values: np.ndarray, element: str, count: int) -> tuple[int, list[int]]:
    bits = values.astype(np.float32).view(np.uint32).ravel().tolist()
    scale, codes = exact.quantize(bits + [0] * (count - len(bits)), "f32", element)
    return scale, codes


# Indices.


@st.composite
def whole_block_indices(draw: st.DrawFn, length: int, unit: int) -> slice:
    borders = sorted({*range(0, length, unit), length})
    start, stop = (draw(st.sampled_from(borders)) for _ in range(2))
    ends: list[Any] = [start, stop]
    for n, border in enumerate(ends):
        other: list[Any] = [border]
        if border < length:
            other.append(border - length)
        if border == length:
            other.append(length + draw(st.integers(0, 99)))
        if border == (0, length)[n]:
            other.append(None)
        ends[n] = draw(st.sampled_from(other))
    return slice(*ends, draw(st.sampled_from([None, 1])))


@pytest.mark.sampled(6)
@given(tensors(smallest=1), st.data())
def test_slicing_at_block_borders_commutes_with_quantize(
    tensor: tuple[np.ndarray, dict[str, Any]], data: st.DataObject
) -> None:
    x, how = tensor
    units = dict(zip(axes_of(how, x.ndim), sizes_of(how), strict=True))
    key: list[Any] = []
    for axis, length in enumerate(x.shape):
        steps = st.sampled_from([None, 1, 2, 3, -1, -2])
        ends = st.none() | st.integers(-length - 2, length + 2)
        kinds: list[st.SearchStrategy[Any]] = [st.builds(slice, ends, ends, steps)]
        if axis in units:
            kinds = [whole_block_indices(length, units[axis])]
        elif length:
            kinds.append(st.integers(-length, length - 1))
        key.append(data.draw(st.one_of(kinds)))
    axes = tuple(axis - sum(not isinstance(index, slice) for index in key[:axis]) for axis in units)
    inner = {**how, "axis": axes if isinstance(how["axis"], tuple) else axes[0]}
    want = quantize(x[tuple(key)], **inner)
    blocks = quantize(x, **how)
    assert identical(blocks[tuple(key)], want)
    # Full slices at the end or in the middle may go, or be an Ellipsis.
    where = data.draw(st.integers(0, x.ndim))
    part = (*key[:where], ..., *key[where:])
    assert identical(blocks[part], want)
    first = blocks[key[0]]
    assert first.shape == x[key[0]].shape
    assert identical(first, blocks[key[0], ...])


@given(st.integers(0, 9), st.integers(1, 4), st.data())
@example(5, 2, None)
@example(4, 2, None)
@example(0, 2, None)
def test_slices_through_blocks_are_refused(length: int, unit: int, data: Any) -> None:
    places = [None, *range(-length - 2, length + 3)]
    slices = itertools.product(places, places, [None, 1, 2, -1])
    if data is not None:
        slices = [data.draw(st.tuples(*map(st.sampled_from, (places, places, [None, 1, 2, -1]))))]
    blocks = quantize(np.arange(length), "mxint8", block_size=unit)
    members = [range(n, min(n + unit, length)) for n in range(0, length, unit)]
    for start, stop, step in slices:
        index = slice(start, stop, step)
        chosen = range(length)[index]
        inside = set(chosen)
        whole = all(inside.isdisjoint(block) or inside.issuperset(block) for block in members)
        if not inside:  # then both ends must be borders themselves
            whole = all(n % unit == 0 or n == length for n in (chosen.start, chosen.stop))
        if whole and step in (None, 1):
            assert blocks[index].shape == (len(chosen),)
            assert blocks[index].dequantize().tolist() == list(map(float, chosen))
        else:
            with pytest.raises(ValueError, match="the next borders are"):
                blocks[index]


def test_indices_by_hand() -> None:
    x = np.float32([[1, -2, 3], [0.5, 6, -6]])
    blocks = quantize(x, "mxfp4_e2m1", block_size=2)
    row = blocks[np.int64(-1)]
    assert (row.shape, row.axis, row.padding) == ((3,), 0, 1)
    assert (row.codes.tolist(), row.scale_codes.tolist()) == ([1, 7, 15, 0], [127, 127])
    assert [one.dequantize().tolist() for one in blocks] == x.tolist()  # rows, by iteration
    # Padding stays with the last block.
    assert (blocks[:, :2].padding, blocks[:, 2:].padding, blocks[:, 3:].padding) == (0, 1, 0)
    assert blocks[:, 2:].codes.tolist() == [[7, 0], [15, 0]]
    assert blocks[:, 3:].codes.shape == (2, 0)
    assert blocks[:, 2:3].dequantize().tolist() == [[3.0], [-6.0]]
    assert not blocks[0].codes.flags.writeable
    assert np.shares_memory(blocks[0].codes, blocks.codes)
    # A part of a part, of a transposed tensor, and of a scalar.
    assert identical(blocks.T[2:, ::-1].T, blocks[::-1, 2:])
    scalar = quantize(3.0, "mxfp4_e2m1")
    assert identical(scalar[()], scalar)
    assert identical(scalar[...], scalar)
    # The tensor's scale is that of the part.
    two_levels = quantize(sample((4, 32), 3), "nvfp4")
    part = two_levels[1:3, 16:]
    assert part.tensor_scale == two_levels.tensor_scale
    assert part.dequantize().tobytes() == two_levels.dequantize()[1:3, 16:].tobytes()


def test_the_padding_of_a_part_of_tiles() -> None:
    tiles = quantize(np.ones((5, 70)), "mxfp6_e2m3", axis=(0, 1), block_size=(2, 32))
    assert tiles[2:, 32:].padding == (1, 26)


# What it is.


@pytest.mark.parametrize(("expression", "value"), rows("blocks", "values"))
def test_what_it_is(expression: str, value: str) -> None:
    assert value_of(expression) == ast.literal_eval(value)


FLOATS = ["f8", "f4", "f2", ml_dtypes.bfloat16]
OTHERS = [np.int8, np.int64, ml_dtypes.float8_e4m3fn, ml_dtypes.float4_e2m1fn]


@pytest.mark.parametrize(
    ("source", "wanted"),
    [*((one, one) for one in FLOATS), (">f8", "f8"), (">f4", "f4"), *((o, "f4") for o in OTHERS)],
)
def test_to_dtype(source: Any, wanted: Any) -> None:
    x = np.array([[1.0, -2.0, 6.0]]).astype(source)
    blocks = quantize(x, "mxfp4_e2m1")
    values = blocks.to_dtype()
    assert values.dtype == np.dtype(wanted)
    assert values.astype(np.float64).tolist() == [[1.0, -2.0, 6.0]]
    assert blocks.to_dtype(np.float16).dtype == np.float16
    # 6 * 2**126 is beyond float32.
    huge = Blocks([7], [253], dataclasses.replace(FP4, block_size=1), 0, (1,))
    largest = huge.to_dtype(None, "ocp+product_overflow=saturate")
    assert largest.tolist() == [(2 - 2**-23) * 2.0**127]
    assert huge.to_dtype(product_overflow="inf").tolist() == [float("inf")]


@pytest.mark.parametrize("tail", ["zero_padded", "short"])
@pytest.mark.parametrize("size", [(3, 5), (16, 16), (32, 32), (1, 32), (32, 1)], ids=str)
@pytest.mark.parametrize(("name", "element"), [("mxfp8_e5m2", "e5m2"), ("mxint8", "int8")])
def test_tiles_against_a_double_loop(
    name: str, element: str, size: tuple[int, int], tail: str
) -> None:
    m, n = size
    for shape in ((m, n), (2 * m + m // 2, n + 1), (m - 1, 2 * n - 1), (67, 41)):
        x = sample(shape, 11)
        blocks = quantize(x, name, axis=(0, 1), block_size=size, tail=tail)
        counts = -(-shape[0] // m), -(-shape[1] // n)
        assert blocks.scale_codes.shape == counts
        for i, j in itertools.product(*map(range, counts)):
            tile = x[i * m : (i + 1) * m, j * n : (j + 1) * n]
            scale, codes = _exact_block(tile, element, m * n)
            assert blocks.scale_codes[i, j] == scale
            found = blocks.codes[i * m : (i + 1) * m, j * n : (j + 1) * n]
            inner = found[: tile.shape[0], : tile.shape[1]]
            assert inner.ravel().tolist() == codes[: tile.size]
            if tail == "short":
                assert found.shape == tile.shape
            else:
                assert found.shape == size
                assert int(found.sum()) == int(inner.sum())  # the padding is zeros


def test_tiles_beside_tiles() -> None:
    """Two tiles of 2 x 2 in a row, four times beside one another: of 2**0 to 2**3, 2**4 to 2**7."""
    powers = 4 * (np.arange(4) // 2)[:, np.newaxis] + np.arange(4)
    blocks = quantize(np.tile(2.0**powers, (2, 1, 1)), "mxfp8_e4m3", axis=(0, 1), block_size=(2, 2))
    assert blocks.scale_codes.tolist() == [[[119, 120, 121, 122], [123, 124, 125, 126]]]
    assert (blocks.codes == 0x78).all()
    assert (blocks.dequantize() == 2.0**powers).all()


# Shapes without data.


@pytest.mark.sampled(6)
@given(tensors(), st.sampled_from(["zero_padded", "short", "refused"]), st.data())
def test_result_shapes_are_those_of_the_results(
    tensor: tuple[np.ndarray, dict[str, Any]], tail: str, data: st.DataObject
) -> None:
    x, how = tensor
    how["tail"] = tail
    dtype = data.draw(st.sampled_from([np.float64, np.float16, ml_dtypes.bfloat16, ">f4"]))
    shape, units = x.shape or (1,), zip(axes_of(how, x.ndim), sizes_of(how), strict=True)
    if tail == "refused" and any(shape[axis] % unit for axis, unit in units):
        text = sentence(ValueError, lambda: quantize(x, **how))
        assert sentence(ValueError, lambda: result_shapes(x.shape, **how)) == text
        return
    blocks = quantize(x, **how)
    shapes = result_shapes(x.shape, **how, dtype=dtype)
    values = blocks.dequantize(dtype)
    assert shapes == ResultShapes(
        blocks.codes.shape, blocks.scale_codes.shape, values.shape, values.dtype
    )
    # They are what `out` must be.
    out = np.full(shapes.codes, 0xA5, np.uint8), np.full(shapes.scale_codes, 0xA5, np.uint8)
    floats = np.full(shapes.values, 7, shapes.dtype)
    again = quantize(x, **how, out=out)
    assert identical(again, blocks)
    mxref.dequantize(again, dtype, out=floats)
    uint = f"u{floats.dtype.itemsize}"
    assert floats.view(uint).tolist() == values.view(uint).tolist()


@pytest.mark.parametrize(("shape", "how"), rows("blocks", "refused_shapes"))
def test_result_shapes_refuse_what_quantize_refuses(shape: str, how: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        call_of(f"quantize(np.zeros({shape}), {how})")()
    said = sentence(type(caught.value), call_of(f"result_shapes({shape}, {how})"))
    assert said == str(caught.value)


def test_result_shapes_are_of_integers() -> None:
    numpy_shape: Any = np.array([2, 3])
    found = result_shapes(numpy_shape, "mxfp4_e2m1", "ocp+tail=short").values
    assert [type(n) for n in found] == [int, int]


# Results in `out`.


def test_results_are_written_where_out_says() -> None:
    x = sample((3, 40), 6)
    want = quantize(x, "mxfp6_e3m2")
    memory = np.full((6, 128), 0xA5, np.uint8)
    scales = np.full((3, 2), 0xA5, np.uint8, order="F")
    codes = memory[::-2, ::2]  # any memory order
    blocks = quantize(x, "mxfp6_e3m2", out=(codes, scales))
    assert identical(blocks, want)
    assert (codes.tolist(), scales.tolist()) == (want.codes.tolist(), want.scale_codes.tolist())
    assert (memory[::2] == 0xA5).all()
    assert (memory[:, 1::2] == 0xA5).all()
    # The blocks are views, which cannot be written to.
    assert np.shares_memory(blocks.codes, memory)
    assert np.shares_memory(blocks.scale_codes, scales)
    assert not blocks.codes.flags.writeable
    assert not blocks.scale_codes.flags.writeable
    assert codes.flags.writeable
    codes[0, 0] = 5
    assert blocks.codes[0, 0] == 5


def zeros(*shapes: tuple[int, int], dtype: Any = np.uint8) -> tuple[np.ndarray, ...]:
    return tuple(np.zeros(shape, dtype) for shape in shapes)


CODES_OUT, SCALES_OUT = zeros((3, 64), (3, 2))
READ_ONLY = np.broadcast_to(np.uint8(1), (3, 64))
OF_CODES = "out must hold codes as a writable uint8 array of shape (3, 64), got"
OF_SCALES = "out must hold scale_codes as a writable uint8 array of shape (3, 2), got"


@pytest.mark.parametrize(
    ("out", "kind", "text"),
    [
        ([CODES_OUT, SCALES_OUT], TypeError, "out must be a tuple of codes and scale codes, got "),
        ((CODES_OUT.astype(np.int8), SCALES_OUT), TypeError, f"{OF_CODES} int8"),
        ((CODES_OUT, [[0, 0]] * 3), TypeError, f"{OF_SCALES} list"),
        (zeros((3, 40), (3, 2)), ValueError, f"{OF_CODES} shape (3, 40)"),
        (zeros((3, 64), (2, 3)), ValueError, f"{OF_SCALES} shape (2, 3)"),
        ((READ_ONLY, SCALES_OUT), ValueError, f"{OF_CODES} shape (3, 64), read-only"),
    ],
)
def test_an_out_that_does_not_fit(out: Any, kind: type[Exception], text: str) -> None:
    before = [np.array(array).tolist() for array in out]
    assert sentence(kind, lambda: quantize(sample((3, 40)), "mxfp4_e2m1", out=out)).startswith(text)
    assert [np.array(array).tolist() for array in out] == before


def test_dequantize_writes_where_out_says() -> None:
    blocks = quantize(sample((3, 40), 6), "mxfp6_e3m2")
    for dtype in (np.float64, np.float32, np.float16, ml_dtypes.bfloat16):
        out = np.full((3, 40), 9, dtype)
        found = mxref.dequantize(blocks, dtype, out=out)
        assert np.shares_memory(found, out)
        assert out.tobytes() == blocks.dequantize(dtype).tobytes()

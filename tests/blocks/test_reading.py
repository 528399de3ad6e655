"""A large tensor is read two codes at a time, and gives what its blocks give one by one."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import pytest

import mxref
from mxref.bits.floats import LAYOUTS
from mxref.bits.pairs import MANY
from mxref.blocks.product_tables import products_of
from mxref.blocks.reading import _FEW, Products, _moved
from mxref.formats.catalog import (
    BLOCK_FORMATS,
    CODE_FORMATS,
    E5M2,
    E8M0,
    OTHER_BLOCK_FORMATS,
    UE4M3,
    BlockFormat,
    ElementFormat,
    Specials,
    code_format,
)
from mxref.policy.policy import READS, Policy

#: The last two have products that no float32 scale or no float16 scale holds as normal numbers.
BLOCKS = {
    fmt.name: fmt
    for fmt in (
        *BLOCK_FORMATS.values(),
        *(
            one
            for one in OTHER_BLOCK_FORMATS.values()
            if isinstance(one.block_size, int) and not one.scale.is_float32
        ),
        BlockFormat("three_bits", ElementFormat("e2m0", 2, 0, 1), E8M0, 32),
        BlockFormat("five_bits", ElementFormat("e2m2", 2, 2, 1, Specials.P3109), E8M0, 32),
        BlockFormat("small_float_scale", E5M2, UE4M3, 32),
        BlockFormat("two_levels", E5M2, UE4M3, 32, tensor_scale=True),
        BlockFormat("wide", ElementFormat("e6m1", 6, 1, 31, Specials.FNUZ), E8M0, 32),
        BlockFormat("far_down", ElementFormat("low", 6, 1, 140), E8M0, 32),
    )
}
#: Each choice that `dequantize` reads, alone.
POLICIES = [
    f"ocp+{name}={member.value}"
    for name in READS["dequantize"]
    if name != "scale_arithmetic"
    for member in list(Policy.members(name))[1:]
]


def read(name: str, target: str, codes: Any, scales: Any, policy: str = "ocp", **more: Any) -> Any:
    fmt, layout = BLOCKS[name], LAYOUTS[target]
    tensor = np.float32(1.2345678) if fmt.tensor_scale else None
    more |= {"scale_codes": scales, "block_format": fmt, "tensor_scale": tensor}
    return mxref.dequantize(codes, layout.dtype, policy, **more).view(layout.uint)


@functools.cache
def alone(name: str, target: str, policy: str = "ocp") -> Any:
    """The patterns of every code, of small tensors with one scale each, by scale code and code."""
    fmt = BLOCKS[name]
    codes = np.arange(fmt.element.code_count, dtype=np.uint8)
    assert codes.size < MANY
    rows = [
        read(name, target, codes, [scale], policy, block_size=codes.size)
        for scale in range(fmt.scale.code_count)
    ]
    return np.array(rows)


def some_codes(fmt: BlockFormat, shape: tuple[int, ...]) -> Any:
    """Codes of which every pair of neighbours occurs, where there are enough of them."""
    n = np.arange(np.prod(shape)) // 2
    second = np.arange(np.prod(shape)) % 2 == 1
    count = fmt.element.code_count
    return (np.where(second, n // count, n) % count).astype(np.uint8).reshape(shape)


def few_others(scales: int, blocks: int, many: int | None = None) -> Any:
    """Scale codes of blocks: each of them in turn, among many of one, which is in the middle."""
    found = np.full(blocks, scales // 2 if many is None else many, np.uint8)
    where = np.arange(0, blocks, _FEW + 1)
    found[where] = np.arange(where.size) % scales
    return found


def check_large(name: str, target: str, policy: str) -> None:
    fmt, size = BLOCKS[name], BLOCKS[name].elements_per_block
    count = fmt.scale.code_count
    significands = range(1 << fmt.scale.mantissa_bits)
    for scales in (
        (np.arange(8 * 256) % count).astype(np.uint8),
        *(few_others(count, 256 * (_FEW + 1), count // 2 + n) for n in significands),
    ):
        codes = some_codes(fmt, (scales.size * size,))
        assert codes.size >= MANY
        got = read(name, target, codes, scales, policy)
        want = alone(name, target, policy)[scales.repeat(size), codes]
        assert np.array_equal(got, want), np.flatnonzero(got != want)[:5]


@pytest.mark.parametrize("target", LAYOUTS)
@pytest.mark.parametrize("name", BLOCKS)
def test_every_scale_in_a_large_tensor(name: str, target: str) -> None:
    check_large(name, target, "ocp")


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("target", LAYOUTS)
@pytest.mark.parametrize("name", ["mxfp8_e5m2", "mxfp4_e2m1", "nvfp4"])
def test_every_scale_under_every_choice(name: str, target: str, policy: str) -> None:
    if name == "nvfp4" and policy.startswith("ocp+scale_"):
        policy = "ocp"  # its scale has no such codes
    check_large(name, target, policy)


@pytest.mark.parametrize("target", LAYOUTS)
@pytest.mark.parametrize(
    ("name", "size", "shape", "axis"),
    [
        ("mxfp8_e4m3", 32, (MANY + 33,), 0),  # a short last block, and an odd last code
        ("mxfp8_e4m3", 33, (1023, 33), 1),
        ("mxfp8_e4m3", 2, (1 << 14, 4, 2), 1),  # many short blocks beside one another
        ("mxfp8_e4m3", 512, (3, 12345), 1),
        ("mxfp8_e4m3", 32, (64, 1001), 0),
        ("mxfp8_e4m3", 32, (32, 9001), 0),  # more than a tile, which is a part of each row
        ("mxfp8_e4m3", 32, (100, 21, 33), 1),  # blocks are longer than what lies beside them
        ("mxfp8_e4m3", (8, 4), (200, 203), (0, 1)),
        ("mxfp8_e4m3", 1 << 19, (3, 1 << 18), 1),
        ("mxfp4_e2m1", 31, (2000, 62), 1),
        ("mxfp4_e2m1", 32, (64, 1001), 0),
        ("mxfp4_e2m1", 32, (321, 333), 1),
        ("mxfp4_e2m1", 32, (MANY + 5, 1), 0),
        ("mxfp8_e4m3", 32, (MANY + 5, 1), 0),
        ("nvfp4", 16, (333, 321), 1),
    ],
)
def test_shapes_and_axes(name: str, size: Any, shape: Any, axis: Any, target: str) -> None:
    fmt = BLOCKS[name]
    axes = axis if isinstance(axis, tuple) else (axis,)
    units = dict(zip(axes, size if isinstance(size, tuple) else (size,), strict=True))
    counts = [-(-n // units.get(at, 1)) for at, n in enumerate(shape)]
    scales = few_others(fmt.scale.code_count, int(np.prod(counts))).reshape(counts)
    codes = some_codes(fmt, shape)
    by_element = scales
    for at, unit in units.items():
        by_element = by_element.repeat(unit, axis=at)
    by_element = by_element[tuple(map(slice, shape))]
    want = alone(name, target)[by_element, codes]
    padded = np.pad(codes, [(0, -n % units.get(at, 1)) for at, n in enumerate(shape)])
    layouts = {
        "as they are": codes,
        "columns first": np.asfortranarray(codes),
        "at odd addresses": np.frombuffer(b"\0" + codes.tobytes(), np.uint8, offset=1),
        "every second": np.repeat(codes, 2, axis=-1)[..., ::2],
        "some columns": np.concatenate([codes, codes], axis=-1)[..., : shape[-1]],
        "backwards": codes[::-1].copy()[::-1],
    }
    dtype = LAYOUTS[target].dtype
    aligned, memory = np.empty(shape, dtype), np.empty(1 + codes.size * dtype.itemsize, np.uint8)
    odd = memory[1:].view(dtype).reshape(shape)
    for how, some in layouts.items():
        for threads, out in ((1, aligned), (2, odd)):
            got = read(
                name, target, some.reshape(shape), scales,
                axis=axis, block_size=size, out=out, threads=threads,
            )  # fmt: skip
            assert np.array_equal(got, want), how
            assert np.array_equal(out.view(got.dtype), want), how
    tensor = mxref.TensorScale.of(np.float32(1.2345678), mxref.TensorScaleKind.FACTOR)
    own = BlockFormat(name, fmt.element, fmt.scale, size, fmt.tensor_scale)
    blocks = mxref.Blocks(
        padded, scales, own, axis, shape, tensor_scale=tensor if fmt.tensor_scale else None
    )
    got = blocks.dequantize(LAYOUTS[target].dtype)
    assert np.array_equal(got.view(want.dtype), want)


@pytest.mark.parametrize("target", LAYOUTS)
@pytest.mark.parametrize("format", CODE_FORMATS)
def test_decode_of_every_pair(format: str, target: str) -> None:
    fmt, layout = code_format(format), LAYOUTS[target]
    every = range(fmt.code_count)
    alone = mxref.decode(np.arange(fmt.code_count), fmt, layout.dtype).view(layout.uint)
    pairs = np.array(list(itertools.product(every, every)), np.uint8).reshape(-1)
    pairs = np.resize(pairs, max(pairs.size, MANY) + 1)  # an odd number, the last pair cut
    for start in (0, 1):
        codes = np.frombuffer(bytes(start) + pairs.tobytes(), np.uint8, offset=start)
        got = mxref.decode(codes, fmt, layout.dtype).view(layout.uint)
        assert np.array_equal(got, alone[pairs])
    got = mxref.decode(pairs.repeat(2)[::2], fmt, layout.dtype).view(layout.uint)
    assert np.array_equal(got, alone[pairs])


@pytest.mark.parametrize(
    ("name", "target", "first", "last"),
    [
        # 2**-9 is the smallest number, 1.75 * 2**8 the largest.
        ("mxfp8_e4m3", "f32", -126 + 9, 127 - 8),
        ("mxfp8_e4m3", "bf16", -126 + 9, 127 - 8),
        ("mxfp8_e4m3", "f16", -14 + 9, 15 - 8),
        # 2**-16 and 1.75 * 2**15.
        ("mxfp8_e5m2", "f32", -126 + 16, 127 - 15),
        # 2**-6 and -2.
        ("mxint8", "f32", -126 + 6, 127 - 1),
        ("mxint8", "f16", -14 + 6, 15 - 1),
    ],
)
def test_scales_whose_products_are_normal_numbers(
    name: str, target: str, first: int, last: int
) -> None:
    products = products_of(BLOCKS[name], LAYOUTS[target], Policy().decode)
    found = np.flatnonzero(_moved(products).is_moved) - 127
    assert found.tolist() == list(range(first, last + 1))


def test_no_products_are_moved_that_float32_may_flush_or_change() -> None:
    low = BlockFormat("low", ElementFormat("low", 5, 2, 270), E8M0, 32)
    own = Policy().decode
    products = products_of(low, LAYOUTS["f32"], own)
    magnitude = products.patterns.reshape(256, -1)[254] & 0x7FFFFFFF
    assert magnitude.max() > 1 << 23 > magnitude[magnitude > 0].min()  # some subnormal, some not
    assert not _moved(products).is_moved.any()
    others = products_of(BLOCKS["mxfp8_e4m3"], LAYOUTS["f32"], own).patterns.copy()
    others[others == LAYOUTS["f32"].nan_bits] = 0x7F800001  # a signalling NaN
    assert not _moved(Products(others, 8, LAYOUTS["f32"])).is_moved.any()

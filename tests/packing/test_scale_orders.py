"""Scale layouts: the views with turned axes against the slow twin's places, and known places."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tables

import mxref
from mxref import exact
from mxref.packing.scale_orders import SCALE_ORDERS
from mxref.policy.choices import ScaleLayout

SHAPES = [(1, 1), (3, 5), (16, 2), (33, 9), (130, 4), (257, 3), (300, 17)]
LAYOUTS = [layout.value for layout in ScaleLayout]

PLACES = tables.rows("packing", "places")


def drawn(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(sum(shape)).integers(1, 256, shape).astype(np.uint8)


def test_every_layout_has_an_order() -> None:
    assert set(SCALE_ORDERS) == set(ScaleLayout)
    assert {layout for layout, *_ in PLACES} == {*LAYOUTS} - {"row_major"}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_scales_are_where_the_slow_twin_puts_them(layout: str) -> None:
    for rows, columns in SHAPES:
        scales = drawn((2, rows, columns))
        packed = mxref.pack_scales(scales, scale_layout=layout)
        assert packed.tolist() == [exact.pack_scales(some.tolist(), layout) for some in scales]
        dirty = np.where(packed == 0, np.uint8(0xFF), packed)  # filler is not read
        for stored in (packed, dirty):
            back = mxref.unpack_scales(stored, scales.shape, scale_layout=layout)
            assert np.array_equal(back, scales)
        assert exact.unpack_scales(dirty[0].tolist(), (rows, columns), layout) == scales[0].tolist()


@pytest.mark.parametrize(("layout", "first", "places"), PLACES)
def test_known_places(layout: Any, first: str, places: str) -> None:
    rows, columns = np.indices((256, 16)).astype(np.uint8)
    stored = [mxref.pack_scales(side, scale_layout=layout) for side in (rows, columns)]
    want = [[*map(int, place.split("."))] for place in places.split()]
    for i, place in enumerate(want, int(first)):
        assert [side[i] for side in stored] == place


@pytest.mark.parametrize(
    ("layout", "size"),
    [
        *(("row_major", 2), ("tiles_128x4", 512), ("tiles_8x4", 32), ("mn_major_words", 16)),
        *(("tiles_gfx950", 2048), ("tiles_32x8", 256)),
        *(("tiles_hopper_4", 256), ("tiles_hopper_8", 512), ("tiles_16x16", 256)),
    ],
)
def test_two_scales_are_filled_up(layout: str, size: int) -> None:
    assert mxref.pack_scales([[1, 2]], scale_layout=layout).size == size
    assert len(exact.pack_scales([[1, 2]], layout)) == size


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (0, 0), (0, 3, 5), (2, 0, 5)])
def test_no_scales(shape: tuple[int, ...], layout: Any) -> None:
    packed = mxref.pack_scales(np.zeros(shape, np.uint8), scale_layout=layout)
    assert packed.ndim == len(shape) - 1
    assert packed.size == 0
    assert mxref.unpack_scales(packed, shape, scale_layout=layout).shape == shape


@pytest.mark.parametrize("layout", ["row_major", "tiles_128x4"])
def test_scales_of_any_type_and_memory_order(layout: Any) -> None:
    """Nothing is shared with the input."""
    scales = drawn((2, 130, 5))
    want = mxref.pack_scales(scales, scale_layout=layout)
    for some in (
        *(np.asfortranarray(scales), scales[..., ::-1].copy()[..., ::-1]),
        *(scales.astype(">u2"), scales.view(ml_dtypes.float8_e8m0fnu)),
    ):
        packed = mxref.pack_scales(some, scale_layout=layout)
        assert np.array_equal(packed, want)
        stored = np.repeat(packed, 3, axis=-1)[..., ::3]
        back = mxref.unpack_scales(stored, scales.shape, scale_layout=layout)
        assert np.array_equal(back, scales)
        for result, source in ((packed, some), (back, stored)):
            assert result.flags.writeable
            assert not np.shares_memory(result, source)


def test_the_exponent_field_of_a_float_is_its_scale_code() -> None:
    """What DeepGEMM packs: ``x.view(int32) >> 23`` as a byte, of any float."""
    fields = np.arange(512, dtype=np.uint32) << 23  # the sign above them
    patterns = fields[:, np.newaxis] | np.uint32([0, 1, 0x3FFFFF, 0x400000, 0x400001, 0x7FFFFF])
    codes = mxref.encode_scale(patterns.view(np.float32))
    assert np.array_equal(codes, (patterns >> 23).astype(np.uint8))


def test_weights_of_aiter() -> None:
    """The view of `shuffle_weight`, of the bytes of FP4 in 32 rows of 128."""
    packed = mxref.pack(drawn((32, 128)) % 16, "e2m1")
    turned = packed.reshape(2, 16, 2, 2, 16).transpose(0, 2, 3, 1, 4)
    stored = mxref.pack_scales(packed, scale_layout="tiles_16x16")
    assert stored.tolist() == turned.reshape(-1).tolist()


@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (8, 2), (2, 6, 7)])
def test_float32_scales_down_the_rows(shape: tuple[int, ...]) -> None:
    """As DeepGEMM has them for Hopper: (r, c) at c * stride + r, the stride 16 n bytes."""
    scales = np.random.default_rng(1).standard_normal(shape).astype("<f4")
    packed = mxref.pack_scales(scales.view(np.uint8), scale_layout="mn_major_words").view("<f4")
    *outer, rows, columns = shape
    stride = -(-rows // 4) * 4
    assert packed.shape == (*outer, columns * stride)
    for *index, row, column in np.ndindex(shape):
        assert packed[(*index, column * stride + row)] == scales[(*index, row, column)]
    whole = packed.reshape(*outer, columns, stride)
    assert not whole[..., rows:].any()
    back = mxref.unpack_scales(
        packed.view(np.uint8), scales.view(np.uint8).shape, scale_layout="mn_major_words"
    )
    np.testing.assert_array_equal(back.view("<f4"), scales)

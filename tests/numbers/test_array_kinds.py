"""Arrays of other libraries as arguments: by ``__array__``, by DLPack, of bfloat16 and FP8."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers import SOURCES, sentence

import mxref

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


class Dtype:
    """A dtype that NumPy does not know; its text is as torch's."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return f"torch.{self.name}"


class Tensor:
    """An array that gives its memory by DLPack alone, and integers of the same size by `view`."""

    def __init__(self, array: np.ndarray, name: str | None = None) -> None:
        self.bits, self.dtype = array, Dtype(name or str(array.dtype))

    def view(self, _: object) -> np.ndarray:
        return (
            self.bits
            if self.dtype.name.endswith("_x2")
            else self.bits.view(f"i{self.bits.itemsize}")
        )

    def __dlpack__(self, **options: Any) -> Any:
        return self.bits.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.bits.__dlpack_device__()


class Convertible:
    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self._array


NUMBERS = np.float32([[0.3, -5.0, 448.0, 1e-3] * 8, [0.0, 7.0, -0.0, 1.0] * 8])
KINDS = [
    (Tensor, np.dtype(np.float32)),
    (Tensor, np.dtype(np.float64)),
    (Tensor, BFLOAT16),
    (Tensor, np.dtype(ml_dtypes.float8_e4m3fn)),
    (Tensor, np.dtype(ml_dtypes.float8_e5m2)),
    (Convertible, np.dtype(np.float32)),
    (Convertible, BFLOAT16),
]


@pytest.mark.parametrize(("kind", "dtype"), KINDS)
def test_numbers(kind: Any, dtype: np.dtype[Any]) -> None:
    x = NUMBERS.astype(dtype)
    other = kind(x)
    assert (mxref.encode(other, "e2m1") == mxref.encode(x, "e2m1")).all()
    assert (mxref.encode_scale(other) == mxref.encode_scale(x)).all()
    for name in ("mxfp4_e2m1", "nvfp4"):
        blocks = mxref.quantize(other, name)
        assert blocks == mxref.quantize(x, name)
        assert blocks.dtype == dtype
    profile = mxref.profile("torchao_0_18_floor")
    if dtype in (np.float32, BFLOAT16):
        assert profile.quantize(other, "mxfp4_e2m1") == profile.quantize(x, "mxfp4_e2m1")
    if dtype.itemsize > 1:
        size = np.abs(x)
        got = mxref.shared_scale(kind(size), "e2m1")
        assert (got == mxref.shared_scale(size, "e2m1")).all()


@pytest.mark.parametrize("kind", [Tensor, Convertible])
def test_codes(kind: Any) -> None:
    codes = np.arange(64, dtype=np.uint8).reshape(2, 32) % 16
    scales = np.uint8([[130], [127]])
    assert (mxref.decode(kind(codes), "e2m1") == mxref.decode(codes, "e2m1")).all()
    assert (mxref.decode_scale(kind(scales)) == mxref.decode_scale(scales)).all()
    packed = mxref.pack(codes, "e2m1")
    assert (mxref.pack(kind(codes), "e2m1") == packed).all()
    assert (mxref.unpack(kind(packed), "e2m1", 32) == codes).all()
    assert (mxref.pack_scales(kind(scales)) == mxref.pack_scales(scales)).all()
    fmt = mxref.formats.block_format("mxfp4_e2m1")
    blocks = mxref.Blocks(kind(codes), kind(scales), fmt, 1, (2, 32))
    assert blocks == mxref.Blocks(codes, scales, fmt, 1, (2, 32))
    fp8 = np.arange(100, dtype=np.uint8)
    got = mxref.decode(Tensor(fp8.view(ml_dtypes.float8_e4m3fn)), "e4m3")
    assert (got == mxref.decode(fp8, "e4m3")).all()
    random = np.arange(32).reshape(1, 32)
    stochastic = {"rounding": "stochastic_a", "random_width": 5}
    got = mxref.encode(NUMBERS, "e2m1", random_bits=kind(random), **stochastic)
    assert (got == mxref.encode(NUMBERS, "e2m1", random_bits=random, **stochastic)).all()


def test_two_codes_in_a_byte_are_no_codes() -> None:
    packed: Any = Tensor(np.uint8([[0xC2, 0x07]]), "float4_e2m1fn_x2")
    want = "must have one number or code an item, got torch.float4_e2m1fn_x2, two in a byte: "
    for call in (
        lambda: mxref.decode(packed, "e2m1"),
        lambda: mxref.encode(packed, "e2m1"),
        lambda: mxref.quantize(packed, "mxfp4_e2m1"),
        lambda: mxref.pack(packed, "e2m1"),
    ):
        assert want in sentence(TypeError, call)
    assert mxref.unpack(packed, "e2m1", 4).tolist() == [[2, 12, 7, 0]]


def test_python_numbers_and_empty_lists() -> None:
    assert mxref.encode(-3.0, "e2m1").shape == ()
    assert mxref.encode(-3.0, "e2m1") == 0xD
    assert mxref.encode([[0.5], [6.0]], "e2m1").tolist() == [[1], [7]]
    assert (mxref.encode([], "e2m1").shape, mxref.encode([], "e2m1").dtype) == ((0,), np.uint8)
    assert (mxref.decode([], "e2m1").shape, mxref.decode([], "e2m1").dtype) == ((0,), np.float32)
    assert mxref.decode(0xD, "e2m1") == -3
    assert mxref.encode_scale([[1.0], [2]]).tolist() == [[127], [128]]


@pytest.mark.parametrize("dtype", SOURCES.values())
def test_inputs_stay_as_they_are_and_results_are_their_own(dtype: Any) -> None:
    smallest = ml_dtypes.finfo(dtype).smallest_subnormal
    x = np.array([[1, -2, np.inf], [0.5, smallest, np.nan]], dtype)
    for given, encode, decode in (
        *(
            (x, lambda x, p=p: mxref.encode(x, "e5m2", p), lambda c: mxref.decode(c, "e5m2", dtype))
            for p in ("ocp", "ocp+subnormal_inputs=flushed", "ocp+pre_rounding=bfloat16")
        ),
        (x, mxref.encode_scale, lambda c: mxref.decode_scale(c, dtype)),
        (abs(x), lambda x: mxref.shared_scale(x, "int8"), lambda c: mxref.decode_scale(c, dtype)),
    ):
        given.flags.writeable, before = False, given.tobytes()
        codes = encode(given)
        assert (codes.shape, codes.dtype, given.tobytes()) == (x.shape, np.uint8, before)
        assert not np.shares_memory(codes, given)
        codes.flags.writeable, before = False, codes.tobytes()
        values = decode(codes)
        assert (values.shape, values.dtype, codes.tobytes()) == (x.shape, np.dtype(dtype), before)
        want = values.tobytes()
        values[:] = 0  # no table is written to
        assert decode(codes).tobytes() == want

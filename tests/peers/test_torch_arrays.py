"""torch's tensors as arguments of every function, bfloat16 and FP8 included."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

import mxref

DTYPES = {
    "float64": np.float64,
    "float32": np.float32,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
    "float8_e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "float8_e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
}
NUMBERS = np.random.default_rng(4).standard_normal((3, 64)).astype(np.float32)


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("strided", [False, True])
def test_numbers(name: str, strided: bool) -> None:
    x = NUMBERS.astype(DTYPES[name])
    bits = torch.from_numpy(x.view(f"i{x.itemsize}").copy())
    tensor = bits.view(getattr(torch, name))
    if strided:
        x, tensor = x.T[::2], tensor.t()[::2]
    if tensor.dtype.itemsize > 1:
        tensor.requires_grad_()
    assert (mxref.encode(tensor, "e2m1") == mxref.encode(x, "e2m1")).all()
    for format in ("mxfp8_e4m3", "nvfp4"):
        assert mxref.quantize(tensor, format) == mxref.quantize(x, format)
    assert mxref.quantize(tensor[0, 0], "mxint8") == mxref.quantize(x[0, 0], "mxint8")


def test_codes() -> None:
    codes = torch.arange(96, dtype=torch.uint8)
    got = mxref.decode(codes.view(torch.float8_e4m3fn), torch.float8_e4m3fn)
    assert np.array_equal(got, codes.view(torch.float8_e4m3fn).float().numpy())
    scales = mxref.decode_scale(codes.view(torch.float8_e8m0fnu))
    assert np.array_equal(scales, codes.view(torch.float8_e8m0fnu).float().numpy())
    packed = (codes[:32]).view(torch.float4_e2m1fn_x2)
    assert mxref.unpack(packed, "e2m1", 64).tolist() == [
        n for c in range(32) for n in (c % 16, c // 16)
    ]
    with pytest.raises(TypeError, match="two in a byte"):
        mxref.decode(packed, "e2m1")


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.float4_e2m1fn_x2, torch.bool])
def test_dtypes_that_are_no_formats(dtype: Any) -> None:
    with pytest.raises(ValueError, match="must be the name of a format, got torch"):
        mxref.encode(NUMBERS, dtype)


@pytest.mark.parametrize("dtype", [torch.bool, torch.complex64])
def test_other_tensors_are_refused(dtype: Any) -> None:
    with pytest.raises(TypeError, match=r"values (dtype )?must be float64, float32"):
        mxref.quantize(torch.zeros(2, dtype=dtype), "mxint8")


def test_formats_by_dtype() -> None:
    for dtype, name in ((torch.float8_e4m3fn, "e4m3"), (torch.float8_e5m2fnuz, "e5m2fnuz")):
        assert mxref.formats.element_format(dtype).name == name

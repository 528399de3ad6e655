"""NVFP4 by named arithmetics, against the implementations that they are named after, bit for bit.

Ten million random elements of varied exponents, and designed blocks: zeros, ties of the scale and
of the elements, subnormal numbers, the largest float, infinities and NaN; of float32, and the same
in bfloat16 and float16. tests/blocks/test_two_level.py has the slow twin of the same arithmetics.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from compressed_tensors.quantization import QuantizationArgs
from compressed_tensors.quantization.lifecycle.forward import dequantize as ct_dequantize
from compressed_tensors.quantization.lifecycle.forward import quantize as ct_quantize
from compressed_tensors.quantization.utils.helpers import calculate_qparams, generate_gparam
from thresholds import amaxes, at_thresholds, count_at_thresholds, with_specials
from torchao.prototype.mx_formats.kernels import unpack_uint4
from torchao.prototype.mx_formats.nvfp4_tensor import (
    NVFP4Tensor,
    nvfp4_quantize,
    per_tensor_amax_to_scale,
)

import mxref
from mxref.blocks.two_level import TensorScale

ROWS, COLUMNS = 4096, 512
TARGETS = (np.float32, ml_dtypes.bfloat16)


def rows(seed: int, spread: int) -> np.ndarray:
    """Random normals, each block at its own power of two."""
    generator = np.random.default_rng(seed)
    x = generator.standard_normal((ROWS, COLUMNS // 16, 16), np.float32)
    powers = generator.integers(-spread, spread + 1, (ROWS, COLUMNS // 16, 1)).astype(np.int32)
    return np.ldexp(x, powers).astype(np.float32).reshape(ROWS, COLUMNS)


def designed() -> np.ndarray:
    """Blocks at every edge that the formulas have, for float32 tensors of one row each."""
    blocks = []
    ties = np.float32([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0])
    around = np.concatenate([np.nextafter(ties, np.float32(0)), ties, np.nextafter(ties, 9)])
    for scale in range(1, 0x7F):  # every scale of E4M3 times every tie and its neighbours
        number = mxref.decode([scale], "ue4m3")[0]
        for start in range(0, 21, 15):
            some = np.zeros(16, np.float32)
            some[: len(around[start : start + 15])] = around[start : start + 15]
            some[15] = 6
            blocks.append(some * number * np.where(np.arange(16) % 2, -1, 1).astype(np.float32))
    for code in range(0x7E):  # amax at every midpoint between two scales, and next to it
        low, high = mxref.decode([code, code + 1], "ue4m3", np.float64)
        middle = np.float32(6 * (low + high) / 2)
        near = (np.nextafter(middle, 0), middle, np.nextafter(middle, np.float32(9e9)))
        blocks += [np.float32([a, -a / 2, a / 3, *[a / 7] * 13]) for a in near]
    for power in range(-149, 128):
        amax = np.ldexp(np.float32(1), power)
        blocks.append(np.float32([amax, -amax, *[0.0, -0.0] * 7]))
        blocks.append(np.float32([amax, np.nextafter(amax, 0), *[amax / 4] * 14]))
    largest = np.finfo(np.float32).max
    blocks.append(np.full(16, largest, np.float32))
    return np.stack(blocks)


CASES = {
    "near": lambda: rows(1, 2),
    "middle": lambda: rows(2, 12),
    "wide": lambda: rows(3, 60),
    "spread": lambda: rows(7, 30),
    "subnormal": lambda: np.ldexp(rows(4, 6), -135).astype(np.float32),
    "small": lambda: np.ldexp(rows(8, 4), -12).astype(np.float32),
    "bfloat16": lambda: rows(5, 8).view(np.uint32) & np.uint32(0xFFFF0000),
    "designed": designed,
    "zeros": lambda: np.zeros((16, 32), np.float32),
    "negative_zeros": lambda: -np.zeros((16, 32), np.float32),
}


def tensor(name: str) -> np.ndarray:
    x = CASES[name]()
    return x.view(np.float32) if x.dtype == np.uint32 else x


def to_torch(x: np.ndarray) -> torch.Tensor:
    bits = torch.from_numpy(x.view(f"i{x.itemsize}").copy())
    return bits.view(getattr(torch, x.dtype.name))


def bits(x: np.ndarray) -> np.ndarray:
    return x.view(f"u{x.itemsize}")


def from_torch(x: torch.Tensor, dtype: Any) -> np.ndarray:
    return x.contiguous().view(getattr(torch, f"int{8 * x.itemsize}")).numpy().view(dtype)


def torchao(x: np.ndarray, scale: float | None) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Scales, codes, and what it reads as float32 and as bfloat16."""
    per_tensor = None if scale is None else torch.tensor(scale, dtype=torch.float32)
    tensor = to_torch(x)
    scales, packed = nvfp4_quantize(tensor, 16, per_tensor)
    peer = NVFP4Tensor.to_nvfp4(tensor, per_tensor_scale=per_tensor)
    values = [peer.dequantize(dtype) for dtype in (torch.float32, torch.bfloat16)]
    read = [from_torch(one, dtype) for one, dtype in zip(values, TARGETS, strict=True)]
    return scales.view(torch.uint8).numpy(), unpack_uint4(packed.view(torch.uint8)).numpy(), read


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("source", TARGETS)
@pytest.mark.parametrize("levels", [1, 2])
def test_torchao(name: str, source: Any, levels: int) -> None:
    largest = np.float32(ml_dtypes.finfo(source).max)
    x = np.clip(tensor(name), -largest, largest).astype(source)
    given = None
    if levels == 2:
        given = float(per_tensor_amax_to_scale(torch.max(torch.abs(to_torch(x)))))
    scales, codes, values = torchao(x, given)
    # torchao makes 3 or B of a NaN, by the bits of the NaN: such blocks are compared as NaN blocks,
    # and 0 * (1 / T) is NaN where T is so small that 1 / T is infinite.
    blocks = mxref.quantize(x, "fp4_ue4m3" if levels == 1 else "nvfp4", scale_arithmetic="torchao")
    if levels == 2:
        assert blocks.tensor_scale is not None
        assert np.array_equal(blocks.tensor_scale.value, given, equal_nan=True)
    # The NaN of a scale may have its sign set there; a scale has none.
    assert np.array_equal(blocks.scale_codes, scales.reshape(blocks.scale_codes.shape) & 0x7F)
    nan = np.repeat(blocks.scale_codes == 0x7F, 16, axis=1)
    finite = ~nan
    if given is not None and 0 < given < 2.0**-128:
        assert ((codes & 7)[finite & (x == 0)] == 3).all()
        assert (blocks.codes[finite & (x == 0)] == 7).all()  # `nan_to_finite` of ocp
        finite &= x != 0
    assert np.array_equal(blocks.codes[finite], codes[finite])
    for target, read in zip(TARGETS, values, strict=True):
        got = blocks.dequantize(target, scale_arithmetic="torchao")
        assert np.array_equal(bits(got)[finite], bits(read)[finite])
        assert np.isnan(got[nan].astype(np.float32)).all()
        assert np.isnan(read[nan].astype(np.float32)).all()


def compressed(
    x: np.ndarray, levels: int
) -> tuple[float | None, np.ndarray, np.ndarray, np.ndarray]:
    args = QuantizationArgs(
        num_bits=4, type="float", strategy="tensor_group", group_size=16, symmetric=True
    )
    args.scale_dtype = torch.float8_e4m3fn
    t = to_torch(x)
    divisor = generate_gparam(t.min(), t.max()) if levels == 2 else None
    grouped = t.view(len(x), -1, 16)
    scale, zero = calculate_qparams(grouped.amin(-1), grouped.amax(-1), args, global_scale=divisor)
    q = ct_quantize(t, scale, zero, args, global_scale=divisor)
    back = ct_dequantize(q, scale, zero, args, global_scale=divisor)
    stored = scale.to(torch.float8_e4m3fn).view(torch.uint8).numpy()
    target = np.dtype(str(back.dtype).removeprefix("torch."))
    return (
        None if divisor is None else float(divisor),
        stored,
        q.float().numpy(),
        from_torch(back, target),
    )


@pytest.mark.parametrize("name", [name for name in CASES if name != "bfloat16"])
@pytest.mark.parametrize("source", [*TARGETS, np.float16])
@pytest.mark.parametrize("levels", [1, 2])
def test_compressed_tensors(name: str, source: Any, levels: int) -> None:
    with np.errstate(over="ignore"):  # what is beyond float16 is infinite
        x = tensor(name).astype(source)
    divisor, scales, numbers, values = compressed(x, levels)
    policy = "ocp+scale_arithmetic=compressed_tensors+zero_sign=dropped"
    blocks = mxref.quantize(x, "fp4_ue4m3" if levels == 1 else "nvfp4", policy)
    if blocks.tensor_scale is not None:
        assert np.array_equal(blocks.tensor_scale.value, divisor, equal_nan=True)
    # As in torchao: the NaN of a scale may have its sign set there.
    assert np.array_equal(blocks.scale_codes, scales.reshape(blocks.scale_codes.shape) & 0x7F)
    finite = np.repeat(blocks.scale_codes != 0x7F, 16, axis=1)
    # A quotient that float32 rounds to -0 counts as exact: cast_to_fp4 multiplies by sign(x) = 0.
    got = mxref.decode(blocks.codes, "e2m1")
    assert np.array_equal(bits(got)[finite], bits(numbers)[finite])
    model = mxref.profile("compressed_tensors_nvfp4").quantize(x, blocks.format)
    assert np.array_equal(model.codes[finite], blocks.codes[finite])
    back = blocks.dequantize(values.dtype, scale_arithmetic="compressed_tensors")
    nan = np.isnan(values.astype(np.float32))  # also under a tensor scale of 0
    assert np.array_equal(nan, np.isnan(back.astype(np.float32)))
    assert nan[~finite].all()
    assert np.array_equal(bits(back)[~nan], bits(values)[~nan])


SPECIALS = {"NaN": np.nan, "inf": np.inf, "-inf": -np.inf}
#: Tensor scales: of the tensor itself, none, ordinary, with an infinite reciprocal, and specials.
GIVEN = ["own", None, 1.0, 1e30, 2.0**-127, 2.0**-128, 2.0**-130, 0.0, np.inf, np.nan]


@pytest.mark.parametrize("name", [*CASES, *SPECIALS])
@pytest.mark.parametrize("given", GIVEN, ids=str)
def test_the_profile_of_torchao(name: str, given: Any) -> None:
    """Every code, those of NaN included; the sign of the NaN of a scale is not compared."""
    if name in SPECIALS:
        x = np.linspace(-3, 5, 64, dtype=np.float32).reshape(1, 64)
        x[0, [1, 2, 5]] = 0.0, -0.0, SPECIALS[name]
    else:
        x = tensor(name)
    amax = torch.max(torch.abs(to_torch(x)))
    t = float(per_tensor_amax_to_scale(amax)) if given == "own" else given
    scales, codes, _ = torchao(x, t)
    pattern = None if given in ("own", None) else int(np.float32(given).view(np.uint32))
    whole = None if pattern is None else TensorScale(pattern)
    model, format = mxref.profile("torchao_0_18_nvfp4"), "fp4_ue4m3" if t is None else "nvfp4"
    blocks = model.quantize(x, format, tensor_scale=whole)
    assert np.array_equal(blocks.scale_codes, scales.reshape(blocks.scale_codes.shape) & 0x7F)
    if given == "own" and t != t:  # its sign is not always the same; all blocks are NaN
        assert ({*blocks.codes.flat}, {*codes.flat} <= {0x03, 0x0C}) == ({0x03}, True)
    else:
        assert np.array_equal(blocks.codes, codes)


@pytest.mark.parametrize("position", [0, 7, 15, 31])
@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("levels", [1, 2])
def test_torchao_specials(position: int, special: float, levels: int) -> None:
    x = np.linspace(-3, 5, 64, dtype=np.float32).reshape(1, 64)
    x[0, position] = special
    amax = torch.from_numpy(np.abs(x)).amax()
    given = float(per_tensor_amax_to_scale(amax)) if levels == 2 else None
    scales, codes, _ = torchao(x, given)
    blocks = mxref.quantize(x, "fp4_ue4m3" if levels == 1 else "nvfp4", scale_arithmetic="torchao")
    if blocks.tensor_scale is not None:
        assert np.array_equal(blocks.tensor_scale.value, given, equal_nan=True)
    # The NaN of a scale may have its sign set; a scale has none.
    assert blocks.scale_codes.tolist() == (scales.reshape(1, -1) & 0x7F).tolist()
    finite = np.repeat(blocks.scale_codes != 0x7F, 16, axis=1)
    assert np.array_equal(blocks.codes[finite], codes[finite])


def test_a_given_tensor_scale() -> None:
    x = rows(9, 3)
    given = float(np.float32(0.0123))
    scales, codes, values = torchao(x, given)
    blocks = mxref.quantize(x, "nvfp4", tensor_scale=given, scale_arithmetic="torchao")
    assert blocks.tensor_scale == TensorScale.of(given, blocks.tensor_scale.kind)
    assert np.array_equal(blocks.scale_codes, scales.reshape(blocks.scale_codes.shape))
    assert np.array_equal(blocks.codes, codes)
    assert np.array_equal(blocks.dequantize(scale_arithmetic="torchao"), values[0])


def equal_to_torchao(x: np.ndarray) -> None:
    t = float(per_tensor_amax_to_scale(torch.max(torch.abs(to_torch(x)))))
    scales, codes, _ = torchao(x, t)
    blocks = mxref.profile("torchao_0_18_nvfp4").quantize(x, "nvfp4")
    assert blocks.tensor_scale is not None
    assert np.array_equal(blocks.tensor_scale.value, t, equal_nan=True)
    assert np.array_equal(blocks.scale_codes, scales.reshape(blocks.scale_codes.shape) & 0x7F)
    if t == t:  # else all blocks are NaN, and so is the sign of T, which is not always the same
        assert np.array_equal(blocks.codes, codes)


def equal_to_compressed_tensors(x: np.ndarray) -> None:
    divisor, scales, numbers, _ = compressed(x, 2)
    blocks = mxref.profile("compressed_tensors_nvfp4").quantize(x, "nvfp4")
    assert blocks.tensor_scale is not None
    assert np.array_equal(blocks.tensor_scale.value, divisor, equal_nan=True)
    assert np.array_equal(blocks.scale_codes, scales.reshape(blocks.scale_codes.shape) & 0x7F)
    # Of NaN under its NaN scale there is no code: `cast_to_fp4` leaves a number or NaN.
    finite = np.repeat(blocks.scale_codes != 0x7F, 16, axis=1)
    got = mxref.decode(blocks.codes, "e2m1")
    assert np.array_equal(bits(got)[finite], bits(numbers)[finite])


@pytest.mark.parametrize("equal", [equal_to_torchao, equal_to_compressed_tensors])
def test_a_million_codes_at_thresholds(equal: Any) -> None:
    """More than 30% of them at thresholds of scales and elements, in tensors at edges of theirs."""
    compared = near = 0
    for amax in amaxes(22).tolist():
        x = at_thresholds(amax)
        equal(x)
        compared += x.size
        near += count_at_thresholds(x, amax)
    print(f"{compared} codes compared, {near} of them at thresholds")
    assert compared > 1_000_000
    assert near > 0.3 * compared


@pytest.mark.parametrize("equal", [equal_to_torchao, equal_to_compressed_tensors])
def test_specials_of_every_place(equal: Any) -> None:
    for x in with_specials():
        equal(x)

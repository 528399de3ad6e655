"""Integer operations beside torch, ExecuTorch's C++ kernels, ONNX's reference and onnxruntime.

A sixteenth of the patterns run by default, 2**22 for each set of parameters with --complete.
"""

from __future__ import annotations

import importlib
import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from live import compared
from shares import Share
from torch.ao.quantization import MinMaxObserver, PerChannelMinMaxObserver

from mxref.integer import (
    SNORM8,
    SNORM16,
    QParams,
    choose_qparams,
    dequantize_affine,
    grid_sample,
    grid_sample_bounds,
    grid_sample_values,
    linear_qcs4w,
    linear_qcs8w,
    pack_int4,
    quantize_affine,
)

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "adapters"))

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of ExecuTorch
    pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor:UserWarning"),  # deprecated
]
F32 = np.float32
SETS = [
    SNORM8,
    QParams(F32(0.1), 3, -8, 7),
    QParams(F32(1 / 255), -128),
    QParams(F32(0.3), 128, 0, 255, np.uint8),
    SNORM16,
    QParams(F32(2.0**-16), -77, -32768, 32767, np.int16),
    QParams(F32(0.1), 0, -(2**31), 2**31 - 1, np.int32),
    *(QParams(scale, 5) for scale in (0.013, 0.1, 0.3, 1 / 127, 1 / 255, 1 / 3)),
]
#: ONNX has no narrower ranges than those of types.
ONNX_SETS = [
    QParams(F32(scale), zero_point, info.min, info.max, info.dtype)
    for info in map(np.iinfo, (np.int8, np.uint8, np.int16, np.uint16))
    for scale in (0.013, 0.1)
    for zero_point in (0, info.min + 3, info.max - 20)
    if zero_point >= info.min
]


@pytest.fixture(scope="module")
def patterns(share: Share) -> np.ndarray:
    """Random patterns of all float32 numbers; every other one within 2**17 steps of a unit."""
    drawn = np.random.default_rng(1)
    x = drawn.integers(0, 1 << 32, 1 << (22 if share.complete else 18), np.uint32)
    exponents = drawn.integers(127 - 24, 127 + 17, len(x) // 2, np.uint32)
    x[::2] = (x[::2] & np.uint32(0x807FFFFF)) | exponents << np.uint32(23)
    return x.view(F32)


def near_ties(qparams: QParams) -> np.ndarray:
    """Every midpoint of 8 bits, and both neighbours."""
    codes = np.arange(-300, 300) + 0.5 - int(qparams.zero_point)
    middle = F32(codes * float(qparams.scale))
    return np.concatenate([middle, *(np.nextafter(middle, F32(s)) for s in (np.inf, -np.inf))])


def codes_of(dtype: np.dtype) -> np.ndarray:
    """All codes of 8 and 16 bits, and some of 32."""
    info = np.iinfo(dtype)
    if info.bits == 32:
        return np.random.default_rng(2).integers(info.min, info.max, 1 << 16).astype(np.int32)
    return np.arange(info.min, info.max + 1).astype(dtype)


# --- quantize_affine and dequantize_affine, by the adapters ---------------------------------------


def adapter(name: str) -> Any:
    module, _, member = name.partition(".")
    return getattr(importlib.import_module(f"{module}_adapter"), member)


def compare(name: str, x: np.ndarray, codes: np.ndarray | None, qparams: QParams) -> None:
    """Numbers and codes (those of the numbers if there are none) under the adapter's choices."""
    peer = adapter(name)
    choices = dict(word.split("=") for word in peer.INTEGERS.split())
    if qparams.dtype != np.int32:
        choices.pop("int32", None)
    ends = qparams.quant_min, qparams.quant_max, qparams.dtype
    scale = qparams.scale if qparams.axis is None else F32(qparams.scale)
    given = scale, qparams.zero_point, *ends, qparams.axis
    want = peer.quantize_affine(x, *given)
    wrong = np.flatnonzero(quantize_affine(x, qparams, **choices) != want)
    assert len(wrong) == 0, (qparams, x.ravel()[wrong[:5]], want.ravel()[wrong[:5]], len(wrong))
    codes = want if codes is None else codes
    numbers = peer.dequantize_affine(codes, *given)
    assert dequantize_affine(codes, qparams).tobytes() == numbers.tobytes()
    compared(name, "quantize_affine", x.size)
    compared(name, "dequantize_affine", codes.size)


@pytest.mark.parametrize("qparams", SETS, ids=range(len(SETS)))
@pytest.mark.parametrize(
    "name", ["torch_integers.TENSOR", "torch_integers.TORCHAO", "executorch_integers.TENSOR"]
)
def test_per_tensor(name: str, qparams: QParams, patterns: np.ndarray) -> None:
    codes = codes_of(qparams.dtype)
    numbers = dequantize_affine(codes, qparams)
    compare(name, np.concatenate([patterns, near_ties(qparams), numbers]), codes, qparams)


@pytest.mark.parametrize("qparams", ONNX_SETS, ids=range(len(ONNX_SETS)))
@pytest.mark.parametrize("name", ["onnx_integers.REFERENCE", "onnx_integers.RUNTIME"])
def test_onnx(name: str, qparams: QParams, patterns: np.ndarray, share: Share) -> None:
    ends = F32(np.arange(-(2**31), -(2**31) + 2**17, 128) * float(qparams.scale))
    some = patterns[:: 1 if share.complete else 4]
    x = np.concatenate([some, near_ties(qparams), ends, -ends])
    compare(name, x, codes_of(qparams.dtype), qparams)


@pytest.mark.parametrize(
    ("name", "shape", "axis"),
    [
        *(("torch_integers.CHANNEL", (16, -1, 32), axis) for axis in range(3)),
        ("executorch_integers.CHANNEL", (-1, 64), 1),
        ("torch_integers.TOKEN", (-1, 64), 0),
        ("executorch_integers.TOKEN", (-1, 64), 0),
    ],
)
def test_per_channel_and_token(
    name: str, shape: tuple[int, ...], axis: int, patterns: np.ndarray
) -> None:
    x = patterns.reshape(shape)
    compare(name, x, None, QParams(*scales_like((x.shape[axis],)), axis=axis))


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        *(("torch_integers.EAGER_TENSOR", dtype) for dtype in (np.int8, np.uint8)),
        ("torch_integers.EAGER_INT32", np.int32),
        *(("torch_integers.EAGER_CHANNEL", dtype) for dtype in (np.int8, np.uint8, np.int32)),
    ],
)
def test_quantized_tensors_of_torch(
    name: str, dtype: Any, patterns: np.ndarray, share: Share
) -> None:
    """A million values of each at thresholds, half of all, under 50 scales with --complete."""
    drawn, info, peer = np.random.default_rng(8), np.iinfo(dtype), adapter(name)
    choices, others = dict(word.split("=") for word in peer.INTEGERS.split()), 0
    for i in range(50 if share.complete else 5):
        scale, axis = F32(2.0 ** drawn.uniform(-20, 6)), i % 2 if "CHANNEL" in name else None
        zero = int(drawn.integers(max(info.min, -200), min(info.max, 300) + 1))
        codes = drawn.integers(max(info.min, -3000), min(info.max, 3000) + 1, 20_000) + 0.5
        middle = F32((codes - zero) * float(scale)).view(np.int32)
        near = (middle + drawn.integers(-3, 4, middle.size).astype(np.int32)).view(F32)
        x = np.concatenate([near, drawn.choice(patterns, near.size)])
        scales: Any = scale.item()
        zeros: Any = zero
        if axis is not None:
            x = x.reshape((8, -1) if axis == 0 else (-1, 8))
            scales, zeros = F32(scale * F32(np.arange(1, 9) / 8)), np.full(8, zero, np.int32)
            with np.errstate(all="ignore"):
                x = x * F32(scales / scale).reshape((8, 1) if axis == 0 else (1, 8))
        given = scales, zeros, int(info.min), int(info.max), np.dtype(dtype), axis
        want = peer.quantize_affine(x, *given)
        assert np.array_equal(quantize_affine(x, QParams(*given), **choices), want), given
        compared(name, "quantize_affine", x.size)
        others += np.count_nonzero(quantize_affine(x, QParams(*given), nan=choices["nan"]) != want)
    assert others > 5000


@pytest.mark.parametrize("name", ["torch_integers.GROUP", "torch_integers.TORCHAO"])
def test_groups(name: str, patterns: np.ndarray) -> None:
    x = np.where(np.isnan(patterns), F32(1), patterns).reshape(-1, 128)  # torch refuses NaN
    scales, zeros = scales_like((len(x), 4))
    compare(name, x, None, QParams(scales, zeros % 8, -8, 7, axis=1))


def scales_like(shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    drawn = np.random.default_rng(3)
    return F32(2.0 ** drawn.uniform(-14, 4, shape)), drawn.integers(-128, 128, shape)


# --- other functions of torch and ExecuTorch ------------------------------------------------------


@pytest.mark.parametrize("low", [-128, -127, -8])
def test_torch_observers(low: int) -> None:
    drawn = np.random.default_rng(4)
    high = -low - 1 if low != -127 else 127
    for symmetric in (False, True):
        scheme = "symmetric" if symmetric else "affine"
        options: dict[str, Any] = {"dtype": torch.qint8, "quant_min": low, "quant_max": high}
        for _ in range(200):
            x = F32(drawn.normal(size=9) * 2.0 ** drawn.integers(-40, 40) + drawn.normal())
            observer = MinMaxObserver(qscheme=getattr(torch, f"per_tensor_{scheme}"), **options)
            observer(torch.from_numpy(x))
            scale, zero = observer.calculate_qparams()
            got = choose_qparams(x.min(), x.max(), low, high, symmetric=symmetric)
            assert F32(got.scale).tobytes() == scale.numpy().tobytes()
            assert int(got.zero_point) == zero.item()
        channels = F32(drawn.normal(size=(50, 9)))
        channels[7] = 0
        observer = PerChannelMinMaxObserver(
            qscheme=getattr(torch, f"per_channel_{scheme}"), eps=2**-16, **options
        )
        observer(torch.from_numpy(channels))
        scale, zero = observer.calculate_qparams()
        ends = channels.min(1), channels.max(1)
        got = choose_qparams(*ends, low, high, axis=0, symmetric=symmetric, eps=2.0**-16)
        assert F32(got.scale).tobytes() == scale.numpy().tobytes()
        assert np.broadcast_to(got.zero_point, 50).tolist() == zero.tolist()


def test_torch_weight_int8pack_mm() -> None:
    drawn = np.random.default_rng(5)
    for k in (32, 64, 352):
        x, w = F32(drawn.normal(size=(3, k))), drawn.integers(-128, 128, (32, k)).astype(np.int8)
        scales = F32(drawn.uniform(0.001, 0.1, 32))
        want = torch._weight_int8pack_mm(*map(torch.from_numpy, (x, w, scales))).numpy()
        assert linear_qcs8w(x, w, scales, "dequantize").tobytes() == want.tobytes()
        compared("torch", "linear_qcs8w", want.size)


def test_torch_grid_sample_is_at_most_one_code_off() -> None:
    drawn, differing, count = np.random.default_rng(6), 0, 0
    for align, padding in itertools.product((False, True), ("zeros", "border")):
        image = drawn.integers(-127, 128, (3, 8, 9)).astype(np.int8)
        grid = drawn.integers(-32767, 32768, (64, 80, 2)).astype(np.int16)
        floats = dequantize_affine(image, SNORM8), dequantize_affine(grid, SNORM16)
        sampled = torch.nn.functional.grid_sample(
            *(torch.from_numpy(each)[None] for each in floats),
            padding_mode=padding,
            align_corners=align,
        )
        want = quantize_affine(sampled[0].numpy(), SNORM8)
        got = grid_sample(image, grid, align_corners=align, padding=padding)
        off = np.abs(got.astype(int) - want)
        assert off.max() <= 1
        differing, count = differing + np.count_nonzero(off), count + off.size
    assert 0 < differing < count / 500


def test_torch_ties_of_samples() -> None:
    """At halves and quarters of pixels torch's float32 is exact, and every code is the same.

    Quantized tensors round a tie to the even code. Dequantized, sampled and quantized it goes to an
    even number of steps from the zero point.
    """
    drawn, count, apart = np.random.default_rng(7), 0, []
    grid = np.int16(list(itertools.product((-32767, 0, 32767), repeat=2)))[np.newaxis]
    points = torch.from_numpy(F32(grid / 32767))[np.newaxis]
    for align, padding, zero in itertools.product(
        (False, True), ("zeros", "border"), (0, 1, 3, 100, 128, 131, 254, 255)
    ):
        image = drawn.integers(0, 256, (1024, 2, 2)).astype(np.uint8)
        how = {"padding_mode": padding, "align_corners": align}
        quantized = torch._make_per_tensor_quantized_tensor(
            torch.from_numpy(image)[None], 0.5, zero
        )
        theirs = torch.nn.functional.grid_sample(quantized, points, **how).int_repr()[0].numpy()
        floats = QParams(0.5, zero, 0, 255, np.uint8)
        sampled = torch.nn.functional.grid_sample(
            torch.from_numpy(dequantize_affine(image, floats))[None], points, **how
        )
        chain = quantize_affine(sampled[0].numpy(), floats)
        beside = {"align_corners": align, "padding": padding, "zero_point": zero}
        assert np.array_equal(grid_sample(image, grid, **beside), theirs)
        assert np.array_equal(grid_sample(image, grid, **beside, ties="even_step"), chain)
        compared("torch", "grid_sample", 2 * chain.size)
        count += theirs.size
        apart += [zero] * np.count_nonzero(theirs != chain)
    assert count == 294_912
    assert len(apart) > 20_000
    assert {zero % 2 for zero in apart} == {1}


def test_executorch_linear_qcs4w_forgets_the_offset() -> None:
    import executorch.backends.vulkan.custom_ops_lib  # noqa: F401 (it registers the operator)

    x, weights = F32([[1, 2, 4, 8]]), np.int8([[-8, 7, 0, -1], [1, 2, 3, -4]])
    packed, scales = pack_int4(weights), F32([0.5, 0.25])
    theirs = torch.ops.et_vk.linear_qcs4w(*map(torch.from_numpy, (x, packed, scales)))
    assert theirs.tolist() == [[59.0, 26.25]]
    assert linear_qcs4w(x, packed, scales).tolist() == [[-1, -3.75]]
    assert linear_qcs8w(x, weights + 8, scales).tolist() == [[59.0, 26.25]]


def test_torch_samples_as_numbers() -> None:
    """torch's vectorised kernel, bit for bit: all paddings and both modes, batches, two scales."""
    drawn, count = np.random.default_rng(8), 0
    for align, padding, mode, shape in itertools.product(
        (False, True),
        ("zeros", "border", "reflection"),
        ("bilinear", "nearest"),
        ((1, 1), (2, 3), (64, 300)),
    ):
        how: dict[str, Any] = {"align_corners": align, "padding": padding, "mode": mode}
        image = drawn.integers(-128, 128, (2, 3, *shape)).astype(np.int8)
        grid = drawn.integers(-32768, 32768, (2, 100, 101, 2))
        sides = np.maximum(2 * (np.array(shape[::-1]) - drawn.integers(0, 2)), 1)
        half = drawn.integers(0, 1 << 30, (2, 40, 101, 2)) % (sides + 1)
        grid[:, :40] = -32767 + half * 65534 // sides + drawn.integers(-1, 2, half.shape)
        grid = grid.clip(-32768, 32767).astype(np.int16)
        for qparams in (SNORM8, QParams(F32(0.3), 3)):
            floats = dequantize_affine(image, qparams), dequantize_affine(grid, SNORM16)
            theirs = torch.nn.functional.grid_sample(
                *map(torch.from_numpy, floats), mode=mode, padding_mode=padding, align_corners=align
            ).numpy()
            got = grid_sample_values(image, grid, qparams, arithmetic="float32", **how)
            assert got.tobytes() == theirs.tobytes()
            low, high = grid_sample_bounds(image, grid, qparams, **how)
            assert ((low <= theirs) & (theirs <= high)).all()
            compared("torch", "grid_sample_values", got.size)
            count += got.size
    assert count == 4_363_200

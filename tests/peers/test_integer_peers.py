"""Integer operations beside torch, ExecuTorch's C++ kernels, ONNX's reference and onnxruntime.

A sixteenth of the patterns run by default, 2**22 for each set of parameters with --complete.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
import torch.ao.quantization.fx._decomposed
from executorch.kernels import quantized  # noqa: F401 (it registers the `.out` overloads)
from onnx.reference import ReferenceEvaluator
from shares import Share
from torch.ao.quantization import MinMaxObserver, PerChannelMinMaxObserver
from torchao.quantization import quant_primitives

from mxref.integer import (
    SNORM8,
    SNORM16,
    QParams,
    choose_qparams,
    dequantize_affine,
    grid_sample,
    linear_qcs4w,
    linear_qcs8w,
    pack_int4,
    quantize_affine,
)

OPS = torch.ops.quantized_decomposed
F32 = np.float32
SETS = [
    SNORM8,
    QParams(F32(0.013)),
    QParams(F32(0.1), 3, -8, 7),
    QParams(F32(1 / 255), -128),
    QParams(F32(0.3), 128, 0, 255, np.uint8),
    SNORM16,
    QParams(F32(2.0**-16), -77, -32768, 32767, np.int16),
    QParams(F32(0.1), 0, -(2**31), 2**31 - 1, np.int32),
]
POLICIES = {"torch": {"nan": "zero"}, "executorch": {"nan": "lowest", "infinite": "lowest"}}


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


def range_of(qparams: QParams) -> tuple[int, int, torch.dtype]:
    return qparams.quant_min, qparams.quant_max, getattr(torch, str(qparams.dtype))


def asked(qparams: QParams) -> tuple[float, int, int, int, torch.dtype]:
    return float(qparams.scale), int(qparams.zero_point), *range_of(qparams)


def codes_of(qparams: QParams) -> np.ndarray:
    """All codes of 8 and 16 bits, and some of 32."""
    info = np.iinfo(qparams.dtype)
    if info.bits == 32:
        return np.random.default_rng(2).integers(info.min, info.max, 1 << 16).astype(np.int32)
    return np.arange(info.min, info.max + 1).astype(qparams.dtype)


# --- torch and ExecuTorch -------------------------------------------------------------------------


def peer(who: str, op: str, x: np.ndarray, *rest: Any, dtype: torch.dtype) -> np.ndarray:
    """What torch or ExecuTorch's kernels answer, in a dtype."""
    given = torch.from_numpy(x), *rest
    if who == "torch":
        answer: np.ndarray = getattr(OPS, op)(*given).numpy()
        return answer
    out = torch.empty(x.shape, dtype=dtype)
    getattr(OPS, op).out(*given, out=out)
    return out.numpy()


@pytest.mark.parametrize("who", POLICIES)
@pytest.mark.parametrize("qparams", SETS, ids=range(len(SETS)))
def test_per_tensor(who: str, qparams: QParams, patterns: np.ndarray) -> None:
    policy, rest = POLICIES[who], asked(qparams)
    if who == "torch" and qparams.dtype == np.int32:
        policy = policy | {"int32": "wrap"}
    codes = codes_of(qparams)
    numbers = peer(who, "dequantize_per_tensor", codes, *rest, dtype=torch.float32)
    assert dequantize_affine(codes, qparams).tobytes() == numbers.tobytes()
    for x in (patterns, near_ties(qparams), numbers):
        want = peer(who, "quantize_per_tensor", x, *rest, dtype=rest[-1])
        assert quantize_affine(x, qparams, **policy).tobytes() == want.tobytes()


@pytest.mark.parametrize(
    ("who", "kind", "axis"),
    [
        *(("torch", "channel", axis) for axis in range(3)),
        ("executorch", "channel", 1),
        ("torch", "token", 0),
        ("executorch", "token", 0),
    ],
)
def test_per_channel_and_token(who: str, kind: str, axis: int, patterns: np.ndarray) -> None:
    x = patterns.reshape((16, -1, 32) if (who, kind) == ("torch", "channel") else (-1, 64))
    scales, zeros = scales_like((x.shape[axis],))
    where = (axis,) if kind == "channel" else ()
    wide = scales.astype(np.float64) if who == "executorch" else scales
    given = [torch.from_numpy(one) for one in (wide, zeros)]
    given = given if kind == "channel" else [one[:, None] for one in given]
    rest = (*given, *where, -128, 127, torch.int8)
    codes = peer(who, f"quantize_per_{kind}", x, *rest, dtype=torch.int8)
    last = (torch.float32,) if kind == "token" else ()
    op = f"dequantize_per_{kind}"
    numbers = peer(who, op, codes, *rest, *last, dtype=torch.float32)
    qparams = QParams(scales, zeros, axis=axis)
    policy = POLICIES[who]
    if (who, kind) == ("torch", "token"):
        policy = policy | {"zero_point": "before"}
    assert np.array_equal(quantize_affine(x, qparams, **policy), codes)
    assert dequantize_affine(codes, qparams).tobytes() == numbers.tobytes()


@pytest.mark.parametrize("scale", [0.013, 0.1, 0.3, 1 / 127, 1 / 255, 1 / 3])
def test_torch_with_a_python_float(scale: float, patterns: np.ndarray) -> None:
    qparams = QParams(scale, 5)
    for x in (patterns[: 1 << 16], near_ties(qparams)):
        want = OPS.quantize_per_tensor(torch.from_numpy(x), scale, 5, -128, 127, torch.int8)
        got = quantize_affine(x, qparams, nan="zero", scale_type="float64")
        assert np.array_equal(got, want.numpy())


def scales_like(shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    drawn = np.random.default_rng(3)
    return F32(2.0 ** drawn.uniform(-14, 4, shape)), drawn.integers(-128, 128, shape)


def test_torch_per_group(patterns: np.ndarray) -> None:
    x = np.where(np.isnan(patterns), F32(1), patterns).reshape(-1, 128)  # it refuses NaN
    scales, zeros = scales_like((len(x), 4))
    rest = (torch.from_numpy(scales), torch.from_numpy(zeros), -8, 7, torch.int8, 32)
    zeros %= 8
    want = OPS.quantize_per_channel_group(torch.from_numpy(x), *rest).numpy()
    qparams = QParams(scales, zeros, -8, 7, axis=1)
    assert np.array_equal(quantize_affine(x, qparams, zero_point="before"), want)
    numbers = OPS.dequantize_per_channel_group(torch.from_numpy(want), *rest, torch.float32)
    assert dequantize_affine(want, qparams).tobytes() == numbers.numpy().tobytes()


def test_torchao_in_groups(patterns: np.ndarray) -> None:
    x = np.where(np.isnan(patterns), F32(1), patterns).reshape(-1, 128)
    scales, zeros = scales_like((len(x), 4))
    want = quant_primitives.quantize_affine(
        torch.from_numpy(x), (1, 32), torch.from_numpy(scales), torch.from_numpy(zeros), torch.int8
    )
    assert np.array_equal(quantize_affine(x, QParams(scales, zeros, axis=1)), want.numpy())


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


@pytest.mark.filterwarnings("ignore")
def test_executorch_linear_qcs4w_forgets_the_offset() -> None:
    import executorch.backends.vulkan.custom_ops_lib  # noqa: F401 (it registers the operator)

    x, weights = F32([[1, 2, 4, 8]]), np.int8([[-8, 7, 0, -1], [1, 2, 3, -4]])
    packed, scales = pack_int4(weights), F32([0.5, 0.25])
    theirs = torch.ops.et_vk.linear_qcs4w(*map(torch.from_numpy, (x, packed, scales)))
    assert theirs.tolist() == [[59.0, 26.25]]
    assert linear_qcs4w(x, packed, scales).tolist() == [[-1, -3.75]]
    assert linear_qcs8w(x, weights + 8, scales).tolist() == [[59.0, 26.25]]


# --- ONNX -----------------------------------------------------------------------------------------


def model(dtype: Any, *, opset: int = 21) -> onnx.ModelProto:
    kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    value, number = onnx.helper.make_tensor_value_info, onnx.TensorProto.FLOAT
    node = onnx.helper.make_node("QuantizeLinear", ["x", "scale", "zero_point"], ["y"])
    inputs = [value("x", number, [None]), value("scale", number, []), value("zero_point", kind, [])]
    graph = onnx.helper.make_graph([node], "one", inputs, [value("y", kind, [None])])
    opsets = [onnx.helper.make_opsetid("", opset)]
    return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10)


def onnx_sets() -> Iterator[QParams]:
    for dtype, scale in itertools.product((np.int8, np.uint8, np.int16, np.uint16), (0.013, 0.1)):
        info = np.iinfo(dtype)
        for zero_point in (0, info.min + 3, info.max - 20):
            if zero_point >= info.min:
                yield QParams(F32(scale), zero_point, info.min, info.max, dtype)


@pytest.mark.parametrize("who", ["onnxruntime", "onnx"])
def test_onnx_quantize_linear(who: str, patterns: np.ndarray, share: Share) -> None:
    for qparams in onnx_sets():
        x = np.concatenate([patterns[:: 1 if share.complete else 4], near_ties(qparams)])
        ends = np.arange(-(2**31), -(2**31) + 2**17, 128) * float(qparams.scale)
        x = np.concatenate([x, F32(ends), -F32(ends)])
        zero = np.array(qparams.zero_point, qparams.dtype)
        inputs = {"x": x, "scale": np.array(qparams.scale, F32), "zero_point": zero}
        proto = model(qparams.dtype)
        if who == "onnx":
            with np.errstate(all="ignore"):
                (want,) = ReferenceEvaluator(proto).run(None, inputs)
            policy = {"nan": "int32_min", "infinite": "int32_min"}
        else:
            session = onnxruntime.InferenceSession(
                proto.SerializeToString(), providers=["CPUExecutionProvider"]
            )
            (want,) = session.run(None, inputs)
            policy = {"nan": "lowest"}
        got = quantize_affine(x, qparams, scaling="divide", **policy)
        wrong = np.flatnonzero(got != want)
        assert len(wrong) == 0, (qparams, x[wrong[:5]], got[wrong[:5]], want[wrong[:5]], len(wrong))

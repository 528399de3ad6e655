"""Targets in torch: its arrays taken and given, with its bfloat16, float8 and packed float4."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from helpers import VECTORS
from needs import not_run

import mxref
from mxref import golden
from mxref.conformance import Extent, check, target_of, verify
from mxref.conformance.checking.array_memory import PLACED, STRIDE_0, laid
from mxref.targets.array_libraries import at_offset, host_array, library_of
from mxref.targets.calls import strided

FLOAT8 = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
EXPONENT_BITS = {torch.bfloat16: (torch.int16, 7), torch.float32: (torch.int32, 23)}
BF16 = ml_dtypes.bfloat16


class Kernel:
    """Right, in torch alone: casts, and blocks of FP8 on exact powers of two."""

    ARRAYS = "torch"
    DEVICE = "cpu"
    FORMATS = ("e4m3", "e5m2", "mxfp8_e4m3")
    FLOATS = ("f32", "f16", "bf16")  # float64 is cast by way of float32, rounded twice

    def encode(self, values: torch.Tensor, format: str) -> torch.Tensor:
        """Codes in torch's own dtype; every other one of a larger tensor."""
        return values.to(FLOAT8[format]).repeat_interleave(2)[::2]

    def decode(self, codes: torch.Tensor, format: str) -> torch.Tensor:
        """As a tensor that requires a gradient."""
        return codes.view(FLOAT8[format]).float().requires_grad_()

    def dequantize(
        self, scales: torch.Tensor, codes: torch.Tensor, block_format: str, dtype: torch.dtype
    ) -> torch.Tensor:
        """The product is exact in float32, or infinite: beyond its range."""
        assert (block_format, scales.dtype, codes.dtype) == ("mxfp8_e4m3", torch.uint8, torch.uint8)
        powers = torch.ldexp(torch.ones(len(scales)).double(), scales.int() - 127)
        powers[scales == 255] = torch.nan
        values = codes.view(torch.float8_e4m3fn).double() * powers[:, None]
        return torch.nn.Parameter(values.float().to(dtype))

    def quantize(self, values: torch.Tensor, block_format: str) -> tuple[torch.Tensor, ...]:
        """Scales as float8_e8m0fnu, elements as float8_e4m3fn."""
        assert block_format == "mxfp8_e4m3"
        values = values.double()
        amax = values.abs().amax(1)
        finite = amax.isfinite() & (amax > 0)
        exponent = torch.frexp(torch.where(finite, amax, 1.0)).exponent - 1 - 8
        exponent = exponent.clamp(-127, 127)
        scaled = torch.ldexp(values, -exponent[:, None]).clamp(-448, 448)
        scales = torch.where(finite, exponent + 127, torch.where(amax == 0, 0, 255))
        codes = scaled.float().to(torch.float8_e4m3fn).view(torch.uint8)
        codes = torch.where(scales[:, None] == 255, torch.zeros_like(codes), codes)
        return scales.to(torch.uint8).view(torch.float8_e8m0fnu), codes.view(torch.float8_e4m3fn)


#: The cast to E4M3 saturates, that to E5M2 does not.
POLICIES = {"e4m3": "ocp", "e5m2": "ocp+overflow=nonsaturating"}


def files(*stems: str) -> list[golden.VectorFile]:
    found = golden.read_vectors(VECTORS, stems.__contains__)
    assert len(found) == len(stems)
    return found


def casts(format: str) -> list[golden.VectorFile]:
    floats = [f"encode/{format}.{float}" for float in ("f32", "f16", "bf16")]
    return files(*floats, f"decode/{format}.f32")


@pytest.mark.parametrize("format", FLOAT8)
def test_casts_conform(format: str) -> None:
    policy = mxref.Policy.parse(POLICIES[format])
    report = verify(target_of(Kernel(), "torch"), casts(format), policy)
    assert [failure.case.id for _, failure in report.failures] == []
    assert (report.compared > 5_000, report.not_covered) == (True, ())
    # The other one's policy is not its own.
    (other,) = set(POLICIES.values()) - {POLICIES[format]}
    assert verify(target_of(Kernel(), "torch"), casts(format), mxref.Policy.parse(other)).failures


@pytest.mark.parametrize(
    ("stem", "least"),
    [
        ("dequantize/mxfp8_e4m3.bf16", 10),
        *((f"quantize/mxfp8_e4m3.{float}", 50) for float in ("bf16", "f32", "f16")),
    ],
)
def test_products_and_blocks_conform(stem: str, least: int) -> None:
    report = verify(target_of(Kernel(), "torch"), files(stem))
    assert [failure.case.id for _, failure in report.failures] == []
    assert (report.compared > least, report.verdict) == (True, "conforms")


def test_a_bug_is_found_in_torch_as_well() -> None:
    module = Kernel()
    # Through float16 first: rounded twice, and NaN where float16 overflows.
    module.encode = lambda values, format: values.half().to(FLOAT8[format])  # type: ignore[method-assign]
    report = verify(target_of(module, "twice"), files("encode/e5m2.f32"))
    assert report.failures
    assert all(failure.got is not None for _, failure in report.failures)


@pytest.mark.parametrize("kind", range(3))
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, BF16, np.uint8, np.uint32])
def test_tensors_have_the_bits_and_the_strides(dtype: Any, kind: int) -> None:
    array = strided(np.arange(1, 13).astype(dtype).reshape(3, 4), kind, 99)
    tensor = library_of("torch", "cpu").array(array)
    assert tensor.dtype == getattr(torch, np.dtype(dtype).name)
    back = host_array(tensor)
    assert (back.dtype, back.tobytes()) == (array.dtype, array.tobytes())
    if kind < 2:  # torch has no negative strides
        assert [s * array.itemsize for s in tensor.stride()] == list(array.strides)


@pytest.mark.parametrize("memory", [*PLACED, STRIDE_0])
@pytest.mark.parametrize("dtype", [np.float32, BF16, np.uint8])
def test_tensors_lie_as_the_arrays_of_a_check_do(dtype: Any, memory: int) -> None:
    array = laid(np.tile(np.arange(1, 41), (5, 1)).astype(dtype), memory)
    tensor = library_of("torch", "cpu").array(array)
    assert host_array(tensor).tobytes() == array.tobytes()
    # torch has no negative strides and nothing read-only; what lies between is copied as well.
    kept = laid(array, 0) if memory in (4, 6, 9) else array
    assert [step * array.itemsize for step in tensor.stride()] == list(kept.strides)
    if kept is array:
        assert tensor.data_ptr() % 16 == array.ctypes.data % 16
    other = library_of("torch", "meta").array(array)
    assert other.stride() == tensor.stride()
    reach = other.untyped_storage().nbytes()
    assert reach < 1 << 20


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda x: 0 in x.stride(), "arrays with a stride of 0"),
        (lambda x: x.stride(0) < 0 or 1 < x.stride(0) < 99, "arrays with gaps in memory"),
        (lambda x: x.stride(0) > 1 << 13, "arrays with 64 KiB and more between their rows"),
    ],
)
def test_a_kernel_is_given_tensors_that_are_not_contiguous(wrong: Any, said: str) -> None:
    def encode(values: torch.Tensor, format: str) -> torch.Tensor:
        codes = values.to(FLOAT8[format]).view(torch.uint8)
        return codes ^ 1 if wrong(values) else codes

    module = SimpleNamespace(encode=encode, ARRAYS="torch", POLICY="ocp+overflow=nonsaturating")
    extent = Extent(elements=100, search=False)
    (use,) = check(target_of(module, "torch"), files("encode/e5m2.f32"), extent=extent).uses
    assert use.text.startswith(f"wrong only in calls with {said}: with 33 numbers, ")


def test_no_tensor_reaches_over_memory_that_a_copy_of_it_would_fill() -> None:
    array = laid(np.ones((33, 32), np.float32), 9)
    assert array.strides[0] * 32 > 1 << 32
    reach = library_of("torch").array(array).untyped_storage().nbytes()
    assert reach == array.nbytes


def test_an_array_that_is_given_twice_is_one_tensor() -> None:
    array = np.arange(6, dtype=np.uint8)
    call = library_of("torch").taking(lambda *tensors: tensors)
    a, b, c = call(array, array, array.copy())
    assert (a is b, a is c) == (True, False)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, BF16, np.uint8, np.uint32])
@pytest.mark.parametrize("offset", [0, 1, 3, 7])
def test_tensors_start_where_the_array_does(dtype: Any, offset: int) -> None:
    array = at_offset(np.arange(12).astype(dtype).reshape(3, 4), offset)
    past = array.ctypes.data % 16
    for values in (array, array.T, array[:, ::2], array[:0]):
        tensor = library_of("torch").array(values)
        assert host_array(tensor).tolist() == values.tolist()
        assert tensor.data_ptr() % 16 == past * bool(values.size)
        # "meta" has no memory: the place in it is all that can be asked.
        other = library_of("torch", "meta").array(values)
        assert other.storage_offset() * array.itemsize == past * bool(values.size)
        assert (other.shape, other.stride()) == (tensor.shape, tensor.stride())


def test_all_bits_of_bfloat16_there_and_back() -> None:
    bits = np.arange(1 << 16, dtype=np.uint16)
    tensor = library_of("torch").array(bits.view(BF16))
    assert torch.equal(tensor.view(torch.int16), torch.from_numpy(bits.view(np.int16)))
    assert host_array(tensor).view(np.uint16).tolist() == bits.tolist()


def test_tensors_that_wait_for_something() -> None:
    # DLPack exports the first of these with the wrong sign, and refuses the others.
    negative = torch.view_as_complex(torch.tensor([[1.0, 2.0]])).conj().imag
    assert (negative.is_neg(), host_array(negative).tolist()) == (True, [-2.0])
    grown = torch.ones(2, requires_grad=True) * 3
    assert host_array(grown).tolist() == [3.0, 3.0]
    conjugated = torch.tensor([1 + 2j]).conj()
    assert (conjugated.is_conj(), host_array(conjugated).tolist()) == (True, [1 - 2j])


def test_packed_float4_is_bytes() -> None:
    codes = np.random.default_rng(4).integers(0, 16, 64).astype(np.uint8)

    def pack(codes: torch.Tensor, format: str) -> torch.Tensor:
        codes = torch.cat([codes, codes.new_zeros(len(codes) % 2)])
        return (codes[::2] | codes[1::2] << 4).view(torch.float4_e2m1fn_x2)

    module = SimpleNamespace(pack=pack, ARRAYS="torch", FORMATS=["e2m1"])
    report = verify(target_of(module, "packs"), files("pack/e2m1.bytes"))
    assert (report.failures, report.verdict) == ([], "conforms")
    packed = host_array(pack(torch.from_numpy(codes), "e2m1"))
    assert np.array_equal(packed, mxref.pack(codes, "e2m1"))
    # A packed answer where codes are wanted is told from wrong codes.
    module = SimpleNamespace(encode=lambda v, f: pack(v.to(torch.uint8), f), ARRAYS="torch")
    report = verify(target_of(module, "packs"), files("encode/e2m1.f32"))
    assert "one code to a byte, unpack it first" in report.failures[0][1].error


def test_casts_on_the_gpu_conform() -> None:
    if not torch.cuda.is_available():
        not_run("a GPU")
    module = Kernel()
    module.DEVICE = "cuda"
    asked = [*casts("e4m3"), *files("dequantize/mxfp8_e4m3.bf16", "quantize/mxfp8_e4m3.bf16")]
    report = verify(target_of(module, "torch"), asked)
    assert [failure.case.id for _, failure in report.failures] == []
    assert report.passed

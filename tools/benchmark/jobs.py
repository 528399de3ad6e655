"""Jobs: an operation on a format with its data, and mxref's side of it."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mxref
from mxref.bits.floats import F32, LAYOUTS, U8
from mxref.formats.catalog import code_format
from mxref.policy.policy import Policy
from mxref.support.text import refuse_unknown, unknown_name

__all__ = [
    "DATA",
    "FLOATS",
    "OPS",
    "Job",
    "Side",
    "bits_of_array",
    "block_bits",
    "blocks_of",
    "codes_of_job",
    "own",
    "values_of",
]

_ELEMENTS = ("e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "int8")
_BLOCKS = ("mxfp8_e5m2", "mxfp8_e4m3", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4_e2m1", "mxint8")
_NARROW = ("e3m2", "e2m3", "e2m1")
#: The operations and the formats that each is measured on.
OPS: Mapping[str, tuple[str, ...]] = {
    "encode": _ELEMENTS,
    "decode": _ELEMENTS,
    "quantize": _BLOCKS,
    "dequantize": _BLOCKS,
    "pack": _NARROW,
    "unpack": _NARROW,
}
#: Float types of inputs and outputs.
FLOATS = ("f32", "bf16")
#: Distributions of the random values.
DATA = ("normal", "log_uniform")
#: Exponents of log-uniform data: from below the smallest to above the largest number of every
#: format.
_EXPONENTS = (-24, 16)
#: Random bits of the stochastic roundings.
_WIDTH = 8


@dataclass(frozen=True, slots=True)
class Job:
    """One operation to measure.

    Args:
        op: the operation, one of `OPS`.
        format: an element format or a block format.
        shape: shape of the tensor: whole blocks along its last axis.
        float: float type of the input or output: f32 or bf16.
        data: "normal", or "log_uniform": random signs and significands, exponents from -24 to 15.
        threads: number of threads.
        choices: choices of the policy that are not the default's.

    Raises:
        ValueError: an unknown name, or a shape without whole blocks.

    >>> Job("quantize", "mxfp4_e2m1", (2, 64)).elements
    128
    """

    op: str
    format: str
    shape: tuple[int, ...]
    float: str = "f32"
    data: str = "normal"
    threads: int = 1
    choices: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        refuse_unknown("op", [self.op], OPS)
        if self.format not in OPS[self.op]:
            legal = dict.fromkeys(OPS[self.op])
            raise ValueError(unknown_name(f"format of {self.op}", self.format, legal))
        refuse_unknown("float", [self.float], FLOATS)
        refuse_unknown("data", [self.data], DATA)
        if not self.shape or self.shape[-1] % 32 or min(self.shape) < 1:
            raise ValueError(f"shape must end in a multiple of 32, got {self.shape}")

    def __str__(self) -> str:
        """The job in words, without its choices."""
        words = (self.op, self.format, self.float, self.data, self.elements)
        return " ".join(map(str, words)) + (f" x{self.threads}" if self.threads > 1 else "")

    @property
    def elements(self) -> int:
        """Number of elements of the tensor."""
        return math.prod(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the input or output."""
        return LAYOUTS[self.float].dtype

    @property
    def element(self) -> str:
        """The element format."""
        return self.format.removeprefix("mx").rpartition("_")[2]

    @property
    def small(self) -> str:
        """The name of the element format in ml_dtypes and torch."""
        return code_format(self.element).dtype_name or ""


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two implementations that a row compares.

    Args:
        call: the timed call; it computes its result anew each time.
        answer: converts a result to the bits that mxref gives: for `quantize` the scale codes, then
            the element codes, one to a byte. None if the library returns no codes.
        values: converts a result of `quantize` to float32 patterns of its numbers; for libraries
            that return only these.
    """

    call: Callable[[], Any]
    answer: Callable[[Any], NDArray[Any]] | None
    values: Callable[[Any], NDArray[Any]] | None = None


def values_of(job: Job) -> NDArray[Any]:
    """The input values of a job, in its shape and dtype; the same at every call."""
    return _values(job.shape, job.data, job.float)


@functools.lru_cache(maxsize=2)  # a tensor may be large
def _values(shape: tuple[int, ...], data: str, float: str) -> NDArray[Any]:
    generator = np.random.default_rng(0)
    if data == "normal":
        values = generator.standard_normal(shape, np.float32)
    else:
        bits = generator.integers(0, 1 << 32, shape, np.uint32)
        bits &= np.uint32(F32.sign_bit | ((1 << F32.mantissa_bits) - 1))
        exponents = generator.integers(*_EXPONENTS, shape, np.int32) + F32.bias
        values = (bits | exponents.astype(np.uint32) << np.uint32(F32.mantissa_bits)).view("f4")
    return values.astype(LAYOUTS[float].dtype)


def codes_of_job(job: Job) -> U8:
    """The input codes of a job: its values encoded."""
    return mxref.encode(values_of(job), job.element)


def blocks_of(job: Job) -> mxref.Blocks:
    """The input blocks of a job: its values quantized."""
    return mxref.quantize(values_of(job), job.format)


def own(job: Job, model: Any = mxref) -> Side:
    """Mxref's side of a job.

    Args:
        job: the operation to measure.
        model: mxref itself, or a profile, whose functions take neither threads nor choices.
    """
    name, options = job.format, dict[str, Any](job.choices)
    if model is mxref:
        if "threads" in inspect.signature(getattr(mxref, job.op)).parameters:
            options["threads"] = job.threads
        options |= _random_bits(job)
    function = functools.partial(getattr(model, job.op), **options)
    if job.op == "quantize":
        x = values_of(job)
        return Side(lambda: function(x, name), _blocks_answer, _blocks_values)
    if job.op == "dequantize":
        blocks = blocks_of(job)
        return Side(lambda: function(blocks, job.dtype), bits_of_array)
    if job.op == "encode":
        x = values_of(job)
        return Side(lambda: function(x, name), bits_of_array)
    codes = codes_of_job(job)
    if job.op == "decode":
        return Side(lambda: function(codes, name, job.dtype), bits_of_array)
    if job.op == "pack":
        return Side(lambda: function(codes, name), bits_of_array)
    packed = mxref.pack(codes, name)
    return Side(lambda: function(packed, name, job.shape[-1]), bits_of_array)


def _random_bits(job: Job) -> dict[str, Any]:
    if not Policy().replace(**job.choices).element.rounding.stochastic:
        return {}
    bits = np.random.default_rng(1).integers(0, 1 << _WIDTH, job.shape, np.uint32)
    return {"random_bits": bits, "random_width": _WIDTH}


def bits_of_array(array: NDArray[Any]) -> NDArray[Any]:
    """The bit patterns of an array, flat.

    >>> bits_of_array(np.float32([[1, -2]])).tolist() == [0x3F800000, 0xC0000000]
    True
    """
    return np.ascontiguousarray(array).reshape(-1).view(f"u{array.dtype.itemsize}")


def block_bits(scale_codes: NDArray[Any], codes: NDArray[Any]) -> U8:
    """Scale codes and element codes as one array of bytes."""
    both = [np.asarray(one).reshape(-1).view(np.uint8) for one in (scale_codes, codes)]
    return np.concatenate(both)


def _blocks_answer(blocks: mxref.Blocks) -> U8:
    return block_bits(blocks.scale_codes, blocks.codes)


def _blocks_values(blocks: mxref.Blocks) -> NDArray[Any]:
    return bits_of_array(blocks.dequantize())

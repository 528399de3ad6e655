"""What is measured: an operation on a format with data, and mxref's side of it."""

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
#: Operations, with the formats that they are measured on.
OPS: Mapping[str, tuple[str, ...]] = {
    "encode": _ELEMENTS,
    "decode": _ELEMENTS,
    "quantize": _BLOCKS,
    "dequantize": _BLOCKS,
    "pack": _NARROW,
    "unpack": _NARROW,
}
#: Types of values that go in or come out.
FLOATS = ("f32", "bf16")
#: What random numbers the values are.
DATA = ("normal", "log_uniform")
#: Magnitudes of log-uniform data: they begin below the smallest and end above the largest number
#: of every format.
_EXPONENTS = (-24, 16)
#: Random bits of the stochastic roundings.
_WIDTH = 8


@dataclass(frozen=True, slots=True)
class Job:
    """What is measured.

    Args:
        op: the operation, one of `OPS`.
        format: its element format, or block format.
        shape: of the tensor, whole blocks along its last axis.
        float: type of the values that go in or come out: f32 or bf16.
        data: "normal", or "log_uniform": random signs and significands, exponents from -24 to 15.
        threads: how many compute.
        choices: single choices of the policy.

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
        """What is measured, in words, without the choices."""
        words = (self.op, self.format, self.float, self.data, self.elements)
        return " ".join(map(str, words)) + (f" x{self.threads}" if self.threads > 1 else "")

    @property
    def elements(self) -> int:
        """How many elements the tensor has."""
        return math.prod(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the values."""
        return LAYOUTS[self.float].dtype

    @property
    def element(self) -> str:
        """The element format."""
        return self.format.removeprefix("mx").rpartition("_")[2]

    @property
    def small(self) -> str:
        """Its name in ml_dtypes and torch."""
        return code_format(self.element).dtype_name or ""


@dataclass(frozen=True, slots=True)
class Side:
    """One of two that are compared.

    Args:
        call: what is timed; it makes its results anew every time.
        answer: the bits of such a result, in mxref's terms: of `quantize` the scale codes, then the
            codes, one to a byte.
        values: the numbers of a result of `quantize` as float32 patterns, for those that give
            nothing else; a side with these alone has no `answer`.
    """

    call: Callable[[], Any]
    answer: Callable[[Any], NDArray[Any]] | None
    values: Callable[[Any], NDArray[Any]] | None = None


def values_of(job: Job) -> NDArray[Any]:
    """The values that go in, of the job's shape and dtype: the same ones every time."""
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
    """Element codes that go in: those of the values."""
    return mxref.encode(values_of(job), job.element)


def blocks_of(job: Job) -> mxref.Blocks:
    """Blocks that go in: those of the values."""
    return mxref.quantize(values_of(job), job.format)


def own(job: Job, model: Any = mxref) -> Side:
    """Mxref's side.

    Args:
        job: what is measured.
        model: whose functions are called: mxref's own, or those of a profile, which answers as an
            implementation does and takes neither threads nor choices.
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
    """The patterns of an array, flat.

    >>> bits_of_array(np.float32([[1, -2]])).tolist() == [0x3F800000, 0xC0000000]
    True
    """
    return np.ascontiguousarray(array).reshape(-1).view(f"u{array.dtype.itemsize}")


def block_bits(scale_codes: NDArray[Any], codes: NDArray[Any]) -> U8:
    """The answer of `quantize`: scale codes, then codes."""
    both = [np.asarray(one).reshape(-1).view(np.uint8) for one in (scale_codes, codes)]
    return np.concatenate(both)


def _blocks_answer(blocks: mxref.Blocks) -> U8:
    return block_bits(blocks.scale_codes, blocks.codes)


def _blocks_values(blocks: mxref.Blocks) -> NDArray[Any]:
    return bits_of_array(blocks.dequantize())

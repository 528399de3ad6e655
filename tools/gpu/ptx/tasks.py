"""What the kernels are asked: numbers, and what mxref makes of them."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

import mxref
from ptx.fastpath import ELEMENTS
from ptx.tensors import Task

__all__ = [
    "FLOATS",
    "Chance",
    "decoded",
    "every_scale",
    "level1",
    "matrix",
    "numbers",
    "philox",
    "task_of",
    "tensors",
]

Array = NDArray[Any]
VECTORS = Path(__file__).resolve().parents[3] / "vectors" / "plain"
#: The unsigned type, the type of NumPy, and the pattern of infinity of a float.
FLOATS: dict[str, tuple[Any, Any, int]] = {
    "f32": (np.uint32, np.float32, 0x7F800000),
    "bf16": (np.uint16, ml_dtypes.bfloat16, 0x7F80),
    "f16": (np.uint16, np.float16, 0x7C00),
}


@dataclass(frozen=True, slots=True)
class Chance:
    """How numbers are rounded by chance.

    Args:
        seed: the key of Philox.
        width: how many random bits a number has.
        firsts: the index of the first number of each line; lines behind each other, if None.
    """

    seed: int
    width: int
    firsts: tuple[int, ...] | None = None

    def bits(self, lines: int, length: int) -> Array:
        """The bits of each number: a line is filled up to whole blocks."""
        padded = -(-length // 32) * 32
        firsts = np.array(self.firsts or np.arange(lines) * padded, np.uint64)
        words = philox(self.seed, (firsts // 4)[:, None] + np.arange(padded // 4, dtype=np.uint64))
        return (words.reshape(lines, padded) >> np.uint64(32 - self.width))[:, :length]


@functools.cache
def level1(op: str, format: str, float: str, *, packed: bool) -> Task:
    """All cases of a file of `quantize` or `dequantize`, a line each."""
    lines = (VECTORS / op / f"{format}.{float}.txt").read_text("ascii").splitlines()
    table = np.array([[int(word, 16) for word in line.split()] for line in lines], np.uint64)
    size, kind = ELEMENTS[format][2], FLOATS[float][0]
    tensors = np.full(len(table), 0x3F800000, np.uint64)
    if format == "nvfp4":
        tensors, table = table[:, 0], table[:, 1:]
    order = [size, 1, size] if op == "quantize" else [1, size, size]
    parts = np.split(table, np.cumsum(order)[:-1], axis=1)
    values, scales, codes = parts if op == "quantize" else (parts[2], parts[0], parts[1])
    return Task(
        format, packed, values.astype(kind), scales.astype(np.uint8), codes.astype(np.uint8),
        tensors, infinity=FLOATS[float][2],
    )  # fmt: skip


def tensors(format: str, float: str, *, packed: bool) -> Iterator[Task]:
    """The cases of a file of `quantize_tensor` with numbers: blocks along rows or columns."""
    path = VECTORS / "quantize_tensor" / f"{format}.{float}.txt"
    lines = path.read_text("ascii").splitlines() if path.exists() else []
    for line in lines:
        words = np.array([int(word, 16) for word in line.split()], np.uint64)
        rows, columns, along = words[:3].tolist()
        if rows and columns:
            count, length = (rows, columns) if along else (columns, rows)
            blocks = -(-length // 32)
            order = np.cumsum([3, rows * columns, count * blocks])
            _, values, scales, codes = np.split(words, order)
            parts = (
                values.reshape(rows, columns),
                *(part.reshape((count, -1) if along else (-1, count)) for part in (scales, codes)),
            )
            values, scales, codes = parts if along else (np.ascontiguousarray(x.T) for x in parts)
            yield Task(
                format, packed, values.astype(FLOATS[float][0]), scales.astype(np.uint8),
                codes.astype(np.uint8), np.full(count, 0x3F800000), infinity=FLOATS[float][2],
            )  # fmt: skip


def philox(key: int, counters: Array) -> Array:
    """The four words of Philox 4x32 with ten rounds (Salmon and others, 2011) of each counter."""
    mask, up = np.uint64(0xFFFFFFFF), np.uint64(32)
    wide = np.asarray(counters, np.uint64)
    c = [wide & mask, wide >> up, np.zeros_like(wide), np.zeros_like(wide)]
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [b >> up ^ c[1] ^ np.uint64(k0), b & mask, a >> up ^ c[3] ^ np.uint64(k1), a & mask]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack(c, -1)


def numbers(rows: int, columns: int, float: str, first: int = 0) -> Array:
    """Patterns of every size, with zeros, NaN and infinities in some lines: the same ones always.

    The exponents of a line's numbers are its own and up to eleven below, in some columns any below;
    lines go over all exponents, from that of line `first` on.
    """
    kind, _, infinity = FLOATS[float]
    low = infinity & -infinity  # the last place of the exponent
    draws = philox(rows * 1000 + columns, np.arange(-(-rows * columns // 4))).reshape(-1)
    x = draws[: rows * columns].reshape(rows, columns).astype(np.int64)
    most = (first + np.arange(rows))[:, None] * 37 % (infinity // low) + 1
    below = (x >> 28) % 12
    below[:, 5::11] = x[:, 5::11] // 12 % (infinity // low)
    exponent = np.maximum(most - below, 0) % (infinity // low)
    sign = (x >> 27 & 1) * (infinity + low)
    x = sign | exponent * low | x % low
    x[4::23, 1::29], x[5::31, 7::41], x[3::19] = infinity + 1, infinity, 0
    return np.asarray(x, kind)


def matrix(
    format: str, float: str, shape: tuple[int, int], *, packed: bool, rule: str = "floor",
    tensor: int = 0x3F800000, chance: Chance | None = None, saturate: bool = True, first: int = 0,
) -> Task:  # fmt: skip
    """A matrix, and what mxref makes of it: see `task_of`."""
    return task_of(format, float, numbers(*shape, float, first), packed=packed, rule=rule,
                   tensor=tensor, chance=chance, saturate=saturate)  # fmt: skip


def task_of(
    format: str, float: str, values: Array, *, packed: bool, rule: str = "floor",
    tensor: int = 0x3F800000, chance: Chance | None = None, saturate: bool = True,
) -> Task:  # fmt: skip
    """Patterns, and what mxref makes of them; of the tensor's scale only NVFP4 knows."""
    policy = f"ocp+scale_rule={rule}" + ("" if saturate else "+overflow=nonsaturating")
    options: dict[str, Any] = {"policy": policy}
    if format == "nvfp4":
        scale = np.array(tensor, np.uint32).view(np.float32)
        options = {"policy": "ocp", "tensor_scale": scale}
    if chance:
        options |= {
            "policy": f"{policy}+rounding=stochastic_a",
            "random_bits": chance.bits(*values.shape), "random_width": chance.width,
        }  # fmt: skip
    made = mxref.quantize(np.ascontiguousarray(values).view(FLOATS[float][1]), format, **options)
    return Task(
        format, packed, values, made.scale_codes,
        made.codes.reshape(len(values), -1), np.full(len(values), tensor), rule,
        FLOATS[float][2],
    )  # fmt: skip


def every_scale(float: str, *, packed: bool) -> Task:
    """All NVFP4 codes beside all scales, in a tensor whose scale is 4/3 of 2**-126 and a bit more.

    The product with 1.5 and the smallest scale lies by 2**-159 above the middle between zero and
    the smallest bfloat16: to nearest in float32, what lies above is lost.
    """
    codes = np.broadcast_to(np.arange(16, dtype=np.uint8), (128, 16))
    scales = np.arange(128, dtype=np.uint8)[:, None]
    task = Task("nvfp4", packed, codes, scales, codes, np.full(128, 0x00AAAAAB))
    return replace(decoded(task, float), infinity=FLOATS[float][2])


def decoded(task: Task, float: str) -> Task:
    """The task with the numbers that its codes are."""
    options: dict[str, Any] = {"scale_codes": task.scales, "block_format": task.format}
    if task.format == "nvfp4":
        options["tensor_scale"] = np.array(task.tensors[0], np.uint32).view(np.float32)
    kind, type, _ = FLOATS[float]
    return replace(task, values=mxref.dequantize(task.codes, type, **options).view(kind))

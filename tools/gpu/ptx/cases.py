"""What the kernels are asked: vectors, matrices, rounding by chance, and wide tensors."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

import mxref
from ptx.fastpath import ELEMENTS, Row
from ptx.layout import PLACES, Axis, Tensor, words
from ptx.layout import packed as packed_codes
from ptx.machine import Launch, Machine
from ptx.memory import Memory
from ptx.parse import Kernel
from ptx.tensors import Answers, Questions, Task

__all__ = ["answers", "level1", "matrix", "philox"]

Array = NDArray[Any]
VECTORS = Path(__file__).resolve().parents[3] / "vectors" / "plain"
#: The unsigned type, the type of NumPy, and the pattern of infinity of a float.
FLOATS: dict[str, tuple[Any, Any, int]] = {
    "f32": (np.uint32, np.float32, 0x7F800000),
    "bf16": (np.uint16, ml_dtypes.bfloat16, 0x7F80),
    "f16": (np.uint16, np.float16, 0x7C00),
}
SEED, WIDTH = 0x123456789ABCDEF, 13


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


def numbers(rows: int, columns: int, float: str) -> Array:
    """Patterns of every size, with zeros, NaN and infinities in some lines: the same ones always.

    The exponents of a line's numbers are its own and up to eleven below; lines go over all.
    """
    kind, _, infinity = FLOATS[float]
    low = infinity & -infinity  # the last place of the exponent
    draws = philox(rows * 1000 + columns, np.arange(-(-rows * columns // 4))).reshape(-1)
    x = draws[: rows * columns].reshape(rows, columns).astype(np.int64)
    most = np.arange(rows)[:, None] * 37 % (infinity // low) + 1
    exponent = np.maximum(most - (x >> 28) % 12, 0) % (infinity // low)
    sign = (x >> 27 & 1) * (infinity + low)
    x = sign | exponent * low | x % low
    x[4::23, 1::29], x[5::31, 7::41], x[3::19] = infinity + 1, infinity, 0
    return np.asarray(x, kind)


def matrix(
    format: str, float: str, shape: tuple[int, int], *, packed: bool, rule: str = "floor",
    tensor: int = 0x3F800000, chance: bool = False, saturate: bool = True,
) -> Task:  # fmt: skip
    """A matrix, and what mxref makes of it: see `task_of`."""
    return task_of(format, float, numbers(*shape, float), packed=packed, rule=rule, tensor=tensor,
                   chance=chance, saturate=saturate)  # fmt: skip


def task_of(
    format: str, float: str, values: Array, *, packed: bool, rule: str = "floor",
    tensor: int = 0x3F800000, chance: bool = False, saturate: bool = True,
) -> Task:  # fmt: skip
    """Patterns, and what mxref makes of them; of the tensor's scale only NVFP4 knows."""
    policy = f"ocp+scale_rule={rule}" + ("" if saturate else "+overflow=nonsaturating")
    options: dict[str, Any] = {"policy": policy}
    if format == "nvfp4":
        scale = np.array(tensor, np.uint32).view(np.float32)
        options = {"policy": "ocp", "tensor_scale": scale}
    if chance:
        rows, columns = values.shape
        padded = -(-columns // 32) * 32
        random = philox(SEED, np.arange(rows * padded // 4)).reshape(rows, padded)
        options |= {
            "policy": f"ocp+scale_rule={rule}+rounding=stochastic_a",
            "random_bits": (random >> np.uint64(32 - WIDTH))[:, :columns], "random_width": WIDTH,
        }  # fmt: skip
    made = mxref.quantize(np.ascontiguousarray(values).view(FLOATS[float][1]), format, **options)
    return Task(
        format, packed, values, made.scale_codes,
        made.codes.reshape(len(values), -1), np.full(len(values), tensor), rule,
        FLOATS[float][2],
    )  # fmt: skip


#: Shapes of matrices for a rule each: lengths within, at and beyond a block.
SHAPES = {"floor": (35, 96), "ceil": (7, 33), "rceil": (5, 70), "even": (9, 31),
          "rceil_reciprocal": (3, 130)}  # fmt: skip
#: Matrices of which both directions are asked, or one of them: shapes, and where they lie.
BOTH: tuple[tuple[tuple[int, int], str, dict[str, Any]], ...] = (
    ((64, 128), "both", {}),
    ((96, 192), "both", {"gap": 16, "code_gap": 16, "first_code": 16}),
    ((70, 100), "both", {"tiles": True}),
    ((64, 160), "down", {"gap": 1}),
    ((160, 96), "both", {"gap": 8, "transposed": False}),
    ((64, 64), "across", {"code_gap": 1}),
    ((1, 1), "both", {}),
)
TENSOR = 0x3B124925


def answers(kernel: Kernel, row: Row) -> Iterator[Answers]:
    """All that a kernel is asked; its architecture makes no difference."""
    kind, format, float, encoder, packed = row
    machine = Machine(kernel)
    asked, saturate, sides = Questions(), encoder != "Integers<false>", [0]
    if kind == "quantize":
        if saturate:
            asked.quantize(level1(kind, format, float, packed=packed))
        for rule, shape in SHAPES.items():
            if rule == "floor" or (saturate and format != "nvfp4"):
                task = matrix(format, float, shape, packed=packed, rule=rule, tensor=TENSOR,
                              saturate=saturate)  # fmt: skip
                asked.quantize(task, PLACES[:3] if saturate else PLACES)
        sides += [-1, 1] if format == "nvfp4" else []  # where a reciprocal lies
    elif kind == "dequantize":
        for short in (0, 3):
            asked.dequantize(level1(kind, format, float, packed=packed), short=short)
        if format == "nvfp4":
            asked.dequantize(every_scale(float, packed=packed))
    elif kind == "quantize_stochastic":
        task = matrix(format, float, (7, 70), packed=packed, chance=True)
        asked.quantize(task, chance=(SEED, WIDTH))
    else:
        for shape, which, places in BOTH:
            x = numbers(*shape, float)
            across, down = (
                task_of(format, float, y, packed=packed, tensor=TENSOR, saturate=saturate)
                if which in ("both", name) else None
                for name, y in (("across", x), ("down", np.ascontiguousarray(x.T)))
            )  # fmt: skip
            asked.quantize_both((across, down), **places)
        yield wide_both(machine, row)
    for side in sides:
        yield asked.answers(machine, side)
    if kind == "dequantize" or (kind == "quantize" and saturate):
        yield from wide(machine, row)


#: Tensors of more than 2**32 numbers: lines, numbers in each, blocks of threads, and the lines that
#: the last one has. A grid has at most 65535 blocks in y, so a thread there has two lines.
WIDE = (
    (1, (1 << 32) + 2048, 1, (0,)),
    (65535 + 33, 65536 + 2048, 65535, (32, 65535 + 32)),
)


def wide(machine: Machine, row: Row) -> Iterator[Answers]:
    """The ends of the `WIDE` tensors, by the last block of 64 threads.

    Only what these may touch is there: any other address is out of bounds.
    """
    kind, format, float, _, packed = row
    for lines, length, down, own in WIDE:
        task = matrix(format, float, (len(own), 2048), packed=packed, tensor=TENSOR)
        width, each, size = task.bits()
        task = matrix(format, float, (len(own), 64 * each), packed=packed, tensor=TENSOR)
        if kind == "dequantize":
            task = decoded(task, float)
        kinds = (task.values, task.scales, packed_codes(task.codes, width))
        pitches = (length, length // size, length * width // 8)
        memory, pointers, checks = Memory(), [], []
        for i, (items, pitch) in enumerate(zip(kinds, pitches, strict=True)):
            base = (i + 1) << 44
            reads = (i == 0) == (kind == "quantize")
            for line, item in zip(own, items, strict=True):
                at = base + (line * pitch + pitch - len(item)) * items.itemsize
                blank = np.full(item.nbytes, 0xA5, np.uint8)
                memory.add(np.ascontiguousarray(item) if reads else blank, at=at, known=reads)
                checks += [] if reads else [(at, item)]
            pointers.append(words("u8", base))
        axes = Axis(length), Axis(length * width // 8), Axis(length // size)
        t = Tensor(lines, length, *axes, tensor=TENSOR)
        last = ((length // each // 64) - 1, own[0], 0)
        values, scales, codes = pointers
        arguments = (
            [values, *t.arguments(), scales, codes] if kind == "quantize"
            else [scales, codes, *t.arguments(), values]
        )  # fmt: skip
        launch = Launch((length // each // 64, down, 1), (64, 1, 1), arguments, [last])
        executed = machine.run([launch], memory)
        infinity = None if kind == "quantize" else task.infinity
        wrong = sum(not alike(memory.read(at), item, infinity) for at, item in checks)
        yield Answers(len(own), wrong, f"wide, {lines} lines" if wrong else "", executed)


def every_scale(float: str, *, packed: bool) -> Task:
    """All NVFP4 codes beside all scales, in a tensor whose scale is 4/3 of 2**-126 and a bit more.

    The product with 1.5 and the smallest scale lies by 2**-159 above the middle between zero and
    the smallest bfloat16: to nearest in float32, what lies above is lost.
    """
    codes = np.broadcast_to(np.arange(16, dtype=np.uint8), (128, 16))
    scales = np.arange(128, dtype=np.uint8)[:, None]
    task = Task("nvfp4", packed, codes, scales, codes, np.full(128, 0x00AAAAAB))
    return replace(decoded(task, float), infinity=FLOATS[float][2])


def wide_both(machine: Machine, row: Row) -> Answers:
    """The end of a matrix of more than 2**32 numbers in both directions, by the last block.

    It has the last 64 columns, and of the rows the 32 of block 2 and the last 32.
    """
    _, format, float, encoder, packed = row
    rows, columns, own = (65535 + 3) * 32, 65536 + 64, (2, 65535 + 2)
    x = numbers(64, 64, float)
    options: dict[str, Any] = {"packed": packed, "tensor": TENSOR}
    tasks = [
        task_of(format, float, np.ascontiguousarray(y), **options, saturate="false" not in encoder)
        for y in (x, x.T)
    ]
    width, _, size = tasks[0].bits()
    bases = [words("u8", (i + 1) << 44) for i in range(5)]
    memory, checks = Memory(), []

    def window(i: int, at: int, want: Array) -> None:
        where = ((i + 1) << 44) + at * want.itemsize
        if i == 0:
            memory.add(np.ascontiguousarray(want), at=where)
        else:
            memory.add(np.full(want.nbytes, 0xA5, np.uint8), at=where, known=False)
            checks.append((where, want))

    codes = [packed_codes(task.codes, width) for task in tasks]
    for i in range(64):
        at = own[i // 32] * 32 + i % 32  # the row
        window(0, at * columns + columns - 64, x[i])
        window(1, ((at + 1) * columns - 64) // size, tasks[0].scales[i])
        window(2, ((at + 1) * columns - 64) * width // 8, codes[0][i])
        for k, block in enumerate(own):
            first = (columns - 64 + i) * rows + block * 32  # in the column
            each = tasks[1].scales.shape[1] // 2, codes[1].shape[1] // 2
            window(3, first // size, tasks[1].scales[i, k * each[0] : (k + 1) * each[0]])
            window(4, first * width // 8, codes[1][i, k * each[1] : (k + 1) * each[1]])
    tensors = [
        Tensor(n, length, values, Axis(length * width // 8), Axis(length // size), tensor=TENSOR)
        for n, length, values in ((rows, columns, Axis(columns)), (columns, rows, Axis(1, columns)))
    ]
    arguments = [bases[0], *(t.arguments()[0] for t in tensors), tensors[0].recipe(), *bases[1:]]
    grid = (columns // 64, 65535, 1)
    launch = Launch(grid, (128, 1, 1), arguments, [(grid[0] - 1, own[0], 0)])
    executed = machine.run([launch], memory)
    wrong = sum(not alike(memory.read(at), want, None) for at, want in checks)
    return Answers(128, wrong, "wide, both directions" if wrong else "", executed)


def alike(got: Array, want: Array, infinity: int | None) -> bool:
    """Whether bytes are those of items, or with infinity's pattern NaN as they are."""
    have = got.view(want.dtype)
    same = have == want
    if infinity is not None:
        magnitude = np.iinfo(want.dtype).max >> 1
        same |= (have & magnitude > infinity) & (want & magnitude > infinity)
    return bool(same.all())


def decoded(task: Task, float: str) -> Task:
    """The task with the numbers that its codes are."""
    options: dict[str, Any] = {"scale_codes": task.scales, "block_format": task.format}
    if task.format == "nvfp4":
        options["tensor_scale"] = np.array(task.tensors[0], np.uint32).view(np.float32)
    kind, type, _ = FLOATS[float]
    return replace(task, values=mxref.dequantize(task.codes, type, **options).view(kind))

"""Functions of mx_fastpath.cuh, each as a kernel of its own: level 1, and level 2 by digests."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.operations.registry import REGISTRY
from mxref.policy.policy import Policy
from ptx.fastpath import ELEMENTS, FLOATS, Row
from ptx.layout import RULES, words
from ptx.machine import Launch, Machine
from ptx.memory import Memory
from ptx.published import digests_of
from ptx.tensors import Answers

__all__ = ["FUNCTIONS", "function_answers", "function_name", "function_source"]

Array = NDArray[Any]
VECTORS = Path(__file__).resolve().parents[3] / "vectors" / "plain"
#: The types of element formats, and their bits.
TYPES = {
    name.rpartition("_")[2].removeprefix("mx"): (type, bits)
    for name, (type, bits, size) in ELEMENTS.items()
    if size == 32
}
#: The policies of further columns of a file of level 1.
COLUMNS = {
    "encode": ("ocp", "ocp+overflow=nonsaturating"),
    "encode_scale": (
        "ocp",
        "ocp+scale_rounding=toward_positive",
        "ocp+scale_rounding=ties_to_away",
    ),
}
#: Cases of a run: so many that few instructions are interpreted, and registers are not too many.
CHUNK = 1 << 15
WORDS = {"f32": "<u4", "bf16": "<u2", "f16": "<u2"}


def _every() -> Iterator[Row]:
    for float in FLOATS:
        for policy in COLUMNS["encode_scale"]:
            yield "encode_scale", "e8m0", float, policy, False
        yield "decode_scale", "e8m0", float, "ocp", False
        for element, (_, bits) in TYPES.items():
            for policy in COLUMNS["encode"][: 2 if element in ("e5m2", "e4m3") else 1]:
                yield "encode", element, float, policy, False
            yield "decode", element, float, "ocp", False
            for rule in RULES:
                policy = "ocp" + f"+scale_rule={rule}" * (rule != "floor")
                yield "shared_scale", element, float, policy, False
            if float != "f16":
                yield "encode_stochastic", element, float, "ocp+rounding=stochastic_a", False
            if float == "f32" and bits < 8:
                yield "pack", element, "bytes", "ocp", False


#: All functions: operation, format, float and policy; none is packed.
FUNCTIONS = tuple(_every())


def function_name(row: Row) -> str:
    """The name of a function's kernel."""
    return re.sub(r"\W", "_", "_".join(row[:4]))


def _types(row: Row) -> tuple[str, str, int]:
    """What a kernel reads and writes, as C++ names it; and words of a case."""
    op, _, float, *_ = row
    if op == "encode_stochastic":
        return "uint32_t", "uint8_t", 3
    if op.startswith("decode"):
        return "uint8_t", FLOATS[float], 1
    return ("uint8_t" if op == "pack" else FLOATS[float]), "uint8_t", 1


def _body(row: Row) -> str:
    op, format, float, policy, _ = row
    type, bits = TYPES.get(format, ("", 0))
    value = policy.rpartition("=")[2]
    number = FLOATS.get(float, "")
    return {
        "encode": f"mx::Encode<mx::{type}, {str(value == 'ocp').lower()}>{{}}(in[i])",
        "decode": f"mx::Stored<mx::Decode<mx::{type}>, {number}>{{}}(in[i])",
        "encode_scale": "mx::EncodeScale{mx::ScaleRounding::"
        f"{'toward_zero' if value == 'ocp' else value}}}(in[i])",
        "decode_scale": f"mx::Stored<mx::DecodeScale, {number}>{{}}(in[i])",
        "shared_scale": f"mx::SharedScale<mx::{type}>{{mx::Rule::"
        f"{'floor' if value == 'ocp' else value}}}(in[i])",
        "encode_stochastic": f"mx::encode_stochastic<mx::{type}>(mx::float32_bits("
        f"static_cast<{number}>(in[3 * i])), in[3 * i + 1], static_cast<int>(in[3 * i + 2]))",
        "pack": f"mx::packed_byte<{bits}>(in, n * 8 / {bits}, i)",
    }[op]


def function_source(row: Row) -> str:
    """A function's kernel in C++: one thread a number, or more."""
    read, written, _ = _types(row)
    arguments = f"const {read} *in, {written} *out, size_t n"
    head = f'extern "C" __global__ void {function_name(row)}({arguments})'
    return f"{head} {{ MX_FOR(i, n) out[i] = {_body(row)}; }}"


@functools.cache
def _lines(op: str, format: str, float: str) -> Array:
    path = VECTORS / op / f"{format}.{float}.txt"
    if not path.exists():
        return np.empty((0, 0), np.uint64)
    lines = path.read_text("ascii").splitlines()
    return np.array([[int(word, 16) for word in line.split()] for line in lines], np.uint64)


def _answer(machine: Machine, row: Row, inputs: Array) -> Array:
    """What a kernel gives to cases, a row each, of the type that it reads."""
    _, written, _ = _types(row)
    bits = TYPES[row[1]][1] if row[0] == "pack" else 8
    count = inputs.size * bits // 8 if row[0] == "pack" else len(inputs)
    memory, kind = Memory(), np.dtype("u1" if written == "uint8_t" else WORDS[row[2]])
    given = memory.add(np.ascontiguousarray(inputs))
    out = memory.add(np.zeros(count * kind.itemsize, np.uint8), known=False)
    arguments = [words("u8", given), words("u8", out), words("u8", count)]
    machine.run([Launch((-(-count // 256), 1, 1), (128, 1, 1), arguments)], memory)
    return memory.read(out).view(kind)


def _answered(machine: Machine, row: Row, inputs: Array) -> Array:
    read, *_ = _types(row)
    kind = {"uint8_t": "u1", "uint32_t": "<u4"}.get(read, "<u2")
    parts = [inputs[i : i + CHUNK].astype(kind) for i in range(0, len(inputs), CHUNK)]
    return np.concatenate([_answer(machine, row, part) for part in parts])


def function_answers(kernel: Any, row: Row) -> Iterator[Answers]:
    """All that the kernel of a function is asked."""
    op, format, float, policy, _ = row
    machine, (_, _, width) = Machine(kernel), _types(row)
    if op != "pack" and len(table := _lines(op, format, float)):
        columns, inputs = COLUMNS.get(op, ("ocp",)), table[:, :width]
        if policy in columns and table.shape[1] > width + columns.index(policy):
            want = table[:, width + columns.index(policy)]
        else:
            want = REGISTRY[op].fast(format, float, inputs, Policy.parse(policy))[:, 0]
        wrong = _answered(machine, row, inputs) != want
        first = f"line {int(wrong.argmax())} of level 1" if wrong.any() else ""
        yield Answers(len(want), int(wrong.sum()), first)
    yield from digests_of(row, lambda family, inputs: _answered(machine, row, inputs).tobytes())

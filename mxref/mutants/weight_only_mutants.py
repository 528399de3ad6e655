"""Class I: weight-only linear layers gone wrong. They have no bias, which could be scaled twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.integer.layers import unpack_int4
from mxref.mutants.block_weight_mutants import BLOCK_OPERANDS, Operands, exactly
from mxref.mutants.mutant import Function, Mutant, Mutants, wrong

__all__ = ["OPERANDS", "WEIGHT_ONLY", "Operands"]

Array = NDArray[Any]
_FORMATS = {
    "linear_qcs8w": ("int8", "int8_groups"),
    "linear_qcs4w": ("int4", "int4_groups"),
}


def _codes(x: Array, w: Array) -> Array:
    """The codes of w; unsigned w are packed bytes."""
    return unpack_int4(w, x.shape[1]) if w.dtype == np.uint8 else w


def _read(change: Callable[[Array], Array], *, swapped: bool = False) -> Operands:
    """A function to operands whose codes are changed after the nibbles are read."""

    def operands(x: Array, w: Array, scales: Array) -> tuple[Array, Array, Array]:
        order = "low_first" if swapped else "high_first"
        nibbles = unpack_int4(w, x.shape[1], order).astype(np.int64) + 8
        return x, change(nibbles), scales

    return operands


def _with_pad(x: Array, w: Array, scales: Array) -> tuple[Array, Array, Array]:
    """An odd row with its pad, times the number after the row in memory; after the last row 1."""
    k = x.shape[1]
    if k % 2 == 0:
        return x, _codes(x, w), scales
    beyond = np.append(x.reshape(-1), np.float32(1))[k::k]
    factors = np.repeat(scales.reshape(len(w), -1), k // (scales.size // len(w)), 1)
    padded = np.concatenate([factors, factors[:, -1:]], 1)
    return np.column_stack([x, beyond]), unpack_int4(w, k + 1), padded


def _without_last(x: Array, w: Array, scales: Array) -> tuple[Array, Array, Array]:
    """An odd row without its last column."""
    codes = _codes(x, w).copy()
    codes[:, x.shape[1] - x.shape[1] % 2 :] = 0
    return x, codes, scales


def _scaled(change: Callable[[Array], Array]) -> Operands:
    """A function to operands with other scales."""

    def operands(x: Array, w: Array, scales: Array) -> tuple[Array, Array, Array]:
        return x, _codes(x, w), change(scales)

    return operands


def _next_code(x: Array, w: Array, scales: Array) -> tuple[Array, Array, Array]:
    """Operands in which each row has the codes of the next one."""
    return x, np.roll(_codes(x, w), -1, 0), scales


def _added(step: Callable[[Array], Array]) -> Function:
    """A function whose running sum is changed after each addition."""

    def run(x: Array, w: Array, scales: Array) -> Array:
        codes = _codes(x, w)
        groups = scales.reshape(len(w), -1)
        size = x.shape[1] // groups.shape[1]
        total = np.zeros((len(x), len(w)), np.float64)
        with np.errstate(all="ignore"):
            for group in range(groups.shape[1]):
                part = np.zeros_like(total)
                for k in range(group * size, group * size + size):
                    part = step(part + x[:, k, np.newaxis].astype(np.float64) * codes[:, k])
                total = total + part * groups[:, group]
            found: Array = total.astype(np.float32)
        return found

    return run


def _int32(sums: Array) -> Array:
    """Sums cut to integers, as int32 holds them."""
    whole: Array = np.clip(np.nan_to_num(np.trunc(sums)), -(2.0**31), 2.0**31 - 1)
    return whole


def _float16(sums: Array) -> Array:
    found: Array = sums.astype(np.float16).astype(np.float64)
    return found


#: Mistakes of reading, by heading: the operands that are multiplied exactly, the operations, and
#: `_groups` if a row must have several scales.
_READ: dict[str, tuple[Operands, tuple[str, ...], str]] = {
    "I18 minus_8_forgotten_in_linear: multiplies stored nibbles without the -8": (
        _read(lambda nibbles: nibbles),
        ("linear_qcs4w",),
        "",
    ),
    "I18b twos_complement_in_linear: reads nibbles as two's complement": (
        _read(lambda nibbles: (nibbles ^ 8) - 8),
        ("linear_qcs4w",),
        "",
    ),
    "I18c nibbles_swapped_in_linear: reads the low nibble first": (
        _read(lambda nibbles: nibbles - 8, swapped=True),
        ("linear_qcs4w",),
        "",
    ),
    "I18d pad_multiplied: multiplies the pad of an odd row with what follows x": (
        _with_pad,
        ("linear_qcs4w",),
        "",
    ),
    "I19 last_column_dropped: drops the last column if their number is odd": (
        _without_last,
        tuple(_FORMATS),
        "",
    ),
    "I20 scale_of_next_weight_row: takes the scale of the next channel": (
        _scaled(lambda scales: np.roll(scales, -1, 0)),
        tuple(_FORMATS),
        "",
    ),
    "I20b first_scale_of_all: takes the first scale for all channels": (
        _scaled(lambda scales: np.broadcast_to(scales[:1], scales.shape)),
        tuple(_FORMATS),
        "",
    ),
    "I20f magnitude_of_scale: takes the magnitude of a scale": (
        _scaled(np.abs),
        tuple(_FORMATS),
        "",
    ),
    "I20g one_for_a_scale_of_0: takes 1 for a scale of 0": (
        _scaled(lambda scales: np.where(scales == 0, np.float32(1), scales)),
        tuple(_FORMATS),
        "",
    ),
    "I20c scale_of_neighbouring_group: takes the scale of the next group": (
        _scaled(lambda scales: np.roll(scales, -1, -1)),
        tuple(_FORMATS),
        "_groups",
    ),
    "I20d first_group_for_all: takes the first scale of a row for all its groups": (
        _scaled(lambda scales: np.broadcast_to(scales[:, :1], scales.shape)),
        tuple(_FORMATS),
        "_groups",
    ),
    "I20e weights_of_next_row: takes the weights of the next channel": (
        _next_code,
        tuple(_FORMATS),
        "",
    ),
}
_ADDED: dict[str, Callable[[Array], Array]] = {
    "I21 sums_in_int32: adds in int32, so that fractions are cut off": _int32,
    "I21b sums_in_float16: rounds each sum to float16": _float16,
}


def _mutant(run: Function, op: str, ending: str = "") -> Mutant:
    formats = tuple(name for name in _FORMATS[op] if name.endswith(ending))
    return wrong(run, op=op, formats=formats, floats=("f32",), model="M22")


def _heading(heading: str, op: str) -> str:
    """The heading of a mistake that both operations have; for 4 bits the id ends in w."""
    id, _, rest = heading.partition(" ")
    name, _, text = rest.partition(": ")
    return f"{id}w {name}_of_4_bits: {text}" if op == "linear_qcs4w" else heading


_READING = {
    (_heading(heading, op) if len(ops) > 1 else heading): (operands, op, ending)
    for heading, (operands, ops, ending) in _READ.items()
    for op in ops
}
WEIGHT_ONLY: Mutants = {
    heading: _mutant(exactly(operands), op, ending)
    for heading, (operands, op, ending) in _READING.items()
} | {
    _heading(heading, op): _mutant(_added(step), op)
    for heading, step in _ADDED.items()
    for op in _FORMATS
}
#: id of a mutant that reads wrongly -> its operands, which may be added in any order.
OPERANDS = {heading.partition(" ")[0]: one[0] for heading, one in _READING.items()} | BLOCK_OPERANDS

"""The table of the instructions that compute: what goes in, and what comes out.

Each entry of `OPCODES` makes, of an instruction's modifiers, a function of arrays. Integers come as
arrays of their type, floats as patterns, predicates as booleans. Sections are those of the PTX ISA,
"9.7 Instructions".
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ptx import floats

__all__ = ["OPCODES", "Opcode", "dtype_of"]

Array = NDArray[Any]
Function = Callable[..., Any]
#: The side that approximations are moved to: see `floats.rcp`.
Side = Callable[[], int]


@dataclass(frozen=True, slots=True)
class Opcode:
    """An instruction that computes.

    Args:
        make: of modifiers, and of what gives the side of approximations, the function.
        kinds: the types of its operands: `t` for the instruction's, else by name; the last one is
            that of all further ones.
    """

    make: Callable[[tuple[str, ...], Side], Function]
    kinds: tuple[str, ...] = ("t",)


@functools.cache
def dtype_of(type: str) -> Any:
    """The NumPy type of operands of a type of PTX; floats are patterns."""
    if type == "pred":
        return np.dtype(bool)
    sign, bits = ("i" if type[0] == "s" else "u"), type.lstrip("busf")
    if type in ("u16x2", "s16x2", "f16x2"):
        return np.dtype("u4")
    return np.dtype(f"{sign}{int(bits) // 8}")


def _plain(function: Function) -> Opcode:
    return Opcode(lambda modifiers, side: function)


def _float(function: Function) -> Callable[[tuple[str, ...], Side], Function]:
    """Of a function of patterns and a rounding; .ftz before and behind it, .sat behind it."""

    def make(modifiers: tuple[str, ...], side: Side) -> Function:
        rounding = next((m for m in modifiers if m in ("rn", "rz", "rp", "rm")), "rn")
        before: Function = floats.flushed if "ftz" in modifiers else lambda x: x
        last: Function = floats.saturated if "sat" in modifiers else lambda x: x
        return lambda *xs: last(before(function(*map(before, xs), rounding)))

    return make


def _by_type(integers: Function, of_floats: Function) -> Opcode:
    """Integers that wrap, or float32."""

    def make(modifiers: tuple[str, ...], side: Side) -> Function:
        if modifiers[-1] == "f32":
            return _float(of_floats)(modifiers, side)
        known = {"lo", "wide", "hi", modifiers[-1]}
        if not known.issuperset(modifiers):
            raise ValueError(f"modifiers {modifiers} are not known")
        return integers

    return Opcode(make)


# 9.7.1 Integers, and 9.7.3 float32


def _mul(modifiers: tuple[str, ...], side: Side) -> Function:
    if modifiers[-1] == "f32":
        return _float(floats.mul)(modifiers, side)
    if modifiers[0] == "lo":
        return lambda a, b: a * b
    if modifiers == ("hi", "u64"):
        return _high
    half = dtype_of(modifiers[-1])
    wide = np.dtype(f"{half.kind}{2 * half.itemsize}")
    if modifiers[0] == "wide":
        return lambda a, b: a.astype(wide) * b.astype(wide)
    if modifiers[0] == "hi" and half.itemsize == 4:
        return lambda a, b: (a.astype(wide) * b.astype(wide) >> wide.type(32)).astype(half)
    raise ValueError(f"mul with {modifiers} is not known")


def _high(a: Array, b: Array) -> Any:
    """The upper 64 bits of a product of 64 bits, by halves."""
    low, up = np.uint64(0xFFFFFFFF), np.uint64(32)
    cross = (a & low) * (b >> up)
    middle = (a >> up) * (b & low) + ((a & low) * (b & low) >> up)
    return (a >> up) * (b >> up) + (cross >> up) + (((cross & low) + middle) >> up)


def _mad(modifiers: tuple[str, ...], side: Side) -> Function:
    product = _mul(modifiers, side)
    return lambda a, b, c: product(a, b) + c


def _quotient(a: Array, b: Array) -> Any:
    """Toward zero; division by zero is left to the machine, which no kernel may ask."""
    if np.any(b == 0):
        raise ZeroDivisionError("division by zero")
    if a.dtype.kind == "u":
        return a // b
    return (np.abs(a) // np.abs(b) * (np.sign(a) * np.sign(b))).astype(a.dtype)


def _neg(modifiers: tuple[str, ...], side: Side) -> Function:
    if modifiers[-1] == "f32":
        before: Function = floats.flushed if "ftz" in modifiers else lambda x: x
        return lambda a: before(a) ^ np.uint32(0x80000000)
    return lambda a: -a


def _abs(modifiers: tuple[str, ...], side: Side) -> Function:
    if modifiers[-1] in floats.SIGNLESS and len(modifiers) == 1:
        return functools.partial(floats.signless, type=modifiers[0])
    if modifiers[-1][0] != "s":
        raise ValueError(f"abs with {modifiers} is not known")
    return np.abs


def _halves(choose: Function) -> Function:
    low, up = np.uint32(0xFFFF), np.uint32(16)
    return lambda a, b: choose(a >> up, b >> up) << up | choose(a & low, b & low)


def _choice(choose: Function) -> Opcode:
    def make(modifiers: tuple[str, ...], side: Side) -> Function:
        if modifiers[-1] == "u16x2":
            return _halves(choose)
        if modifiers[-1][0] == "f" or len(modifiers) > 1:
            raise ValueError(f"modifiers {modifiers} are not known")
        return choose

    return Opcode(make)


def _clz(a: Array) -> Any:
    count = np.full(a.shape, 8 * a.itemsize, np.uint32)
    for bit in range(8 * a.itemsize):
        count[a >> a.dtype.type(bit) != 0] -= np.uint32(1)
    return count


def _popc(a: Array) -> Any:
    return np.bitwise_count(a).astype(np.uint32)


def _bfe(modifiers: tuple[str, ...], side: Side) -> Function:
    if modifiers == ("s32",):
        return _signed_field
    if modifiers not in (("u32",), ("u64",)):
        raise ValueError(f"bfe with {modifiers} is not known")

    def field(a: Array, position: Array, length: Array) -> Any:
        bits = 8 * a.itemsize
        start, count = (
            np.minimum(np.asarray(x, np.uint32) & 255, bits) for x in (position, length)
        )
        ones = _shr(np.full(a.shape, ~a.dtype.type(0)), np.uint32(bits) - count)
        return _shr(a, start) & ones

    return field


def _signed_field(a: Array, position: Array, length: Array) -> Any:
    """The field's last bit, or the last bit of all, above it; no bits are 0."""
    start, count = (np.asarray(x, np.int64) & 255 for x in (position, length))
    wide = np.asarray(a, np.int64) >> np.minimum(start, 32)
    above = 64 - np.minimum(np.maximum(count, 1), 32)
    return np.where(count == 0, 0, wide << above >> above).astype(np.int32)


def _bfi(a: Array, b: Array, position: Array, length: Array) -> Array:
    type = b.dtype.type
    bits = np.uint32(8 * b.itemsize)
    start, count = (np.minimum(np.uint32(255) & x, bits) for x in (position, length))
    ones = _shl(_shr(np.full(b.shape, ~type(0)), bits - count), start)
    return np.asarray(b & ~ones | _shl(a, start) & ones)


# 9.7.4 Half precision: none. 9.7.6 Comparison and selection

_COMPARISONS: dict[str, Function] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
    "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip


def _setp(modifiers: tuple[str, ...], side: Side) -> Function:
    if len(modifiers) != 2:
        raise ValueError(f"setp with {modifiers} is not known")
    compare = _COMPARISONS[modifiers[0]]
    if modifiers[1] != "f32":
        return compare

    def of_floats(a: Array, b: Array) -> Array:  # all six are ordered: false of NaN, ne as well
        x, y = (np.asarray(one, np.uint32).view(np.float32) for one in (a, b))
        return np.asarray(compare(x, y) & ~(np.isnan(x) | np.isnan(y)))

    return of_floats


# 9.7.8 Logic and shifts: more than all bits are as all bits


def _shl(a: Array, by: Array) -> Any:
    bits = 8 * a.itemsize
    shifted = a << np.minimum(by, np.uint32(bits - 1)).astype(a.dtype)
    return np.where(by >= bits, a.dtype.type(0), shifted)


def _shr(a: Array, by: Array) -> Any:
    bits = 8 * a.itemsize
    shifted = a >> np.minimum(by, np.uint32(bits - 1)).astype(a.dtype)
    if a.dtype.kind == "i":  # the sign
        return np.asarray(shifted)
    return np.where(by >= bits, a.dtype.type(0), shifted)


def _shf(modifiers: tuple[str, ...], side: Side) -> Function:
    if modifiers[1:] != ("wrap", "b32"):
        raise ValueError(f"shf with {modifiers} is not known")
    up = np.uint64(32)

    def funnel(a: Array, b: Array, by: Array) -> Any:
        both = np.asarray(b, np.uint64) << up | a
        by = np.asarray(by, np.uint64) & np.uint64(31)
        if modifiers[0] == "l":
            return ((both << by) >> up).astype(np.uint32)
        return (both >> by).astype(np.uint32)

    return funnel


def _lop3(a: Array, b: Array, c: Array, table: Array) -> Array:
    """Each bit is the one of the table that three bits choose."""
    result = np.uint32(0) & a
    for place in range(8):
        if int(table) >> place & 1:
            parts = [x if place >> k & 1 else ~x for x, k in ((a, 2), (b, 1), (c, 0))]
            result = result | parts[0] & parts[1] & parts[2]
    return np.asarray(result)


# 9.7.9 Data movement and conversion


def _prmt(a: Array, b: Array, selector: Array) -> Any:
    """Four bytes of {b, a}, each chosen by three bits; the fourth replicates its sign."""
    pool = np.asarray(b, np.uint64) << np.uint64(32) | a
    result = np.zeros(np.broadcast(pool, selector).shape, np.uint64)
    for i in range(4):
        one = np.asarray(selector, np.uint64) >> np.uint64(4 * i)
        byte = pool >> ((one & np.uint64(7)) * np.uint64(8)) & np.uint64(255)
        sign = np.where(byte >> np.uint64(7), np.uint64(255), np.uint64(0))
        result |= np.where(one & np.uint64(8), sign, byte) << np.uint64(8 * i)
    return result.astype(np.uint32)


def _copysign(a: Array, b: Array) -> Array:
    """The sign of a, the magnitude of b."""
    return np.asarray(a & np.uint32(0x80000000) | b & np.uint32(0x7FFFFFFF))


def _cvt(modifiers: tuple[str, ...], side: Side) -> Function:
    *how, target, source = modifiers
    if target in floats.PAIRS and how == ["rn", "satfinite"] and source == "f32":
        return lambda a, b: floats.pair(a, b, floats.PAIRS[target])
    if (target, how) == ("f32", ["rn"]) and source in ("u32", "s32"):
        return lambda a: a.astype(np.float32).view(np.uint32)  # to nearest even, as NumPy does
    if (target, source, how) == ("f16x2", "f32", ["rn"]):
        up = np.uint32(16)
        return lambda a, b: (
            floats.to_half(a, "f16").astype(np.uint32) << up | floats.to_half(b, "f16")
        )
    if (target, source, how) == ("f32", "f16", []):
        return floats.widened
    if target in ("f16", "bf16") and source == "f32" and how == ["rn"]:
        return lambda a: floats.to_half(a, target)
    if how or "f" in target + source:
        raise ValueError(f"cvt with {modifiers} is not known")
    return lambda a: a.astype(dtype_of(target))  # extended by its own sign, or cut


def _rcp(modifiers: tuple[str, ...], side: Side) -> Function:
    if modifiers != ("approx", "ftz", "f32"):
        raise ValueError(f"rcp with {modifiers} is not known")
    return lambda a: floats.rcp(a, side())


#: Instructions by their names; those of memory, control and whole warps are the machine's.
OPCODES: dict[str, Opcode] = {
    "add": _by_type(
        lambda a, b: a + b, lambda a, b, how: floats.fma(a, np.uint32(0x3F800000), b, how)
    ),
    "sub": _by_type(
        lambda a, b: a - b,
        lambda a, b, how: floats.fma(b, np.uint32(0xBF800000), a, how),
    ),
    "mul": Opcode(_mul),
    "mad": Opcode(_mad, ("t", "t", "r")),
    "fma": Opcode(_float(floats.fma)),
    "div": _plain(_quotient),
    "rem": _plain(lambda a, b: a - _quotient(a, b) * b),
    "neg": Opcode(_neg),
    "abs": Opcode(_abs),
    "min": _choice(np.minimum),
    "max": _choice(np.maximum),
    "clz": _plain(_clz),
    "popc": _plain(_popc),
    "bfe": Opcode(_bfe, ("t", "u32")),
    "bfi": Opcode(lambda modifiers, side: _bfi, ("t", "t", "u32")),
    "setp": Opcode(_setp),
    "selp": Opcode(lambda modifiers, side: lambda a, b, p: np.where(p, a, b), ("t", "t", "pred")),
    "and": _plain(np.bitwise_and),
    "or": _plain(np.bitwise_or),
    "xor": _plain(np.bitwise_xor),
    "not": _plain(np.invert),
    "shl": Opcode(lambda modifiers, side: _shl, ("t", "u32")),
    "shr": Opcode(lambda modifiers, side: _shr, ("t", "u32")),
    "shf": Opcode(_shf, ("t", "t", "u32")),
    "lop3": Opcode(lambda modifiers, side: _lop3, ("t", "t", "t", "u32")),
    "prmt": Opcode(lambda modifiers, side: _prmt, ("t", "t", "u32")),
    "copysign": _plain(_copysign),
    "rcp": Opcode(_rcp),
    "cvt": Opcode(_cvt),
    "cvta": _plain(lambda a: a),  # all windows have their addresses in one space
}

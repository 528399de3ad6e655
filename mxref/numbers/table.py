"""Lookup tables: codes of numbers, and the floats of codes.

The index of a number's code is its key: the number rounded to odd to two fraction bits more than
its target has. All numbers with one key round alike, whatever the rounding; see `to_odd` for the
proof. So a table holds the codes under every deterministic choice of a policy.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import as_float32, as_float64
from mxref.bits.floats import (
    F32,
    U8,
    Bits,
    FloatLayout,
    Floats,
    Parts,
    Stochastic,
    floats_from,
    split,
    to_odd,
)
from mxref.bits.keys import odd_keys
from mxref.bits.out import array_out, floats_out
from mxref.bits.pairs import MANY, Table
from mxref.bits.stochastic import StochasticTable
from mxref.formats.catalog import CodeFormat
from mxref.numbers.source import Source, after_input_choices, narrowed_layout
from mxref.policy.choices import PreRounding
from mxref.policy.groups import ElementPolicy
from mxref.support.threads import CHUNK, TILE, in_chunks

#: Bits of a key that a table may have: 4 MiB.
_WIDEST = 22
#: A call looks its numbers up if the table has at most this many bits, or at most this many keys
#: for each number.
_SMALL, _KEYS_A_NUMBER = 17, 32
#: Input choices that leave numbers as they are.
_NO_CHOICE = ElementPolicy()
#: Elements of a chunk without a table: its int64 arrays are small enough to be allocated quickly.
PARTS = 1 << 13


class Encoder(Hashable, Protocol):
    """A rounding of numbers to the codes of a format; hashable."""

    @property
    def target(self) -> CodeFormat:
        """The format that numbers are rounded to."""

    def codes(self, parts: Parts, draw: Stochastic | None = None) -> U8:
        """The codes of numbers in integer parts."""

    def stochastic_table(self, layout: FloatLayout, draw: Stochastic) -> StochasticTable | None:
        """Codes of stochastically rounded numbers of a layout; None if there is no such table."""


@functools.lru_cache(maxsize=256)
def key_layout(
    target: CodeFormat | FloatLayout,
    layout: FloatLayout,
    pre_rounding: PreRounding = PreRounding.NONE,
) -> FloatLayout:
    """Layout of odd-rounded keys that round to a target as the numbers themselves do.

    A key keeps two fraction bits more than the target. It keeps more where the target's subnormals
    reach below those of the source, or where the numbers are rounded to a wider type first.
    """
    keep = target.mantissa_bits + 2 + max(0, layout.emin - target.emin)
    first = narrowed_layout(layout, pre_rounding)
    if first is not layout:
        keep = max(keep, key_layout(first, layout).mantissa_bits)
    return FloatLayout("key", layout.exponent_bits, min(keep, layout.mantissa_bits))


def encode_in_chunks(
    encoder: Encoder,
    source: Source,
    out: U8 | None = None,
    threads: int | None = None,
    draw: Stochastic | None = None,
) -> U8:
    """Codes of numbers, a chunk at a time.

    Args:
        encoder: rounds the numbers.
        source: the numbers.
        out: where the codes go; a new array if None.
        threads: as `thread_count` takes it.
        draw: random bits in the shape of the numbers, which no table reads.

    Raises:
        ValueError: an `out` that does not fit; a NaN that the source refuses.
    """
    array = source.array
    randoms = [] if draw is None else [draw.bits]
    codes = array_out(out, np.dtype(np.uint8), array.shape, array, *randoms)
    inputs, layout = source.policy, source.stored
    if _takes_table(encoder, layout, inputs, array.size, draw):
        table = code_table(encoder, layout, inputs)
        return _looked_up(table, source.patterns, array, codes, threads)
    layout = source.layout
    if _takes_table(encoder, layout, _NO_CHOICE, array.size, draw):
        table = code_table(encoder, layout)
        return _looked_up(table, lambda part: source.numbers(part)[0], array, codes, threads)

    by_steps = None if draw is None else encoder.stochastic_table(layout, draw)

    def compute(target: U8, part: NDArray[Any], *random: NDArray[Any]) -> None:
        if draw is not None and by_steps is not None:
            bits, of = source.numbers(part)
            widen = as_float32 if by_steps.layout == F32 else as_float64
            wide = bits if of == by_steps.layout else widen(bits, of)
            by_steps.write(wide, draw, random[0], target)
            return
        some = draw and Stochastic(draw.variant, random[0], draw.width)
        target[:] = encoder.codes(split(*source.numbers(part)), some)

    size = TILE if by_steps else PARTS if draw is None else CHUNK
    in_chunks(compute, threads, codes, array, *randoms, size=size)
    return codes


def _looked_up(
    table: CodeTable,
    read: Callable[[NDArray[Any]], Bits],
    array: NDArray[Any],
    codes: U8,
    threads: int | None,
) -> U8:
    """Codes by a table of patterns that are read from parts of an array."""
    in_chunks(lambda to, part: table.write(read(part), to), threads, codes, array, size=TILE)
    return codes


def _takes_table(
    encoder: Encoder,
    layout: FloatLayout,
    inputs: ElementPolicy,
    size: int,
    draw: Stochastic | None,
) -> bool:
    """Whether a call with this many numbers looks them up, whatever was called before."""
    width = key_layout(encoder.target, layout, inputs.pre_rounding).width
    return draw is None and width <= _WIDEST and _pays(size, width)


def _pays(size: int, width: int) -> bool:
    """Whether a table with keys of this width is worth building for a call of this size.

    Measured for float32 to E4M3, whose table takes as long as 5 calls of one number without it.
    """
    return width <= _SMALL or _KEYS_A_NUMBER * size >= 1 << width


@dataclass(frozen=True, slots=True)
class CodeTable:
    """Codes by key.

    Args:
        codes: uint8, one for each key.
        drop: low bits of a number that its key leaves out.
    """

    codes: U8
    drop: int

    def write(self, bits: Bits, target: U8) -> None:
        """Write the codes of a chunk (n,) of numbers."""
        np.take(self.codes, odd_keys(bits, self.drop), out=target, mode="wrap")


@functools.lru_cache(maxsize=256)
def code_table(
    encoder: Encoder, layout: FloatLayout, inputs: ElementPolicy = _NO_CHOICE
) -> CodeTable:
    """The table for numbers of a layout before input choices; 16-bit floats are their own keys.

    Numbers that have one code follow one another, so that a binade has one code if its first and
    its last number have the same: the others have it, too, and need not be computed.

    Flushing asks for no further bit, since rounding to odd keeps zeros and subnormals what they
    are.
    """
    key = key_layout(encoder.target, layout, inputs.pre_rounding)

    def codes_of(keys: Bits) -> U8:
        return encoder.codes(split(*after_input_choices(keys, key, inputs)))

    count, length = 2 << key.exponent_bits, 1 << key.mantissa_bits
    binades = np.arange(1 << key.width, dtype=key.uint).reshape(count, length)
    first, last = codes_of(binades[:, 0]), codes_of(binades[:, -1])
    many = first != last
    many.reshape(2, -1)[:, [0, -1]] = True  # zero and subnormal numbers; infinity and NaN
    codes: U8 = np.repeat(first, length).reshape(count, length)
    for some in np.array_split(np.flatnonzero(many), -(-many.sum() * length // PARTS)):
        codes[some] = codes_of(binades[some])
    codes = np.ravel(codes)
    drop = layout.mantissa_bits - key.mantissa_bits
    if layout.width <= 16:
        codes, drop = codes[to_odd(np.arange(1 << 16, dtype=np.uint16), drop)], 0
    codes.flags.writeable = False
    return CodeTable(codes, drop)


def decoded(
    table: Table, codes: U8, layout: FloatLayout, out: Floats | None, threads: int | None
) -> Floats:
    """The floats whose patterns a table holds by code, a chunk at a time."""
    bits, in_pairs = floats_out(out, codes.shape, layout, codes), codes.size >= MANY

    def chunk(target: NDArray[Any], part: U8) -> None:
        table.write(part, target, in_pairs=in_pairs)

    in_chunks(chunk, threads, bits, codes, size=TILE)
    return floats_from(bits, layout) if out is None else out

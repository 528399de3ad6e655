"""Lookup tables: codes of numbers, and the floats of codes.

The index of a number's code is its key: the number rounded to odd to two fraction bits more than
its target has. All numbers with one key round alike, whatever the rounding; see `to_odd` for the
proof. So a table holds the codes under every deterministic choice of a policy.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import (
    I64,
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
from mxref.formats.catalog import CodeFormat
from mxref.numbers.source import Source
from mxref.support.threads import TILE, in_chunks

#: Bits of a key that a table may have: 4 MiB.
_WIDEST = 22
#: A call looks its numbers up if the table has at most this many keys for each of them.
_KEYS_A_NUMBER = 32
#: Elements of a chunk without a table: its int64 arrays are small enough to be allocated quickly.
PARTS = 1 << 13


class Encoder(Hashable, Protocol):
    """A rounding of numbers to the codes of a format; hashable."""

    @property
    def target(self) -> CodeFormat:
        """The format that numbers are rounded to."""

    def codes(self, parts: Parts, draw: Stochastic | None = None) -> U8:
        """The codes of numbers in integer parts."""


def key_layout(target: CodeFormat | FloatLayout, layout: FloatLayout) -> FloatLayout:
    """Layout of the odd-rounded keys that tell apart what rounds to different numbers of a target.

    A key keeps two fraction bits more than the target, and more again where the target's subnormals
    reach below those of the source.
    """
    keep = target.mantissa_bits + 2 + max(0, layout.emin - target.emin)
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
    array, layout = source.array, source.layout
    codes = array_out(out, np.dtype(np.uint8), array.shape, array)
    if draw is None and _takes_table(encoder, layout, array.size):
        table = code_table(encoder, layout)

        def look_up(target: U8, part: NDArray[Any]) -> None:
            table.write(source.numbers(part)[0], target)

        in_chunks(look_up, threads, codes, array, size=TILE)
        return codes

    def compute(target: U8, part: NDArray[Any], *random: I64) -> None:
        some = draw and Stochastic(draw.variant, random[0], draw.width)
        target[:] = encoder.codes(split(*source.numbers(part)), some)

    randoms = [] if draw is None else [draw.bits.reshape(array.shape)]
    in_chunks(compute, threads, codes, array, *randoms, size=PARTS)
    return codes


def _takes_table(encoder: Encoder, layout: FloatLayout, size: int) -> bool:
    """Whether a call with this many numbers uses a table, whatever was called before.

    A table that only one such call uses costs at most about four times what it saves.
    """
    width = key_layout(encoder.target, layout).width
    return width <= _WIDEST and _KEYS_A_NUMBER * size >= 1 << width


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
def code_table(encoder: Encoder, layout: FloatLayout) -> CodeTable:
    """The table for numbers of a layout; for 16-bit floats every pattern is a key."""
    key = key_layout(encoder.target, layout)
    codes = np.empty(1 << key.width, np.uint8)

    def compute(target: U8, part: Bits) -> None:
        target[:] = encoder.codes(split(part, key))

    in_chunks(compute, 1, codes, np.arange(codes.size, dtype=key.uint), size=PARTS)
    drop = layout.mantissa_bits - key.mantissa_bits
    if layout.width <= 16:
        codes, drop = codes[to_odd(np.arange(1 << 16, dtype=np.uint16), drop)], 0
    codes.flags.writeable = False
    return CodeTable(codes, drop)


def decoded(
    table: NDArray[Any], codes: U8, layout: FloatLayout, out: Floats | None, threads: int | None
) -> Floats:
    """The floats whose patterns a table holds by code, a chunk at a time."""
    bits = floats_out(out, codes.shape, layout, codes)

    def chunk(target: NDArray[Any], part: U8) -> None:
        np.take(table, part, out=target, mode="wrap")

    in_chunks(chunk, threads, bits, codes, size=TILE)
    return floats_from(bits, layout) if out is None else out

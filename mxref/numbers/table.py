"""Codes of numbers by a table: a number rounded to odd in its top bits is the index of its code.

A key keeps two fraction bits more than what it is rounded to, so that everything that a rule tells
apart lies in different keys: see `to_odd` for the proof. A type that numbers are rounded to first
is such a target, too, if it does not make the table too large, and flushing asks for no bit at all,
since rounding to odd keeps subnormals and zeros what they are. So a table holds every deterministic
choice. It is made when so many numbers have come that making it costs no more than they did.
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
)
from mxref.bits.keys import odd_keys
from mxref.bits.out import array_out, floats_out
from mxref.formats.catalog import CodeFormat
from mxref.numbers.source import Source, narrowed, narrowed_layout, settled
from mxref.policy.choices import PreRounding
from mxref.policy.policy import ElementPolicy
from mxref.support.late import InTime
from mxref.support.threads import CHUNK, TILE, in_chunks

__all__ = ["Rule", "decoded", "key_layout", "look_up"]

#: Bits of a key that a table may have: 4 MiB.
_WIDEST = 22
#: A table is made at the latest when so many numbers have come.
_PATIENCE = 1 << 16


class Rule(Hashable, Protocol):
    """What gives numbers their codes; hashable."""

    @property
    def target(self) -> CodeFormat:
        """The format that numbers are rounded to."""

    @property
    def inputs(self) -> ElementPolicy:
        """What is done to numbers before: `pre_rounding` and `subnormal_inputs`."""

    @property
    def nan_error(self) -> str:
        """What to say of a NaN if there must be none, or nothing."""

    def codes(self, parts: Parts, draw: Stochastic | None = None) -> U8:
        """The codes of numbers to which that has been done."""


def key_layout(target: CodeFormat | FloatLayout, layout: FloatLayout) -> FloatLayout:
    """Layout of the odd-rounded keys that tell apart what rounds to different numbers of a target.

    A key keeps two fraction bits more than the target, and more again where the target's subnormals
    reach below those of the source.
    """
    keep = target.mantissa_bits + 2 + max(0, layout.emin - target.emin)
    return FloatLayout("key", layout.exponent_bits, min(keep, layout.mantissa_bits))


def look_up(
    rule: Rule,
    source: Source,
    out: U8 | None = None,
    threads: int | None = None,
    draw: Stochastic | None = None,
) -> U8:
    """Codes of numbers, a chunk at a time.

    Args:
        rule: what gives them, with the choices about inputs that `source` leaves to be done.
        source: the numbers.
        out: where the codes go; a new array if None.
        threads: as `thread_count` takes it.
        draw: random bits in the shape of the numbers, for which there is no table.

    Raises:
        ValueError: an `out` that does not fit; a NaN that the rule refuses.
    """
    layout, array = source.layout, source.array
    codes = array_out(out, np.dtype(np.uint8), array.shape, array)
    table = _table(rule, layout).after(array.size) if draw is None else None

    def chunk(target: U8, part: NDArray[Any], *random: I64) -> None:
        bits = source.bits(part)
        if table is not None:
            table.write(bits, target)
        else:
            some = draw and Stochastic(draw.variant, random[0], draw.width)
            _refuse_nan(bits, layout, rule.nan_error)
            target[:] = rule.codes(split(*settled(bits, layout, rule.inputs)), some)

    randoms = [] if draw is None else [draw.bits.reshape(array.shape)]
    size = CHUNK if table is None else TILE
    in_chunks(chunk, threads, codes, array, *randoms, size=size)
    return codes


@dataclass(frozen=True, slots=True)
class _Table:
    """Codes by key.

    Args:
        rule: what they come from.
        layout: of the numbers.
        narrow: what the numbers are rounded to before there is a key.
        drop: bits of a number that its key leaves out.
        codes: uint8, 2**width of a key.
        unused: a byte that is no code, but stands for NaN where that is an error; None if there is
            none.
    """

    rule: Rule
    layout: FloatLayout
    narrow: PreRounding
    drop: int
    codes: U8
    unused: int | None

    @classmethod
    def of(cls, rule: Rule, layout: FloatLayout) -> _Table:
        """The table for numbers of a layout."""
        narrow, key = _key(rule, layout)
        first = narrowed_layout(layout, narrow)
        keys = np.arange(1 << key.width, dtype=key.uint)
        codes = np.empty(keys.size, np.uint8)
        last = narrowed_layout(key, rule.inputs.pre_rounding)
        smaller = None if last is key else cls.of(rule, last)

        def chunk(target: U8, part: Bits) -> None:
            if smaller is None:
                target[:] = rule.codes(split(*settled(part, key, rule.inputs)))
            else:
                smaller.look_up(narrowed(part, key, rule.inputs.pre_rounding)[0], target)

        in_chunks(chunk, 1, codes, keys)
        unused = None
        if rule.nan_error:
            free = np.setdiff1d(np.arange(256), codes)
            unused = int(free[-1]) if free.size else None
            codes[split(keys, key).is_nan] = codes[0] if unused is None else unused
        codes.flags.writeable = False
        return cls(rule, layout, narrow, first.mantissa_bits - key.mantissa_bits, codes, unused)

    def look_up(self, bits: Bits, target: U8) -> None:
        """Write the codes of a chunk."""
        keys = odd_keys(narrowed(bits, self.layout, self.narrow)[0], self.drop)
        np.take(self.codes, keys, out=target, mode="wrap")

    def write(self, bits: Bits, target: U8) -> None:
        """The same, and raise the rule's error."""
        if self.unused is None:
            _refuse_nan(bits, self.layout, self.rule.nan_error)
        self.look_up(bits, target)
        if self.unused is not None and (target == self.unused).any():
            raise ValueError(self.rule.nan_error)


def _key(rule: Rule, layout: FloatLayout) -> tuple[PreRounding, FloatLayout]:
    """What numbers are rounded to before there is a key, and the key, which may carry that, too."""
    to = rule.inputs.pre_rounding
    if layout.width <= 16:
        return PreRounding.NONE, layout
    first = narrowed_layout(layout, to)
    key = key_layout(rule.target, layout)
    if first is layout:
        return PreRounding.NONE, key
    whole = max(key, key_layout(first, layout), key=lambda one: one.mantissa_bits)
    if whole.width <= _WIDEST:
        return PreRounding.NONE, whole
    return to, key_layout(rule.target, first)


@functools.lru_cache(maxsize=256)
def _table(rule: Rule, layout: FloatLayout) -> InTime[_Table | None]:
    width = _key(rule, layout)[1].width
    if width > _WIDEST:
        return InTime(lambda: None, 0)
    return InTime(lambda: _Table.of(rule, layout), min(_PATIENCE, 1 << (width - 1)))


def _refuse_nan(bits: Bits, layout: FloatLayout, message: str) -> None:
    """Refuse NaN if there is a message: patterns above infinity's, as integers of either kind."""
    signed = bits.view(f"i{bits.dtype.itemsize}")
    negative = layout.sign_bit | layout.inf_bits
    if message and (bits.max(initial=0) > negative or signed.max(initial=0) > layout.inf_bits):
        raise ValueError(message)


def decoded(
    table: NDArray[Any], codes: U8, layout: FloatLayout, out: Floats | None, threads: int | None
) -> Floats:
    """The floats whose patterns stand in a table by code, a chunk at a time."""
    bits = floats_out(out, codes.shape, layout, codes)

    def chunk(target: NDArray[Any], part: U8) -> None:
        np.take(table, part, out=target, mode="wrap")

    in_chunks(chunk, threads, bits, codes, size=TILE)
    return floats_from(bits, layout) if out is None else out

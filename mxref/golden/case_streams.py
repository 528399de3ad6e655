"""Endless cases from a seed, with a running digest by which two machines can be compared.

A stream is one operation, format, float type and policy. Case i depends only on the stream's name,
the seed and i. After every 2**16 cases, and after the last one,
``state = sha256(state + inputs + answers)``, where the first state is
``sha256("mxref-stream-1 SEED OP FORMAT FLOAT POLICY")``; inputs and answers are little-endian
words, one byte for codes, case by case.

Half of the scalars are arbitrary patterns, half lie within three floats of a threshold. Each block
to be quantized has its own centre and spread of exponents, or numbers and midpoints of the format
under one scale; some have a special value or zeros. Blocks to be dequantized have arbitrary codes.
"""

from __future__ import annotations

import functools
import hashlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.cases.answers import fast_answers
from mxref.cases.grid import grid
from mxref.formats.catalog import BLOCK_FORMATS, E8M0, ELEMENT_FORMATS, block_format
from mxref.golden.level2 import compare
from mxref.operands.splitmix import splitmix64
from mxref.operations.registry import REGISTRY
from mxref.policy.policy import Policy

__all__ = ["CHAIN", "CaseStream", "every_stream"]

#: Cases between two digests.
CHAIN = 1 << 16
#: Cases computed in one call; divides CHAIN.
_PART = 1 << 13
#: The slow twin checks one in this many cases; a prime, so that it meets every period of them.
_SHARE = 61
#: operation -> random words of a case; of `quantize` eight for the block, one for each element.
_WORDS = {"quantize": 40, "dequantize": 33}

U64 = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class CaseStream:
    """An endless stream of cases.

    Args:
        op: operation.
        format: element, scale or block format.
        float: type of the float side.
        seed: from 0 to 2**64 - 1.
        policy: the policy's spelling.

    Raises:
        ValueError: a seed out of range.
    """

    op: str
    format: str
    float: str
    seed: int
    policy: str = "ocp"

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 1 << 64:
            raise ValueError(f"seed must be from 0 to 2**64 - 1, got {self.seed}")

    @property
    def name(self) -> str:
        """The name, as in ``encode.e2m1.f32``."""
        return f"{self.op}.{self.format}.{self.float}"

    @property
    def first_state(self) -> bytes:
        """The state before the first case."""
        text = f"mxref-stream-1 {self.seed} {self.op} {self.format} {self.float} {self.policy}"
        return hashlib.sha256(text.encode("ascii")).digest()

    def inputs(self, start: int, count: int) -> NDArray[Any]:
        """Input words of cases, one case a row.

        >>> CaseStream("encode", "e2m1", "f32", 1).inputs(5, 1).shape
        (1, 1)
        """
        width = _WORDS.get(self.op, 2)
        # Different words for every stream.
        (seed,) = struct.unpack("<Q", self.first_state[:8])
        words = splitmix64(seed, count * width, start * width).reshape(count, width)
        layout = LAYOUTS[self.float]
        row = REGISTRY[self.op]
        if row.blocks == "codes":
            codes = words % np.uint64(block_format(self.format).element.code_count)
            return np.concatenate([words[:, :1] & np.uint64(0xFF), codes[:, 1:]], axis=1).astype(
                np.uint8
            )
        if row.blocks:
            return _blocks(words, self.format, layout).astype(layout.uint)
        near = _thresholds(self.op, self.format, layout)
        return _scalars(words, near, layout, signed="amax" not in row.parameters)

    def chain(self, count: int | None = None) -> Iterator[tuple[int, str]]:
        """Pairs of the number of cases so far and the state, every 2**16 cases and after the last.

        Args:
            count: number of cases; endless if None.

        Raises:
            DisagreementError: the two references differ on a case.
            ValueError: count below 1.
        """
        if count is not None and count < 1:
            raise ValueError(f"count must be 1 or more, got {count}")
        policy = Policy.parse(self.policy)
        state, done = self.first_state, 0
        while count is None or done < count:
            end = done + CHAIN if count is None else min(done + CHAIN, count)
            inputs, answers = hashlib.sha256(state), []
            for start in range(done, end, _PART):
                words = self.inputs(start, min(_PART, end - start))
                answer = fast_answers(self.op, self.format, self.float, words, policy)
                some = slice(-start % _SHARE, None, _SHARE)
                compare(self.op, self.format, self.float, policy, words[some], answer[some])
                inputs.update(_bytes(words))
                answers.append(_bytes(answer))
            inputs.update(b"".join(answers))
            state, done = inputs.digest(), end
            yield done, state.hex()


def every_stream(seed: int, policy: str = "ocp") -> list[CaseStream]:
    """A stream for each float type of each format, of operations with too many inputs to try all.

    >>> len(every_stream(0))
    100
    """
    names = [
        *((op, fmt) for op in ("encode", "shared_scale") for fmt in ELEMENT_FORMATS),
        ("encode_scale", E8M0.name),
        *((op, block) for op in ("quantize", "dequantize") for block in BLOCK_FORMATS),
    ]
    return [CaseStream(op, fmt, float, seed, policy) for op, fmt in names for float in LAYOUTS]


def _bytes(words: NDArray[Any]) -> bytes:
    return words.astype(words.dtype.newbyteorder("<"), copy=False).tobytes()


#: Significands in 64ths at which scale rules and roundings of scales change the scale.
_LIMITS = np.array([64, 80, 91, 96, 112, 116, 120, 124, 126, 127], np.uint64)


@functools.cache
def _thresholds(op: str, format: str, layout: FloatLayout) -> U64:
    """Patterns at which answers change; frozen, since a different list changes every stream."""
    m = np.uint64(layout.mantissa_bits)
    fields = np.arange((1 << layout.exponent_bits) - 1, dtype=np.uint64)
    if "rounding" in REGISTRY[op].reads():
        numbers, middles = grid(ELEMENT_FORMATS[format], layout)
        # The format's own points, and equally many ends of binades and infinities.
        ends = np.append(fields, fields[-1:] + np.uint64(1)) << m
        own = np.array([*numbers, *middles], np.uint64)
        size = max(own.size, ends.size)
        found = np.concatenate([np.resize(own, size), np.resize(ends, size)])
    else:
        fractions = (_LIMITS - np.uint64(64)) << m >> np.uint64(6)
        found = (fields[:, np.newaxis] << m | fractions).reshape(-1)
    return np.concatenate([found, found | np.uint64(layout.sign_bit)])


def _scalars(words: U64, thresholds: U64, layout: FloatLayout, *, signed: bool) -> NDArray[Any]:
    mask = np.uint64((layout.sign_bit << 1) - 1)
    near = thresholds[
        (words[:, 1] >> np.uint64(8) & np.uint64(0xFFFFFFFF)) % np.uint64(thresholds.size)
    ]
    # From 3 below to 3 above; 0 - 3 wraps to a NaN, which is a valid input.
    near = near + (words[:, 1] & np.uint64(0xFF)) % np.uint64(7) - np.uint64(3)
    is_near = words[:, 1] >> np.uint64(63) == 1
    bits = np.where(is_near, near, words[:, 0]) & mask
    if not signed:
        bits &= np.uint64(layout.sign_bit - 1)
    return bits.astype(layout.uint)[:, np.newaxis]


def _blocks(words: U64, format: str, layout: FloatLayout) -> U64:
    """Blocks of 32 patterns."""
    block, element = words[:, :8], words[:, 8:]
    top = (1 << layout.exponent_bits) - 2
    m = layout.mantissa_bits
    centre = (block[:, :1] % np.uint64(top + 1)).astype(np.int64)
    # Scales end near 2**127, so three in four blocks of float64 are not far from that.
    near_scales = np.int64(layout.bias - 160) + centre % 320
    wide = layout.width == 64 and (block[:, :1] >> np.uint64(60) & np.uint64(3)) != 0
    centre = np.where(wide, near_scales, centre)
    spread = (np.uint64(1) << block[:, 1:2] % np.uint64(8)).astype(np.int64)  # 1 to 128
    below = (element >> np.uint64(48)).astype(np.int64) % spread
    field = np.maximum(centre - below, 0).astype(np.uint64)
    # Fractions with all bits, or with few high bits: ties and numbers of the format.
    fraction = element & np.uint64((1 << m) - 1)
    kept = np.uint64(m) - np.minimum(block[:, 2:3] % np.uint64(12), np.uint64(m))
    few = (block[:, 3:4] & np.uint64(1)) == 1
    fraction = np.where(few, fraction >> kept << kept, fraction)
    bits = field << np.uint64(m) | fraction
    # One block in four: numbers and midpoints of the format times a power of two, and neighbours.
    grid = _grid(format, layout)
    steps = element % np.uint64(grid.size)
    shift = centre - np.int64(layout.bias)
    moved = grid[steps].astype(np.int64) + (shift << m)
    near = moved + (element >> np.uint64(40)).astype(np.int64) % 3 - 1
    inside = (moved >> m > 0) & (moved >> m <= top)
    is_grid = (block[:, 4:5] & np.uint64(3)) == 0
    bits = np.where(is_grid & inside, near.astype(np.uint64), bits)
    # One block in 16 has zeros, a quarter of these only zeros; one in 16 an infinity or a NaN.
    kind = block[:, 5:6] & np.uint64(15)
    zero = (kind == 0) & (((element >> np.uint64(36)) & block[:, 6:7] & np.uint64(3)) == 0)
    bits = np.where(zero, np.uint64(0), bits)
    position = np.arange(32, dtype=np.uint64) == block[:, 7:8] % np.uint64(32)
    special = np.uint64(layout.inf_bits) + (block[:, 6:7] & np.uint64(3))
    bits = np.where((kind == 1) & position, special, bits)
    sign = (element >> np.uint64(63)) << np.uint64(layout.width - 1)
    return (bits & np.uint64(layout.sign_bit - 1)) | sign


@functools.cache
def _grid(format: str, layout: FloatLayout) -> U64:
    numbers, middles = grid(block_format(format).element, layout)
    return np.array([bits for bits in (*numbers, *middles) if bits < layout.inf_bits], np.uint64)

"""Strategies of cases of operations of calls, made from their fields."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from hypothesis import strategies as st

from mxref.operands import fields as of_fields
from mxref.operands.draws import Draws
from mxref.operands.kinds import Codes, Floats, Integers, Kind, Scales, Size
from mxref.operations.call_operation import CallOperation
from mxref.operations.registry import CALL_OPERATIONS
from mxref.strategies.for_floats import patterns
from mxref.support.integers import rounded_up

__all__ = ["integer_cases"]

Cases = st.SearchStrategy[list[int]]

_MASK = 0xFFFFFFFF
#: The float32 patterns of 1, 1/2, 0.1, 0.013, 1/127 and 2**-16.
_SCALES = (0x3F800000, 0x3F000000, 0x3DCCCCCD, 0x3C54FDF4, 0x3C010204, 0x37800000)
#: Sizes of calls, beside those up to 20, and about the most words.
_LARGE = (31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 255, 256, 257, 1023, 1024, 1025, 4097)
_COUNTS = st.integers(1, 20) | st.sampled_from(_LARGE)
_WORDS = 5000


def integer_cases(op: str, format: str) -> Cases:
    """The words of cases of an operation of calls; a case is one call that has an answer.

    Some cases are those of the search, near to where kernels go wrong.

    Args:
        op: `quantize_affine`, `dequantize_affine`, `pack_int4`, `unpack_int4`, `rescale`,
            `grid_sample`, `linear_qcs8w`, `linear_qcs4w`, or one that is defined elsewhere.
        format: a format of its vectors.

    >>> from hypothesis import find, settings
    >>> quiet = settings(database=None, derandomize=True)
    >>> find(integer_cases("pack_int4", "int4"), lambda words: words[1] % 2 == 0, settings=quiet)
    [1, 2, 0, 0]
    """
    one = CALL_OPERATIONS[op]
    seeds = st.just(0) | st.integers(1, (1 << 20) - 1)
    plain = not any(callable(field.shape) for field in one.fields(format))
    found = _like(one, format, seeds) if plain else seeds.map(lambda seed: _base(one, format, seed))
    return found.filter(lambda words: _has_answer(one, format, words))


def _base(one: CallOperation, format: str, seed: int) -> list[int]:
    """A case of the search; the easy one of seed 0."""
    if not seed:
        return list(one.easy(format, one.slot_of(format)))
    words = one.question(format, Draws(f"{one.name} {format} {seed}"), seed)
    return [int(word) & _MASK for word in words]


def _has_answer(one: CallOperation, format: str, words: list[int]) -> bool:
    try:
        one.answer(format, words, one.first_policy(format))
    except ValueError:
        return False
    return True


@st.composite
def _like(draw: st.DrawFn, one: CallOperation, format: str, seeds: st.SearchStrategy[int]) -> Any:
    """Cases of any sizes with parameters of a case of the search, whose arrays repeat a few values.

    Half of the values are those of that case.
    """
    fields = one.fields(format)
    parts: dict[str, Any] = dict(of_fields.parts_of(fields, _base(one, format, draw(seeds))))
    left, sizes = _WORDS, {"*": min(draw(_COUNTS), 1025)}
    for field in fields:
        if isinstance(field.kind, Size):
            count = 1 if field.kind.most == 1 else min(draw(_COUNTS), max(left, 1))
            sizes[field.name] = rounded_up(count, field.kind.unit)
            left //= sizes[field.name]
            sizes["*"] = min(sizes["*"], max(left, 1))
            parts[field.name] = np.int64(sizes[field.name])
        elif field.shape:
            own = parts[field.name].reshape(-1).tolist() or [field.kind.easy]
            some = draw(_few(tuple(own), field.kind))
            parts[field.name] = np.resize(np.array(some, np.int64), field.lengths(sizes))
        elif not isinstance(field.kind, Integers) or field.kind.has_range:
            parts[field.name] = np.int64(draw(_values(field.kind)))
    return [word & _MASK for word in of_fields.joined(fields, parts)]


# Each new strategy is checked when it is drawn from first, which takes longer than the draw.
@functools.lru_cache(maxsize=256)
def _few(own: tuple[int, ...], kind: Kind) -> Cases:
    """Up to eight values of a kind, half of them of its own ones."""
    return st.lists(st.sampled_from(own) | _values(kind), min_size=1, max_size=8)


@functools.lru_cache(maxsize=256)
def _values(kind: Kind) -> st.SearchStrategy[int]:
    """Values of a kind, simple ones first."""
    if isinstance(kind, Integers):
        return st.integers(kind.low, kind.high)
    if isinstance(kind, Codes):
        return st.integers(0, kind.fmt.code_count - 1)
    if isinstance(kind, Scales):
        return st.sampled_from(_SCALES) | st.integers(kind.low, kind.high)
    if isinstance(kind, Floats):
        dtype, uint = kind.layout.dtype, kind.layout.uint
        small = st.integers(-20, 20).map(lambda n: int(np.array(n).astype(dtype).view(uint)))
        return (small | patterns(kind.layout.name)).filter(kind.is_legal)
    raise TypeError(f"kind must be one of mxref.operands.kinds, got {type(kind).__name__}")

"""Strategies of input words for every operation that `fuzz` asks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from mxref import strategies
from mxref.bits.floats import F32, LAYOUTS, U8
from mxref.cases.drawn_layers import SHAPES, layer_words
from mxref.cases.grid import holds_steps
from mxref.conformance.fuzzing.variants import EACH_LANE, VARIANTS
from mxref.formats.catalog import (
    E8M0,
    BlockFormat,
    block_format,
    code_format,
    element_format,
)
from mxref.operands.word_rows import NO_WORD, padded
from mxref.operations.layer_operations import LayerOperation
from mxref.operations.layouts import LayoutOperation
from mxref.operations.operation import AnyPolicy, Operation
from mxref.operations.product_words import pair_formats
from mxref.operations.registry import REGISTRY
from mxref.packing.elements import pack, pack_blocks
from mxref.packing.scales import pack_scales
from mxref.policy.choices import NaNToFinite
from mxref.policy.policy import Policy
from mxref.strategies.for_floats import (
    limit_patterns,
    numbers,
    one_branch,
    ranges,
    rows,
    stretches,
    threshold_patterns,
)

__all__ = ["Question", "questions", "subjects"]

#: Input words, one case a row, and a number from 0 to 3 for the memory order of a tensor.
Question: TypeAlias = tuple[NDArray[np.uint64], int]
Ints: TypeAlias = st.SearchStrategy[int]
Rows: TypeAlias = st.SearchStrategy[list[Sequence[int]]]

#: Scale codes, those nearest to one first.
_AROUND_ONE = sorted(range(E8M0.code_count), key=lambda code: abs(code - E8M0.bias))
#: Variants of blocks of numbers, rotations with twice the weight of others.
_VARIANTS = (*VARIANTS, "turns")
#: Elements of the largest block of which there are variants for each lane.
_LANES = 1024
#: The most words of a linear layer that is not one of those of the search.
_WORDS = 4000
#: Scales of the tensors of products: 1, 2, 1/2, 1/3, 10 and 1/2688.
_TENSORS = (0x3F800000, 0x40000000, 0x3F000000, 0x3EAAAAAB, 0x41200000, 0x39C30C31)


def subjects(policy: Policy) -> Iterator[tuple[str, str, str]]:
    """Every operation, format and float type (or layout of the input bytes)."""
    for op, row in REGISTRY.items():
        for format in row.formats:
            for slot in row.slots_under(format, policy):
                if holds_steps(row, format, slot):
                    yield op, format, slot


def questions(op: str, format: str, slot: str, policy: AnyPolicy) -> st.SearchStrategy[Question]:
    """Questions about an operation, format and float type that have an answer."""
    if isinstance(policy, str):
        cases = strategies.integer_cases(op, format).map(lambda words: padded([words]))
        return st.tuples(cases, st.just(0))
    row = REGISTRY[op]
    memory = st.integers(0, 3) if row.before_block else st.just(0)  # of a matrix
    return st.tuples(_rows(row, format, slot, policy).map(padded), memory)


def _rows(row: Operation, format: str, slot: str, policy: Policy) -> Rows:
    if isinstance(row, LayerOperation):
        return _layers(row, format, slot)
    if row.bounds(format):
        return _dots(format)
    if row.blocks:
        return _blocks(row, format, slot, policy)
    if row.before_block:
        element = block_format(format).element.name
        near = strategies.near_thresholds(element, slot, policy)
        bits = _patterns(element, slot, policy) | near
        return strategies.tensors(slot, dims=2, orders=("C",), bits=bits).map(_tensor_words)
    if isinstance(row, LayoutOperation):
        return _layouts(row, format, policy).map(lambda row: [row])
    if row.random_bits:
        bits = st.integers(0, (1 << 32) - 1) | st.integers((1 << 32) - 4, (1 << 32) - 1)
        drawn = st.lists(st.tuples(bits, st.integers(1, 32)), min_size=1, max_size=6)
        return st.builds(_stochastic_words, _floats(format, slot, Policy()), drawn)
    if row.one_code:
        every = _AROUND_ONE if format == E8M0.name else range(code_format(format).code_count)
        return _column(stretches(every, 48))
    if "scale_rule" not in row.reads(format):
        return _column(_floats(format, slot, policy))
    limits = limit_patterns(format, slot, "floor", policy)
    magnitude = LAYOUTS[slot].sign_bit - 1
    some = _joined(strategies.patterns(slot), limits)
    return some.map(lambda words: [[word & magnitude] for word in words])


def _dots(format: str) -> Rows:
    """Dot products of one length: codes of all kinds, scales near 1 and at their ends."""

    def of(blocks: int) -> Rows:
        sides = []
        for fmt in pair_formats(format):
            if fmt.tensor_scale:
                sides.append(st.sampled_from(_TENSORS).map(lambda one: [one]))
            codes = st.integers(0, fmt.element.code_count - 1)
            sides += [_some(_scale_codes(fmt), blocks)]
            sides += [_some(codes, fmt.elements_per_block * blocks)]
        row = st.tuples(*sides).map(lambda parts: [word for part in parts for word in part])
        return st.lists(row, min_size=1, max_size=4)

    return st.integers(1, 3).flatmap(of)


def _scale_codes(fmt: BlockFormat) -> st.SearchStrategy[int]:
    """Scales near 1, and at their ends."""
    if fmt.scale == E8M0:
        return st.integers(0x70, 0x8E) | st.sampled_from((0x00, 0x01, 0x61, 0x83, 0xFE, 0xFF))
    return st.integers(0, fmt.scale.code_count - 1)


def _layers(row: LayerOperation, format: str, slot: str) -> Rows:
    """One or two layers of any shape up to some thousand words, or of those of the search."""
    rows = ranges((1, 3), (4, 8), (15, 17), (20, 40))
    sides = ranges((1, 3), (4, 8), (15, 17), (31, 33), (40, 96))
    shapes = st.tuples(ranges((1, 1), (2, 3)), rows, sides, sides).filter(
        lambda shape: shape[0] * shape[1] * (shape[2] + shape[3]) + shape[2] * shape[3] <= _WORDS
    )
    one = st.builds(
        lambda shape, seed: layer_words(row.name, format, slot, shape, seed),
        shapes | st.sampled_from(SHAPES),
        st.integers(0, 1 << 32),
    )
    return st.lists(one, min_size=1, max_size=2)


def _some(words: st.SearchStrategy[int], count: int) -> st.SearchStrategy[list[int]]:
    return st.lists(words, min_size=count, max_size=count)


def _column(words: st.SearchStrategy[list[int]]) -> Rows:
    """Cases of one word, asked in one call."""
    return words.map(lambda some: [[word] for word in some])


def _joined(words: Ints, near: Sequence[int]) -> st.SearchStrategy[list[int]]:
    """Some words, and a stretch of neighbouring ones from `near`."""
    return st.builds(list.__add__, st.lists(words, max_size=10), stretches(near, 96))


def _floats(format: str, slot: str, policy: Policy) -> st.SearchStrategy[list[int]]:
    """Patterns of a float type, most of them at thresholds."""
    near = threshold_patterns(format, slot, policy)
    return _joined(_patterns(format, slot, policy), near)


def _patterns(format: str, slot: str, policy: Policy) -> Ints:
    """Patterns of a float type that have an answer."""
    refuses = policy.element.nan_to_finite is NaNToFinite.ERROR
    allow_nan = not refuses or format == E8M0.name or code_format(format).nan_code is not None
    # NO_WORD, a NaN of float64, pads rows.
    return strategies.patterns(slot, allow_nan=allow_nan).filter(NO_WORD.__ne__)


def _stochastic_words(words: list[int], drawn: list[tuple[int, int]]) -> list[Sequence[int]]:
    """Numbers with random bits and their width, taken in turn."""
    pairs = zip(words, itertools.cycle(drawn), strict=False)
    return [(word, bits >> (32 - width), width) for word, (bits, width) in pairs]


def _blocks(row: Operation, format: str, slot: str, policy: Policy) -> Rows:
    fmt = block_format(format)
    found: Rows
    names: Sequence[str] = ("none", "turns")
    if not row.from_codes:
        names = _VARIANTS
        refuses = policy.element.nan_to_finite is NaNToFinite.ERROR
        places = () if refuses and fmt.element.nan_code is None else None
        if places is not None:
            names = [name for name in names if name != "specials"]
        uint = LAYOUTS[slot].uint
        found = strategies.blocks(format, slot, count=2, specials=places, policy=policy).map(
            lambda array: array.view(uint).tolist()
        )
    else:
        found = strategies.coded_blocks(format, count=2).map(
            lambda pair: np.concatenate([pair[0][:, np.newaxis], pair[1]], axis=1).tolist()
        )
    size = fmt.elements_per_block
    layout = LAYOUTS[slot]
    if size > _LANES:
        names = [name for name in names if name not in EACH_LANE]

    def with_variants(some: list[Sequence[int]], name: str) -> list[Sequence[int]]:
        first, block = some[-1][:-size], np.array(some[-1][-size:], np.uint64)
        more: list[list[int]] = VARIANTS[name](block, layout).tolist()
        return [*some, *([*first, *row] for row in more)]

    found = st.builds(with_variants, found, st.sampled_from(names))
    if not fmt.tensor_scale:
        return found
    scale = one_branch(*numbers(F32, [(-16, 16)])).map((F32.sign_bit - 1).__and__)
    return st.builds(lambda tensor, some: [[tensor, *row] for row in some], scale, found)


def _tensor_words(found: tuple[NDArray[Any], int]) -> list[Sequence[int]]:
    array, axis = found
    words = array.view(f"u{array.itemsize}").reshape(-1).tolist()
    return [[*array.shape, axis, *words]]


def _layouts(row: LayoutOperation, format: str, policy: Policy) -> st.SearchStrategy[Sequence[int]]:
    if row.works_on == "codes":
        some = strategies.codes(format)
        few, lists = st.lists(some, max_size=8), st.lists(some, min_size=1, max_size=70)
        lists |= st.integers(1, 70).flatmap(lambda count: rows(few, count))
        if not row.unpacks:
            return lists
        last = element_format(format).code_count - 1
        return st.builds(
            lambda codes, ones: [
                len(codes),
                *_filled(
                    pack(codes, format, policy), pack([last] * len(codes), format, policy), ones
                ),
            ],
            lists,
            st.booleans(),
        )
    if row.works_on == "scales":
        few = st.lists(strategies.scale_codes(), max_size=8)
        sides = ranges((1, 130), (1, 5), (31, 33), (127, 130))
        matrices = st.tuples(sides, st.integers(1, 9)).flatmap(
            lambda shape: rows(few, shape[0] * shape[1]).map(
                lambda codes: np.array(codes, np.uint8).reshape(shape)
            )
        )
        if not row.unpacks:
            return matrices.map(lambda codes: [*codes.shape, *codes.reshape(-1).tolist()])
        return st.builds(
            lambda codes, ones: [
                *codes.shape,
                *_filled(
                    pack_scales(codes, policy), pack_scales(np.full_like(codes, 255), policy), ones
                ),
            ],
            matrices,
            st.booleans(),
        )
    pairs = strategies.coded_blocks(format).map(lambda pair: (pair[0][:1], pair[1][0]))
    if not row.unpacks:
        return pairs.map(lambda pair: [*pair[0].tolist(), *pair[1].tolist()])
    return pairs.map(lambda pair: pack_blocks(*pair, format, policy).reshape(-1).tolist())


def _filled(packed: U8, held: U8, ones: bool) -> list[int]:  # noqa: FBT001
    """Packed bytes; if `ones`, with all bits set that hold no code and must not be read."""
    found: list[int] = (packed | ~held if ones else packed).tolist()
    return found

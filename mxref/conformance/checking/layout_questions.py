"""Computed questions about layouts and tensors of many sizes, with their right answers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.blocks.quantization import quantize
from mxref.blocks.shapes import result_shapes
from mxref.cases.answers import answerable
from mxref.cases.records import VectorFile
from mxref.cases.splitmix import splitmix64
from mxref.conformance.checking.axis_sizes import FAR, LARGE, long_axes
from mxref.conformance.checking.layout_texts import UNITS, layout_difference, layout_name
from mxref.conformance.checking.memory import MEMORIES
from mxref.conformance.checking.rules import Features
from mxref.formats.catalog import block_format, element_format
from mxref.packing.elements import pack, pack_blocks, unpack, unpack_blocks
from mxref.packing.scales import pack_scales, unpack_scales
from mxref.policy.policy import Policy
from mxref.profiles import Profile
from mxref.targets.calls import without_cases
from mxref.targets.layout_calls import layout_words
from mxref.targets.profile_target import profile_target, speaks_of

__all__ = ["LayoutQuestion", "LayoutSubject"]

Array = NDArray[Any]
Function = Callable[..., Any]

#: Codes of a call of `pack` and `unpack`, around powers of two and three times them, and blocks of
#: one of `pack_blocks` and `unpack_blocks`; and those of the first format only.
_CODES = (
    *range(1, 34), 44, 48, 53, 62, 63, 64, 65, 86, 96, 100, 110, 127, 128, 129, 150, 192, 237, 255,
    256, 257,
)  # fmt: skip
_LARGE_CODES = (1023, 1024, 1025, 4095, 4096, 4097, 65_573, 70_000)
_LARGE_BLOCKS = (512, 1023, 1025, 2048, 4097)
_MANY = sorted({*LARGE, *FAR})
#: Matrices of scales: to 3 x 3 and 5 x 2 tiles of 128 x 4, with ragged edges.
_MATRICES = (
    (1, 1), (1, 5), (3, 4), (31, 3), (32, 4), (33, 8), (1, 33), (127, 4), (128, 1), (128, 4),
    (128, 8), (128, 9), (129, 1), (129, 4), (129, 5), (255, 3), (256, 4), (256, 8), (257, 12),
    (300, 9), (384, 12), (385, 3), (512, 4), (513, 7), (640, 8), (70, 70), (4, 128), (130, 33),
    (33, 130), (1025, 3), (2048, 4), (3, 1025), (129, 1024), (1025, 257), (4097, 32), (65_573, 2),
    *((rows, columns) for rows, columns in long_axes(2, (1, 5, 33))),
)  # fmt: skip
#: Tensors, along both axes: those of every float type, of the first one only, and of the first
#: one of the first format.
_TENSORS = (
    (1, 1), (1, 33), (33, 1), (2, 33), (5, 64), (64, 5), (5, 70), (70, 5), (31, 33), (48, 80),
    (64, 64), (3, 257),
)  # fmt: skip
_LARGE_TENSORS = (
    (33, 31), (32, 96), (32, 128), (33, 70), (129, 40), (64, 127), (127, 129), (257, 299),
    (300, 300), (3, 513), (513, 3), (33, 1056), (1056, 33), (2, 2048), (2048, 2), (1, 4097),
    (4097, 1),
)  # fmt: skip
_LONG_TENSORS = (
    *((rows, columns) for rows, columns in long_axes(2, (1, 3, 33))),
    (7, 7), (32, 32), (513, 64), (600, 70), (513, 600), (1025, 1056), (2049, 513), (3, 8193),
    (8193, 3), (65_573, 32), (32, 65_573),
)  # fmt: skip
#: Of these, the shapes that are asked in other memory.
_MOVED = {
    "pack": ((1, 33), (1, 257)),
    "unpack": ((1, 33), (1, 257)),
    "pack_scales": ((129, 5), (33, 8)),
    "unpack_scales": ((129, 5), (33, 8)),
    "pack_blocks": ((1, 33), (1, 9)),
    "unpack_blocks": ((1, 33), (1, 9)),
    "quantize_tensor": ((64, 64), (33, 70), (129, 40)),
}
#: Lines and their lengths of the tensors that tell what wrong ones have in common.
_TELLING = (1, 2, 3, 4, 5, 6, 8, 12, 33), (1, 20, 32, 33, 64, 100)
_BLOCK = 32


@dataclass(frozen=True, slots=True)
class LayoutSubject:
    """An operation on layouts, and what gives the target's answers to its vectors.

    Args:
        op: the operation.
        format: the format.
        float: the float type, or the layout of the bytes.
        policy: the policy that gives the answers.
        profile: the profile that gives them where it speaks of them.
        fails: whether some answers to the vectors are others, which nothing known gives.
    """

    op: str
    format: str
    float: str
    policy: Policy
    profile: Profile | None = None
    fails: bool = False

    @property
    def answerable(self) -> bool:
        """Whether the policy has answers."""
        return answerable(self.op, self.format, self.float, self.policy)

    @property
    def file(self) -> VectorFile:
        """The vector file without its cases."""
        return without_cases(self.op, self.format, self.float)

    def answer(self, arguments: tuple[Any, ...]) -> tuple[object, bool]:
        """The right result of a call, and whether the target may refuse it, as the profile does.

        What the profile refuses is answered by the policy.
        """
        profile = self._spoken_of
        if profile is not None:
            try:
                return profile_target(profile).operations[self.op](*arguments), False
            except ValueError:
                pass
        return _BY_POLICY[self.op](self.policy)(*arguments), profile is not None

    @property
    def inverse(self) -> Function:
        """What makes the bytes that an operation unpacks: as a policy does, also for a profile."""
        profile = self._spoken_of
        policy = self.policy if profile is None else profile.policy
        return _BY_POLICY[self.op.removeprefix("un")](policy)

    def questions(
        self, elements: int, *, first_float: bool, first_format: bool
    ) -> Iterator[LayoutQuestion]:
        """See `Subject`."""
        axes = (0, 1) if self.op == "quantize_tensor" else (1,)
        for shape in _shapes(self.op, first_float=first_float, first_format=first_format):
            if _elements_in(self.op, shape) <= elements:
                yield from (LayoutQuestion(self, shape, axis) for axis in axes)
        for shape in _MOVED[self.op] if first_float else ():
            if _elements_in(self.op, shape) <= elements:
                for memory in range(1, len(MEMORIES)):
                    if memory != 3 or self.op not in ("pack", "unpack", "unpack_scales"):
                        yield LayoutQuestion(self, shape, axes[memory % len(axes)], memory)

    def empty(self) -> None:
        """Empty layouts are not asked."""

    @property
    def _spoken_of(self) -> Profile | None:
        """The profile, if it speaks of this."""
        found = self.profile
        return found if found and speaks_of(found, self.op, self.format, self.float) else None


def _unpacked(packed: Array, name: str, policy: Policy) -> tuple[Array, Array]:
    scales, codes = unpack_blocks(packed, name, policy)
    return scales, codes.reshape(len(scales), -1)


#: The operations with a policy put in.
_BY_POLICY: dict[str, Callable[[Policy], Function]] = {
    "pack": lambda p: lambda codes, name: pack(codes, name, p),
    "unpack": lambda p: lambda packed, name, count: unpack(packed, name, count, p),
    "pack_scales": lambda p: lambda scales: pack_scales(scales, p),
    "unpack_scales": lambda p: lambda packed, shape: unpack_scales(packed, shape, p),
    "pack_blocks": lambda p: (
        lambda scales, codes, name: pack_blocks(scales, codes.reshape(-1), name, p)
    ),
    "unpack_blocks": lambda p: lambda packed, name: _unpacked(packed, name, p),
    "quantize_tensor": lambda p: lambda values, name, axis: quantize(values, name, p, axis=axis),
}


@dataclass(frozen=True, slots=True, eq=False)
class LayoutQuestion:
    """One call of an operation on layouts.

    Args:
        subject: the operation, the format and what gives the right answer.
        shape: rows and columns; one row of codes or of blocks.
        axis: the axis of blocks, of a tensor.
        memory: one of MEMORIES, by its number.
        draw: the number of the set of random words.
        values: the numbers of a tensor instead of random ones.
    """

    subject: LayoutSubject
    shape: tuple[int, int]
    axis: int = 1
    memory: int = 0
    draw: int = 0
    values: Array | None = field(default=None, repr=False)
    arguments: tuple[Any, ...] = field(init=False, repr=False)
    wanted: NDArray[np.uint8] = field(init=False, repr=False)
    may_refuse: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "arguments", _arguments(self))
        right, may_refuse = self.subject.answer(self.arguments)
        object.__setattr__(self, "wanted", self.words(right).astype(np.uint8))
        object.__setattr__(self, "may_refuse", may_refuse)

    def words(self, result: object) -> NDArray[np.uint64]:
        """A result as words, checked as far as its shape is known."""
        rows, columns = self.shape
        shape = (rows, columns) if self.subject.op == "unpack_scales" else (columns,)
        return layout_words(self.subject.file, result, shape)

    @property
    def name(self) -> str:
        """The question in words."""
        return layout_name(self)

    @property
    def elements(self) -> int:
        """The number of elements in the call."""
        return _elements_in(self.subject.op, self.shape)

    @property
    def part(self) -> str:
        """A tensor consists of blocks; a layout has no parts."""
        return "blocks" if self.subject.op == "quantize_tensor" else ""

    def difference(self, got: NDArray[np.uint64]) -> str:
        """The first wrong word, as reports show failures."""
        return layout_difference(self, got)

    def again(self, draw: int, memory: int = 0) -> LayoutQuestion:
        """The question with other random words, or in other memory."""
        return LayoutQuestion(self.subject, self.shape, self.axis, memory, draw)

    def resized(self, unit: str, count: int, draw: int) -> LayoutQuestion | None:
        """The question about another number of codes or blocks."""
        if UNITS.get(self.subject.op) != unit:
            return None
        return LayoutQuestion(self.subject, (1, count), draw=draw)

    def alone(self, got: NDArray[np.uint64]) -> list[LayoutQuestion]:
        """The first wrong block as a tensor of its own, and in every line of one of 32 x 32."""
        if not self.part or got.size != self.wanted.size:
            return []
        block = self._wrong_block(got)
        square = np.zeros((_BLOCK, _BLOCK), block.dtype)
        square[:, : block.size] = block
        both = (one.T.copy() if self.axis == 0 else one for one in (block[np.newaxis], square))
        return [LayoutQuestion(self.subject, one.shape, self.axis, values=one) for one in both]

    def telling(self, most: int) -> Iterator[LayoutQuestion]:
        """Tensors of more shapes, along both axes."""
        for lines, length in itertools.product(*_TELLING) if self.part else ():
            if lines * length <= most:
                yield LayoutQuestion(self.subject, (length, lines), 0)
                yield LayoutQuestion(self.subject, (lines, length), 1)

    def _wrong_block(self, got: NDArray[np.uint64]) -> Array:
        """The numbers of the first block of a tensor with a wrong scale or code."""
        values, name, axis = self.arguments
        shapes = result_shapes(values.shape, name, self.subject.policy, axis=axis)
        index = int(np.argmax(got != self.wanted))
        scales = math.prod(shapes.scale_codes)
        is_scale = index < scales
        shape = shapes.scale_codes if is_scale else shapes.codes
        place = list(divmod(index if is_scale else index - scales, shape[1]))
        block = place[axis] if is_scale else place[axis] // _BLOCK
        line: Array = np.take(values, place[1 - axis], 1 - axis)
        return line[_BLOCK * block : _BLOCK * block + _BLOCK]

    @property
    def features(self) -> Features:
        """What rules about wrong calls speak of."""
        rows, columns = self.shape
        if self.subject.op in ("pack", "unpack"):
            return {"codes": columns}
        if self.subject.op in ("pack_blocks", "unpack_blocks"):
            return {"blocks": columns}
        matrix = {"rows": rows, "columns": columns}
        if self.subject.op in ("pack_scales", "unpack_scales"):
            return {**matrix, "scales": rows * columns}
        length, lines = (rows, columns) if self.axis == 0 else (columns, rows)
        return {
            "elements along the axis": length,
            "lines along the axis": lines,
            "blocks": lines * -(-length // 32),
            **matrix,
            "elements": rows * columns,
            "axis": f"axis {self.axis}",
            "sides": "equal sides" if rows == columns else "unequal sides",
            "longer": "more rows than columns" if rows > columns else "no more rows than columns",
            "float": f"{self.subject.float} numbers",
        }


def _shapes(op: str, *, first_float: bool, first_format: bool) -> tuple[tuple[int, int], ...]:
    if op == "quantize_tensor":
        large = (*_LARGE_TENSORS, *(_LONG_TENSORS if first_format else ())) if first_float else ()
        return (*_TENSORS, *large)
    if op in ("pack_scales", "unpack_scales"):
        return _MATRICES
    counts = _LARGE_CODES if op in ("pack", "unpack") else _LARGE_BLOCKS
    return tuple((1, count) for count in (*_CODES, *counts, *(_MANY if first_format else ())))


def _elements_in(op: str, shape: tuple[int, int]) -> int:
    """The number of elements in a call."""
    return shape[0] * shape[1] * (32 if op.endswith("_blocks") else 1)


def _arguments(question: LayoutQuestion) -> tuple[Any, ...]:
    """The arguments of a call: random codes, never 0, and random numbers."""
    subject, (rows, columns) = question.subject, question.shape
    op, name = subject.op, subject.format
    seed = (question.draw << 40) + (rows << 20) + columns
    if op == "quantize_tensor":
        values = question.values
        if values is None:
            values = _numbers(seed, rows, columns, LAYOUTS[subject.float])
        return values, name, question.axis
    if op in ("pack_scales", "unpack_scales"):
        scales = _codes(seed, rows * columns, 255).reshape(rows, columns)
        return (scales,) if op == "pack_scales" else (subject.inverse(scales), (rows, columns))
    if op in ("pack", "unpack"):
        codes = _codes(seed, columns, element_format(name).code_count)
        return (codes, name) if op == "pack" else (subject.inverse(codes, name), name, columns)
    count = block_format(name).element.code_count
    codes = _codes(seed, 32 * columns, count).reshape(columns, 32)
    scales = _codes(seed + (1 << 39), columns, 255)
    if op == "pack_blocks":
        return scales, codes, name
    return subject.inverse(scales, codes, name), name


def _codes(seed: int, count: int, codes: int) -> NDArray[np.uint8]:
    """Codes from 1 to `codes` - 1."""
    drawn = splitmix64(seed, -(-count // 8)).astype("<u8").view(np.uint8)[:count]
    return 1 + drawn % np.uint8(codes - 1)


def _numbers(seed: int, rows: int, columns: int, layout: FloatLayout) -> Array:
    """Numbers whose binades rise from row to row and from column to column.

    One in eight lies 1 to 4 ulp below a power of two.
    """
    m = layout.mantissa_bits
    drawn = splitmix64(seed, rows * columns).reshape(rows, columns)
    row, column = np.arange(rows)[:, np.newaxis], np.arange(columns)
    below = (drawn >> np.uint64(56) & np.uint64(3)).astype(np.int64)
    exponent = (layout.inf_bits >> m) // 2 + row % 5 + column % 7 - below
    fraction = drawn.view(np.int64) & ((1 << m) - 1)
    near = drawn >> np.uint64(58) & np.uint64(7)
    fraction = np.where(near == 0, (1 << m) - 1 - (fraction & 3), fraction)
    sign = (drawn >> np.uint64(63)).astype(layout.uint) << np.array(layout.width - 1, layout.uint)
    bits = (exponent << m | fraction).astype(layout.uint) | sign
    found: Array = bits.astype(layout.uint).view(layout.dtype)
    return found

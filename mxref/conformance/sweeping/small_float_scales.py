"""Blocks of a sweep under scales that are small floats, with or without a tensor scale.

`quantize` is asked under each of `tensor_scales`. A part is one run of largest magnitudes that have
the same scale code (`scale_runs`), by the slow twin as all right answers. It has

- both ends of the run and the numbers beside them as the largest magnitude, in every place;
- two numbers on either side of every element threshold, of every element times the scale and of
  every midpoint, in every place and with both signs;
- every number up to the run's end in float16 and bfloat16, and every largest magnitude; of float32
  one number for each upper half.

A kernel that is right in these answers is right for all blocks of finite numbers under these tensor
scales, if its scale code depends on the largest magnitude alone, an element's code on the number
and the scale code alone, and, of float32, no answer changes and returns between two neighbouring
thresholds. For then both ends of every run of equal answers are asked, and all between them is as
they are. Under each tensor scale one more part has zeros, infinities and NaN, in every place.
`dequantize` gets every code in every place under every scale code and tensor scale.
"""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS, split
from mxref.blocks.exact_scales import quotient
from mxref.blocks.two_level import Ratio, TensorScale
from mxref.cases.answers import exact_answers
from mxref.cases.product import with_largest
from mxref.cases.records import VectorFile
from mxref.cases.steps import Steps
from mxref.conformance.sweeping import small_float_blocks as blocks
from mxref.conformance.sweeping.block_questions import BlockKind, BlockQuestions, Words, keys_of
from mxref.conformance.sweeping.block_tally import CODE_BITS
from mxref.conformance.sweeping.plan import Plan
from mxref.conformance.sweeping.scale_runs import (
    AMAX,
    Run,
    before_block,
    element_steps,
    scale_runs,
    tensor_scales,
)
from mxref.formats.catalog import BlockFormat, block_format
from mxref.numbers.codes import every_code

__all__ = ["SmallFloatScales"]


class SmallFloatScales(BlockKind):
    """Scales that are small floats."""

    def count(self, plan: Plan) -> int:
        """The number of pairs of tensor scale and run, or code, and of parts with specials."""
        tensors = len(tensor_scales(plan.file.format, plan.policy))
        if plan.file.row.from_codes:
            return tensors * block_format(plan.file.format).scale.code_count
        return tensors + len(scale_runs(plan.file.format, plan.file.float, plan.policy))

    def questions(self, plan: Plan, index: int) -> BlockQuestions:
        """The blocks of a run, of a scale code, or with specials; those are the first parts."""
        tensors = tensor_scales(plan.file.format, plan.policy)
        if plan.file.row.from_codes:
            return _codes(plan, index, tensors)
        if index < len(tensors):
            return _specials(plan, index, tensors[index])
        runs = scale_runs(plan.file.format, plan.file.float, plan.policy)
        run = runs[index - len(tensors)]
        return _of_run(plan, run, tensors[run.tensor])

    def coverage(self, plan: Plan) -> str:
        """What all parts ask, in words."""
        file, tensors = plan.file, tensor_scales(plan.file.format, plan.policy)
        fmt = block_format(file.format)
        under = "" if tensors == (None,) else f" under {_names(tensors)}"
        if file.row.from_codes:
            pairs = f"each of the {fmt.element.code_count} codes in every place under each of the"
            return f"asked {pairs} {fmt.scale.code_count} scale codes{under}"
        count = len(scale_runs(file.format, file.float, plan.policy))
        specials = "zeros, infinities and NaN in every place"
        alone = (
            "complete for kernels whose scale depends on the largest magnitude alone, and an "
            "element's code on its number and the scale alone"
        )
        if LAYOUTS[file.float].width == 16:
            what = f"every largest magnitude and every number under each of {count} scales{under}"
            return f"asked {what}; {specials}; {alone}"
        what = (
            f"both sides of every threshold of the scale and of the elements, in every place, "
            f"under each of {count} scales{under}"
        )
        returns = "and in which no answer changes and returns between two thresholds"
        return f"asked {what}; {specials}; {alone}, {returns}"


def _names(tensors: tuple[TensorScale | None, ...]) -> str:
    """The tensor scales; the second one is derived."""
    values = [f"{one.value:.7g}" for one in tensors if one is not None]
    if len(values) == len({*values}) and len(values) > 1:
        values[1] += f" (of a tensor with amax {AMAX})"
    kind = next(one.kind.value for one in tensors if one is not None)
    return f"the tensor scales ({kind}) {', '.join(values)}"


def _of_run(plan: Plan, run: Run, tensor: TensorScale | None) -> BlockQuestions:
    """The blocks of one run, with the answers of the slow twin's steps."""
    file = plan.file
    fmt, layout = block_format(file.format), LAYOUTS[file.float]
    sides = element_steps(file.format, file.float, plan.policy, tensor, run.last)
    changes = [bits for side in sides for bits in side.starts.tolist()]
    points = blocks.near(changes, _spots(fmt, run, tensor, file), run.last, layout)
    place = (run.first, run.last, layout, fmt.elements_per_block)
    others = blocks.numbers(run.tensor << CODE_BITS | run.code, run.last, layout)
    asked = np.concatenate(
        [
            blocks.at_every_place(points, *place),
            blocks.largest_at_every_place(points, *place),
            with_largest(others, 1 << CODE_BITS | run.code, *place),
        ]
    ).astype(np.uint64)
    codes = _codes_of(asked, sides, layout.sign_bit)
    scales = np.full(len(asked), run.code, np.uint64)
    return _questions(file, run.tensor, tensor, asked, np.insert(codes, 0, scales, axis=1))


def _spots(fmt: BlockFormat, run: Run, tensor: TensorScale | None, file: VectorFile) -> list[int]:
    """The floats at or below each element, and each midpoint, times the scales."""
    ratio = Ratio() if tensor is None else tensor.ratio(fmt)
    n, e = fmt.scale.magnitude_parts(run.code)
    scale = Fraction(n * ratio.numerator, ratio.denominator) * Fraction(2) ** (e + ratio.exponent)
    parts = (fmt.element.magnitude_parts(code) for code in range(fmt.element.max_code + 2))
    grid = [m * Fraction(2) ** f for m, f in parts]
    middles = [(low + high) / 2 for low, high in itertools.pairwise(grid)]
    return [blocks.below(one * scale, LAYOUTS[file.float]) for one in (*grid[:-1], *middles)]


def _codes_of(numbers: Words, sides: tuple[Steps, Steps], sign_bit: int) -> Words:
    magnitudes = numbers & np.uint64(sign_bit - 1)
    positive, negative = (
        one.answers[np.searchsorted(one.starts, magnitudes, side="right") - 1] for one in sides
    )
    return np.where(magnitudes == numbers, positive, negative)


def _specials(plan: Plan, place: int, tensor: TensorScale | None) -> BlockQuestions:
    """Blocks of zeros, and with infinities and NaN among zeros and among ordinary numbers."""
    file, size = plan.file, block_format(plan.file.format).elements_per_block
    runs = [one for one in scale_runs(file.format, file.float, plan.policy) if one.tensor == place]
    asked = blocks.specials(runs[len(runs) // 2].first, LAYOUTS[file.float], size)
    words = [[*before_block(tensor), *block] for block in asked.tolist()]
    want = exact_answers(file.op, file.format, file.float, words, plan.policy)
    return _questions(file, place, tensor, asked, np.array(want, np.uint64))


def _questions(
    file: VectorFile, place: int, tensor: TensorScale | None, asked: Words, want: Words
) -> BlockQuestions:
    scales = want[:, 0] | np.uint64(place << CODE_BITS)
    keys = _keys(asked, want[:, 0].astype(np.int64), tensor, file)
    return BlockQuestions(scales, _with_tensor(asked, tensor), keys, want)


def _with_tensor(rows: Words, tensor: TensorScale | None) -> Words:
    return rows if tensor is None else np.insert(rows, 0, tensor.bits, axis=1)


def _keys(
    numbers: Words, codes: NDArray[np.int64], tensor: TensorScale | None, file: VectorFile
) -> Words:
    """The odd-rounded quotient of each element by the scales; a scale of 0 counts as 1."""
    fmt = block_format(file.format)
    ratio = Ratio() if tensor is None else tensor.ratio(fmt)
    scale, parts = every_code(fmt.scale), split(numbers, LAYOUTS[file.float])
    is_zero = scale.significand[codes] == 0
    n = np.where(is_zero, 1, scale.significand[codes]) * ratio.numerator
    e = np.where(is_zero, 0, scale.exponent[codes]) + ratio.exponent
    # At most 24 bits times 24: the tensor scale is in one of numerator and denominator.
    parts = dataclasses.replace(parts, significand=parts.significand * ratio.denominator)
    quotients = quotient(parts, n[:, np.newaxis], e[:, np.newaxis])
    return keys_of(quotients, fmt.element, file.float)


def _codes(plan: Plan, index: int, tensors: tuple[TensorScale | None, ...]) -> BlockQuestions:
    """Every code in every place under one scale code."""
    file = plan.file
    fmt = block_format(file.format)
    place, scale = divmod(index, fmt.scale.code_count)
    count, size, tensor = fmt.element.code_count, fmt.elements_per_block, tensors[place]
    codes = (np.arange(max(count, size))[:, np.newaxis] + np.arange(size)) % count
    before = [*before_block(tensor), scale]
    words = [[*before, *range(count)]]
    (numbers,) = exact_answers(file.op, file.format, file.float, words, plan.policy)
    keys = codes.astype(np.uint64)
    scales = np.full(len(codes), place << CODE_BITS | scale, np.uint64)
    inputs = _with_tensor(np.insert(keys, 0, scale, axis=1), tensor)
    return BlockQuestions(scales, inputs, keys, np.array(numbers, np.uint64)[codes])

"""What a stage of `dequantize` may do: hypotheses as data, and the numbers of several together.

Every number is a scale times an element; both are values of tables, and the product of these is
exact in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F32, F64, I64, LAYOUTS, Bool, FloatLayout, compose, split
from mxref.conformance.verdict.cause.evidence import Questions, Words
from mxref.conformance.verdict.cause.hypotheses import Hypothesis, told
from mxref.conformance.verdict.cause.suspects import (
    Suspect,
    of_stage,
    right,
    suspects,
    unless_it_fails,
)
from mxref.conformance.verdict.stages.candidates import CASTS, Cast
from mxref.conformance.verdict.stages.classes import of_formats
from mxref.formats.catalog import E8M0, ELEMENT_FORMATS, CodeFormat, block_format
from mxref.formats.scale_kinds import has_power_scales
from mxref.policy.policy import Policy
from mxref.targets.calls import without_cases

F = NDArray[np.float64]


#: The numbers that codes are read as.
Reading = Hypothesis[F]


def _beside(scales: I64, step: int) -> I64:
    moved = np.roll(scales, step)
    moved[-1 if step < 0 else 0] = scales[-1 if step < 0 else 0]
    return moved


_ROWS: dict[str, Callable[[I64], I64]] = {
    "own": lambda scales: scales,
    "next_own": lambda scales: _beside(scales, -1),
    "next_around": lambda scales: np.roll(scales, -1),
    "previous_own": lambda scales: _beside(scales, 1),
    "previous_around": lambda scales: np.roll(scales, 1),
}
#: Whose scale a block may be read under, its own first.
ROWS = tuple(told("row", _ROWS))
#: What becomes of products: from patterns of float64 to those of a layout.
Finish = Callable[[Words, FloatLayout], Words]


def _rounded(words: Words, layout: FloatLayout) -> Words:
    return compose(split(words, F64), layout).astype(np.uint64)


def _through(cast: Cast) -> Finish:
    return lambda words, layout: cast.of(words, F64, layout)


def _flushed(words: Words, layout: FloatLayout) -> Words:
    found = _rounded(words, layout)
    sign = np.uint64(layout.sign_bit)
    small = (found & ~sign) < np.uint64(1 << layout.mantissa_bits)
    return np.where(small, found & sign, found)


def _flushed_first(words: Words, layout: FloatLayout) -> Words:
    numbers = words.view(np.float64)
    small = abs(numbers) < 2.0**F32.emin
    return _rounded(np.where(small, np.copysign(0, numbers), numbers).view(np.uint64), layout)


def _beyond(pattern: Callable[[FloatLayout], int]) -> Finish:
    def finish(words: Words, layout: FloatLayout) -> Words:
        found, sign = _rounded(words, layout), np.uint64(layout.sign_bit)
        over = np.isfinite(words.view(np.float64)) & (found & ~sign == np.uint64(layout.inf_bits))
        return np.where(over, found & sign | np.uint64(pattern(layout)), found)

    return finish


_OUTPUTS: dict[str, Finish] = {
    "rounded": _rounded,
    "flushed": _flushed,
    "flushed_below_2^-126": _flushed_first,
    "saturated": _beyond(lambda to: to.inf_bits - 1),
    "nan": _beyond(lambda to: to.nan_bits),
}
OUTPUTS = (
    *told("output", _OUTPUTS),
    *(Hypothesis(one.name, f"products are {one.text}", _through(one)) for one in CASTS),
)


class Side:
    """A target's answers of one float type, as scales, codes and patterns."""

    def __init__(self, questions: Questions, got: Words | None = None) -> None:
        file, words = questions.file, questions.inputs.astype(np.int64)
        is_block = file.row.blocks
        self.layout = LAYOUTS[file.float]
        self.scales = words[:, 0] if is_block else np.full(len(words), E8M0.bias)
        self.codes = words[:, 1:] if is_block else words
        self.got = np.zeros(self.codes.shape, np.uint64) if got is None else self.one_nan(got)

    def one_nan(self, words: Words) -> Words:
        """Patterns with one NaN."""
        layout = self.layout
        nan = (words & np.uint64(layout.sign_bit - 1)) > np.uint64(layout.inf_bits)
        return np.where(nan, np.uint64(layout.nan_bits), words)


@dataclass(frozen=True, slots=True)
class Steps:
    """What each stage does."""

    scales: F
    codes: F
    rows: tuple[int, ...]  #: of each lane, the number of its row of ROWS
    sources: tuple[int, ...]  #: of each lane, the lane whose product it has
    finish: Finish = _rounded

    def of(self, side: Side, some: Bool | slice = slice(None)) -> Words:
        """The patterns of some blocks."""
        used = self.used(side)[some]
        codes = side.codes[some][:, list(self.sources)]
        with np.errstate(all="ignore"):
            products = self.scales[used] * self.codes[codes]
        return side.one_nan(self.finish(products.view(np.uint64), side.layout))

    def used(self, side: Side) -> I64:
        """The scale code of each number."""
        every = [rows.what(side.scales) for rows in ROWS] if any(self.rows) else [side.scales]
        return np.stack([every[k] for k in self.rows], axis=1)

    def wrong(self, side: Side, some: Bool | slice = slice(None)) -> Bool:
        """Which numbers of some blocks it does not give."""
        return np.asarray(self.of(side, some) != side.got[some])


def element_of(format: str) -> CodeFormat:
    """The format itself, or that of the elements of its blocks."""
    return block_format(format).element if has_power_scales(format) else ELEMENT_FORMATS[format]


def _readings(op: str, fmt: CodeFormat, policy: Policy) -> list[Reading]:
    """The right reading of codes, then known ones."""
    codes = np.arange(fmt.code_count, dtype=np.uint64)[:, np.newaxis]
    asked = Questions(without_cases(op, fmt.name, "f32"), codes)

    def reading(one: Suspect) -> Reading:
        bits = one.answer(asked, policy)[:, 0]
        return Reading(one.name, one.text, compose(split(bits, F32), F64).view(np.float64))

    some = (one for ones in suspects(op, fmt.name) for one in ones)
    every = (of_stage(op, "right", "", right), *some, *of_formats(op, fmt.name))
    found = (unless_it_fails(partial(reading, one), None) for one in every)
    return [one for one in found if one is not None]


def element_readings(fmt: CodeFormat, policy: Policy) -> list[Reading]:
    """The right reading of element codes, then known ones."""
    found, all_codes = _readings("decode", fmt, policy), np.arange(fmt.code_count)
    if getattr(fmt, "twos_complement", False):
        numbers = found[0].what
        one = np.where(all_codes & fmt.sign_bit, numbers + abs(numbers[1]), numbers)
        found.append(
            Reading("ones_complement", "reads negative codes as the ones' complement", one)
        )
    return found


def scale_readings(policy: Policy) -> list[Reading]:
    """The right reading of scale codes, then known ones."""
    own, *found = _readings("decode_scale", E8M0, policy)
    power = own.what.copy()
    power[-1] = 2.0**128  # which is no float32
    with np.errstate(all="ignore"):
        half = own.what.astype(np.float16).astype(np.float64)
    return [
        own,
        Reading("scale_ff_power", "reads scale code FF as 2**128", power),
        *found,
        Reading("scale_float16", "holds the scale in float16", half),
    ]


def shifted(base: Reading, k: int) -> Reading:
    """A reading as a power of two times the right one."""
    if not k:
        return base
    times = f"{1 << abs(k)} times too {'small' if k < 0 else 'large'}"
    return Reading(f"scale{k:+d}", f"reads every scale {times}", np.ldexp(base.what, k))


def overlay(plain: F, before: F, after: F) -> F:
    """Numbers, with others where these are not right."""
    return np.where(same_numbers(plain, after), before, after)


def same_numbers(one: F, other: F) -> Bool:
    """Which numbers are the same, signs of zeros among them."""
    nan = np.isnan(one) & np.isnan(other)
    return np.asarray(nan | ((one == other) & (np.signbit(one) == np.signbit(other))))


def laid(base: Reading, some: Iterable[Reading]) -> F:
    """The numbers of a reading, with those of others where these are not right."""
    found = base.what
    for one in some:
        found = overlay(base.what, found, one.what)
    return found

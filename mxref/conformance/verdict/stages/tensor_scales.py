"""What may become of the scale of a tensor before blocks and elements are divided by it."""

from __future__ import annotations

import numpy as np

from mxref.bits.floats import F32, LAYOUTS, FloatLayout
from mxref.conformance.verdict.cause.evidence import Words
from mxref.conformance.verdict.stages.block_scales import block_scales, right_scale
from mxref.conformance.verdict.stages.candidates import Cast, through, truncated
from mxref.conformance.verdict.stages.element_fit import fit_elements, wrong_elements
from mxref.conformance.verdict.stages.mixtures import Way
from mxref.conformance.verdict.stages.scale_fit import bad_scales, fit_scales
from mxref.conformance.verdict.stages.sides import Sides
from mxref.conformance.verdict.stages.steps import (
    RIGHT,
    BlockSteps,
    Change,
    Divisor,
    Elements,
    Factor,
    Scale,
    Tensor,
    View,
)

#: Factors that are tried together with all that may be wrong otherwise.
_FEW = 3


def _cast(name: str, how: str, to: FloatLayout, change: Change) -> Factor:
    """Rounded to a float type."""
    cast = Cast(f"{name}_{to.name}", f"is rounded to {_NAMES[to.name]}{how}", change)
    return Factor(cast.name, cast.text, lambda words: cast.of(words, F32, F32))


def _power(name: str, text: str, least: float) -> Factor:
    """A power of two: the next one for significands from 1 to 2 that are at least so large."""

    def change(words: Words) -> Words:
        number = words.astype(np.uint32).view(np.float32).astype(np.float64)
        half, exponent = np.frexp(number)
        up = 2 * half >= least if least > 1 else half > 0.5
        power = np.ldexp(1.0, np.minimum(exponent - 1 + up, F32.bias)).astype(np.float32)
        return np.where(np.isfinite(number), power.view(np.uint32), words).astype(np.uint64)

    return Factor(name, text, change)


def _computed(name: str, text: str, power: int) -> Factor:
    """Its square or its reciprocal, in float32."""

    def change(words: Words) -> Words:
        with np.errstate(all="ignore"):
            number = words.astype(np.uint32).view(np.float32)
            found = number * number if power == 2 else np.float32(1) / number
            return found.view(np.uint32)

    return Factor(name, text, change)


_NAMES = {"bf16": "bfloat16", "f16": "float16"}
_FLOATS = LAYOUTS["bf16"], LAYOUTS["f16"]
#: What may become of the scale of a tensor.
FACTORS: tuple[Factor, ...] = (
    *(_cast("rounded", "", to, through(to)) for to in _FLOATS),
    *(_cast("cut", ", toward zero", to, truncated(to)) for to in _FLOATS),
    Factor("left_out", "is left out", lambda words: np.full_like(words, F32.bias << 23)),
    _computed("inverted", "multiplies where it should divide", -1),
    _computed("twice", "is applied twice", 2),
    _power("power_of_two", "is rounded to the nearest power of two", 1.5),
    _power("power_below", "is rounded down to a power of two", 2),
    _power("power_above", "is rounded up to a power of two", 1),
)


def tensor_of(scales: Factor, elements: Factor) -> Tensor:
    """What becomes of the scale of a tensor for scales and for elements, as one step.

    >>> tensor_of(FACTORS[0], FACTORS[0]).text
    'the scale of the tensor is rounded to bfloat16'
    >>> tensor_of(Factor(), FACTORS[0]).text
    'for elements, but not for the scales of blocks, the scale of the tensor is rounded to bfloat16'
    """
    what = "the scale of the tensor"
    if scales.name == elements.name:
        text = f"{what} {scales.text}" if scales.text else ""
        return Tensor(scales.name, text, scales, elements)
    name = f"scales_{scales.name}_elements_{elements.name}"
    if not scales.text:
        text = f"for elements, but not for the scales of blocks, {what} {elements.text}"
    elif not elements.text:
        text = f"for the scales of blocks, but not for elements, {what} {scales.text}"
    else:
        text = f"{what} {scales.text} for the scales of blocks, and {elements.text} for elements"
    return Tensor(name, text, scales, elements)


def fit_scales_of_tensor(sides: Sides, like: BlockSteps = RIGHT) -> tuple[Factor, View, Scale]:
    """What becomes of the scale of the tensor before blocks get their scales, and these steps."""
    own, right = like.tensor.scales, Factor()
    _see(sides, own)
    found = fit_scales(sides, like)
    least = bad_scales(sides, *found)
    best = own, *found
    if not least or not sides.fmt.tensor_scale:
        return best
    simple = (right_scale(sides.policy, sides.fmt), *block_scales(sides.policy, sides.fmt))
    ranked: list[tuple[int, int, Factor]] = []
    for factor in (right, *FACTORS):
        if factor.name != own.name:
            _see(sides, factor)
            left = 1 << 40
            for one in simple:
                left = min(left, bad_scales(sides, View(), one, left))
            ranked.append((left, len(ranked), factor))
    for *_, factor in sorted(ranked)[:_FEW]:
        _see(sides, factor)
        found = fit_scales(sides, like)
        if (left := bad_scales(sides, *found)) < least:
            least, best = left, (factor, *found)
        if not left:
            break
    _see(sides, best[0])
    return best


def _see(sides: Sides, factor: Factor) -> None:
    for side in sides.every:
        side.questions = factor.of(side.evidence.questions)


def fit_elements_of_tensor(
    sides: Sides, scales: Factor, view: View, scale: Scale
) -> tuple[Tensor, Way]:
    """What becomes of the scale of the tensor before elements are divided by it, and how they are.

    Args:
        sides: the answers.
        scales: what becomes of it before the scales of blocks are made.
        view: what amax sees.
        scale: how it becomes a scale.
    """
    right, plain = Factor(), Way(Divisor(), Elements())
    if not sides.fmt.tensor_scale:
        return RIGHT.tensor, fit_elements(sides)
    every = {one.name: one for one in (scales, right, *FACTORS)}
    ranked: list[tuple[int, int, Factor]] = []
    for factor in every.values():
        _divide_by(sides, factor)
        ranked.append((wrong_elements(sides, plain), len(ranked), factor))
        if not ranked[-1][0]:
            return _joined(sides, scales, factor, view, scale), plain
    ranked.sort()
    chosen = [one for *_, one in ranked[:_FEW]]
    chosen += [one for one in (scales, right) if one not in chosen]
    found: list[tuple[int, int, Factor, Way]] = []
    for number, factor in enumerate(sorted(chosen, key=lambda one: one not in (scales, right))):
        _divide_by(sides, factor)
        way = fit_elements(sides)
        found.append((wrong_elements(sides, way), number, factor, way))
        if not found[-1][0]:
            break
    *_, factor, way = min(found)
    _divide_by(sides, factor)
    return _joined(sides, scales, factor, view, scale), way


def _joined(sides: Sides, scales: Factor, elements: Factor, view: View, scale: Scale) -> Tensor:
    """One step; that of elements holds of scales, too, where these do not tell the two apart."""
    if not scales.text and elements.text:
        least = bad_scales(sides, view, scale)
        _see(sides, elements)
        if bad_scales(sides, view, scale) <= least:
            return tensor_of(elements, elements)
        _see(sides, scales)
    return tensor_of(scales, elements)


def _divide_by(sides: Sides, factor: Factor) -> None:
    for side in sides.every:
        side.divided = factor.of(side.evidence.questions)
        side.classed = None

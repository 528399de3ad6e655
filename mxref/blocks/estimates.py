"""Elements of blocks by estimates of their quotients, exact wherever an estimate does not decide.

The divisor of an element is its block's scale, times the tensor's if there is one. How an estimate
decides, and when it does not, is told in `mxref.numbers.estimated`.

Stochastic rounding carries where nu 2**K + V >= 2**K, if nu is the part of the quotient below its
last place (see `mxref.bits.stochastic`), and V the random bits: R 2**(K - N) in the variant A, and
(R + 1/2) 2**(K - N) in B and C (where both sides are equal, C might not carry). Let a and b be the
integer parts of both as they are computed. b is right. With m + 1 + K = 24 bits a is off by 5 at
most: the place of a number among the codes grows continuously with it, and so differs between the
quotient and its estimate by at most 2**24 2**-21.9. So it carries if a + b > 2**K + 6, and it does
not if a + b < 2**K - 7. Sums within 8 of a multiple of 2**K are left to the exact way.

Divided by powers of two, float32 numbers are exact. Nothing of this is needed where their random
bits fit into integers of 32 bits; where they do not, the first K of them decide nearly always.
"""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import F64Array, as_float32
from mxref.bits.floats import F32, F64, U8, Bits, Bool, FloatLayout, Stochastic, split
from mxref.bits.stochastic import StochasticTable
from mxref.blocks.arithmetics import numbers
from mxref.blocks.exact_scales import scaled
from mxref.blocks.keyed import maxima
from mxref.blocks.two_level import TensorScale
from mxref.formats.catalog import BlockFormat
from mxref.numbers.element import Elements, encode_parts
from mxref.numbers.estimated import KeyTable, divisors_within, is_far, key_table
from mxref.numbers.scale_steps import FLUSHED, OTHER, ScaleSteps, scale_steps
from mxref.policy.choices import ScaleArithmetic, Scaling
from mxref.policy.groups import ElementPolicy
from mxref.policy.policy import Policy
from mxref.support.scratch import scratch

#: Quotients that are too large to be estimated for stochastic rounding.
_LARGE = 2.0**100
#: m + 1 + K of stochastic rounding, of estimates and of exact quotients.
_INTEGER_BITS = {False: 24, True: 28}


@dataclass(frozen=True, slots=True)
class Estimates:
    """How one call of `quantize` estimates the elements of blocks; see `estimates`.

    Args:
        fmt: the block format.
        element: the choices for elements.
        tensor: the tensor's scale.
        keys: codes of elements by estimates.
        by_steps: codes of elements with random bits.
        draw: the random bits' variant and width, as `by_steps` takes them.
        is_exact: whether the quotients are, so that every estimate decides.
        steps: scale words by amax, for powers of two.
        scale_keys: scale codes by estimates of the amax over `ratio`, for others.
        ratio: the largest element times the tensor's scale.
        divisors: by scale code.
        factors: the reciprocals by scale word, 0 where all elements become zeros.
        outside: by scale word, whether a block is not taken.
    """

    fmt: BlockFormat
    element: ElementPolicy
    tensor: TensorScale | None
    keys: KeyTable
    by_steps: StochasticTable | None
    draw: Stochastic | None
    is_exact: bool
    steps: ScaleSteps | None
    scale_keys: KeyTable | None
    ratio: float
    divisors: F64Array
    factors: NDArray[Any]
    outside: Bool

    def quantized(
        self,
        lanes: NDArray[Any],
        layout: FloatLayout,
        draw: Stochastic | None = None,
        out: U8 | None = None,
    ) -> tuple[U8, U8, Bool]:
        """Scale codes and codes of blocks along the middle one of three axes.

        Args:
            lanes: patterns, (m, size, n).
            layout: float32, bfloat16 or float64.
            draw: random bits in the shape of the patterns, if the rounding is stochastic.
            out: C-contiguous memory for the codes.

        Returns:
            Scale codes (m, n), codes (m, size, n), and which blocks must be computed in another
            way. Without `out` the next call overwrites the codes.
        """
        with np.errstate(all="ignore"):
            words, left = self.scales(lanes, layout)
        codes: U8 = scratch("codes", lanes.shape, np.uint8) if out is None else out
        self.write(lanes, layout, words, codes, draw)
        return words.astype(np.uint8), codes, left

    def write(
        self,
        lanes: NDArray[Any],
        layout: FloatLayout,
        words: NDArray[Any],
        out: U8,
        draw: Stochastic | None = None,
    ) -> None:
        """Write the codes of blocks under scale words (m, n)."""
        with np.errstate(all="ignore"):
            factors = self.factors.take(words)
            bits = _products(lanes, layout, factors)
        if self.keys.zero_is_apart:
            _keep_from_zero(bits, lanes, layout, factors)
        codes, scales = out.reshape(-1), words.astype(np.uint8)
        if draw is not None:
            self._add_random(bits, lanes, layout, scales, draw, codes)
            return
        places, beside = self.keys.write(bits, codes)
        if places.size:
            x = _floats(lanes.reshape(-1).take(places), layout)
            scale = scales.reshape(-1).take(_blocks_of(places, lanes.shape))
            codes[places] = self.keys.decided(beside, x, self.divisors.take(scale))

    def scales(self, lanes: NDArray[Any], layout: FloatLayout) -> tuple[NDArray[Any], Bool]:
        """Scale words (m, n) of blocks, and which are not taken."""
        word = layout.uint.type
        magnitude = scratch("other", lanes.size, layout.uint).reshape(lanes.shape)
        np.bitwise_and(lanes, word(layout.sign_bit - 1), out=magnitude)
        amax = maxima(magnitude)
        if self.steps is not None:
            words: NDArray[Any] = self.steps.words(amax)
        else:
            words = self._small_float_scales(amax, layout)
        left: Bool = amax >= word(layout.inf_bits)
        if self.draw is not None:  # an infinite estimate would count as an infinity
            largest = _floats(amax, layout) * self.factors.take(words)
            left |= largest > _LARGE
        if self.outside.any():
            # Of zeros nothing depends on the divisor.
            left |= self.outside.take(words) & ((amax != 0) | (words > FLUSHED))
        return words, left

    def _small_float_scales(self, amax: Bits, layout: FloatLayout) -> U8:
        """Scale codes by estimates of their own."""
        keys, numbers = self.scale_keys, np.ascontiguousarray(_floats(amax, layout))
        codes = np.empty(amax.shape, np.uint8)
        if keys is not None:
            wide = numbers.dtype.type
            bits = (numbers * wide(1.0 / self.ratio)).astype(np.float32, copy=False)
            bits, flat = bits.reshape(-1).view(np.uint32), codes.reshape(-1)
            places, beside = keys.write(bits, flat)
            if places.size:
                amaxima = numbers.reshape(-1).take(places)
                flat[places] = keys.decided(beside, amaxima, self.ratio)
        return codes

    def _add_random(
        self,
        bits: Bits,
        lanes: NDArray[Any],
        layout: FloatLayout,
        scales: U8,
        draw: Stochastic,
        codes: U8,
    ) -> None:
        """Write the codes of stochastically rounded quotients, or estimates of them."""
        if self.by_steps is None or self.draw is None:
            return
        if self.is_exact:
            self.by_steps.write(bits, self.draw, draw.bits.reshape(-1), codes)
            return
        beside = scratch("beside", lanes.size, np.bool_)
        random = _random_bits(draw, self.draw.width)
        self.by_steps.write(bits, self.draw, random, codes, beside)
        places = np.flatnonzero(beside)
        # Where the estimate is zero, so is the part of the quotient.
        places = places[bits.take(places) & np.uint32(F32.sign_bit - 1) != 0]
        if not places.size:
            return
        some = dataclasses.replace(draw, bits=draw.bits.reshape(-1)[places, np.newaxis])
        parts = split(lanes.reshape(-1)[places, np.newaxis], layout)
        scale = scales.reshape(-1)[_blocks_of(places, lanes.shape)].astype(np.int64)
        if self.fmt.scale.is_power:
            exponent = parts.exponent - (scale - self.fmt.scale.bias)[:, np.newaxis]
            parts = dataclasses.replace(parts, exponent=exponent)
        else:
            parts = scaled(parts, scale, self.fmt, self.tensor)
        codes[places] = encode_parts(parts, self.fmt.element, self.element, some)[:, 0]


@functools.lru_cache(maxsize=64)
def estimates(
    fmt: BlockFormat,
    policy: Policy,
    layout: FloatLayout,
    tensor: TensorScale | None = None,
    width: int = 0,
) -> Estimates | None:
    """How to estimate elements of these blocks, of numbers of a layout; None if they are not.

    Args:
        fmt: the block format.
        policy: the policy.
        layout: float32, bfloat16 or float64.
        tensor: the tensor's scale, if there is one.
        width: of random bits, if the rounding is stochastic.
    """
    rounding = policy.element.rounding
    variant, none = rounding.value[-1], np.zeros(0, np.int64)
    draw = Stochastic(variant, none, width) if rounding.stochastic else None
    element, m = fmt.element, fmt.element.mantissa_bits
    power, t = fmt.scale.is_power, 1.0 if tensor is None else tensor.value
    exact = policy.scale.scale_arithmetic is ScaleArithmetic.EXACT
    if not exact or not is_far(element) or (draw is None and power):
        return None
    ratio = element.max_normal * t
    least, most = divisors_within(fmt.scale, layout)
    if not power and not (is_far(fmt.scale) and least <= ratio <= most):
        return None
    elements, by_steps, is_exact = Elements(element, policy.element), None, False
    if draw is not None:
        by_steps = elements.stochastic_table(layout, draw) if power else None
        is_exact = by_steps is not None and by_steps.layout == F32
        if not is_exact:
            width = _INTEGER_BITS[power and layout != F64] - 1 - m
            draw = dataclasses.replace(draw, variant="a", width=width)
            by_steps = elements.stochastic_table(F32, draw)
            if by_steps is None or by_steps.largest is not None:
                return None
    divisors, factors, outside = _by_word(fmt, policy, layout, tensor, draw)
    return Estimates(
        fmt=fmt,
        element=policy.element,
        tensor=tensor,
        keys=key_table(element, policy.element),
        by_steps=by_steps,
        draw=draw,
        is_exact=is_exact,
        steps=scale_steps(element, policy.scale, layout, scale=fmt.scale) if power else None,
        scale_keys=None if power else key_table(fmt.scale, ElementPolicy()),
        ratio=ratio,
        divisors=divisors,
        factors=factors,
        outside=outside,
    )


def _by_word(
    fmt: BlockFormat,
    policy: Policy,
    layout: FloatLayout,
    tensor: TensorScale | None,
    draw: Stochastic | None,
) -> tuple[F64Array, NDArray[Any], Bool]:
    """Divisors, their reciprocals, and which of them are too near to the ends, by scale word."""
    count = OTHER << 1 if fmt.scale.is_power else 1 << 8
    divisors, outside = np.ones(count), np.ones(count, bool)
    values = numbers(fmt.scale) * (1.0 if tensor is None else tensor.value)
    divisors[: values.size] = values
    least, most = divisors_within(fmt.element, layout, 0 if draw is None else draw.width + 1)
    inside = (divisors[: values.size] >= least) & (divisors[: values.size] <= most)
    if policy.scale.scaling is Scaling.RECIPROCAL_FLUSHED and fmt.scale.is_power:
        inside &= divisors[: values.size] < 2.0**F32.bias
    outside[: values.size] = ~inside
    with np.errstate(all="ignore"):
        factors = np.where(outside, 0.0, 1.0 / divisors)
    if fmt.scale.is_power:
        outside[FLUSHED : 2 * FLUSHED] = False
    else:
        outside[0] = False
    return divisors, factors.astype(layout.dtype if layout == F64 else np.float32), outside


def _floats(bits: Bits, layout: FloatLayout) -> NDArray[Any]:
    """Patterns as float64 numbers, others as float32 numbers."""
    if layout == F64:
        return bits.view(np.float64)
    return as_float32(bits, layout).view(np.float32)


def _blocks_of(places: NDArray[np.intp], shape: tuple[int, ...]) -> NDArray[np.intp]:
    """The blocks (m * n) of places in a flat array of blocks (m, size, n)."""
    _, size, n = shape
    if n == 1:
        return places // size
    return places // (size * n) * n + places % n


def _products(lanes: NDArray[Any], layout: FloatLayout, factors: NDArray[Any]) -> Bits:
    """float32 patterns (m * size * n) of elements times their blocks' factors."""
    result = scratch("estimate", lanes.size, np.float32)
    target = result.reshape(lanes.shape)
    np.multiply(_floats(lanes, layout), factors[:, np.newaxis], out=target, casting="same_kind")
    return result.view(np.uint32)


def _keep_from_zero(
    bits: Bits, lanes: NDArray[Any], layout: FloatLayout, factors: NDArray[Any]
) -> None:
    """Replace estimates below 2**-126 by it, if neither element nor factor is zero."""
    smallest = np.uint32(1 << F32.mantissa_bits)
    magnitude = scratch("key", bits.size, np.uint32)
    np.bitwise_and(bits, np.uint32(F32.sign_bit - 1), out=magnitude)
    places = np.flatnonzero(magnitude < smallest)
    if places.size:
        is_zero = lanes.reshape(-1).take(places) & layout.uint.type(layout.sign_bit - 1) == 0
        is_zero |= factors.reshape(-1).take(_blocks_of(places, lanes.shape)) == 0
        places = places[~is_zero]
        bits[places] = bits[places] & np.uint32(F32.sign_bit) | smallest


def _random_bits(draw: Stochastic, width: int) -> NDArray[np.uint32]:
    """The integer parts of V, in scratch memory."""
    result: NDArray[np.uint32] = scratch("random", draw.bits.size, np.uint32)
    bits = draw.bits.reshape(-1)
    if bits.dtype != np.uint32:
        np.copyto(result, bits, casting="unsafe")
        bits = result
    more = width - draw.width
    if more <= 0:
        np.right_shift(bits, np.uint32(-more), out=result)
        return result
    np.left_shift(bits, np.uint32(more), out=result)
    if draw.variant != "a":
        np.bitwise_or(result, np.uint32(1 << more - 1), out=result)
    return result

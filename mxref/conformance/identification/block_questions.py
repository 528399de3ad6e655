"""The questions of `identify` about `quantize`: blocks in which every element is a question.

Most are made of 32 elements; `of_size` makes those of another size.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from mxref.bits.floats import F16, FloatLayout
from mxref.cases.grid import grid, pattern
from mxref.conformance.identification.place_questions import specials_in_each_quarter
from mxref.conformance.identification.pools import (
    Maker,
    Pool,
    Words,
    around,
    both_signs,
    element_points,
    end_powers,
    power_bits,
    times,
)
from mxref.conformance.identification.predicted import scales_alone
from mxref.conformance.identification.scale_questions import (
    SCALE_READS,
    edges,
    extreme_amaxes,
    extreme_powers,
    rounded_down,
    type_tops,
    usual_amaxes,
)
from mxref.conformance.identification.setting import Setting
from mxref.formats.catalog import E8M0, block_format
from mxref.operands.splitmix import splitmix64
from mxref.policy.policy import Policy
from mxref.support.distinct import distinct

__all__ = ["block_pools", "usual_exponent"]

_ROUNDS = (*SCALE_READS, "rounding", "pre_rounding")
_SIGNS = ("zero_sign", "underflow_sign", "subnormal_inputs")
_BEYOND = ("overflow", "clamp", "nan", "int8_range")


def block_pools(setting: Setting) -> tuple[Maker, ...]:
    """The pools of `quantize`."""
    fmt, layout = setting.element, setting.layout
    usual, extreme = usual_amaxes(fmt, layout), extreme_amaxes(fmt, layout)
    must = edges(fmt, layout, (-3, 4))
    scale = Pool(
        "scale rule",
        (*SCALE_READS, "pre_rounding"),
        _alone(np.concatenate([must, usual])),
        range(0, must.size, max(1, must.size // 4)),
        "scale",
    )
    small = extreme < np.uint64(layout.nan_bits >> 1)
    rules = (*SCALE_READS, "pre_rounding")
    zero = np.zeros((1, 32), np.uint64)
    ends = [
        Pool("blocks of zeros", ("zero_block", "int8_emax"), zero, (0,), "scale"),
        Pool(
            "small scales",
            (*rules, "zero_block", "scale_underflow", "subnormal_inputs"),
            _alone(extreme[small]),
            (),
            "scale",
        ),
        Pool(
            "large scales",
            (*rules, "scale_overflow", "block_inf", "scaling", "nan_to_finite"),
            _alone(extreme[~small]),
            (),
            "scale",
        ),
    ]

    def extremes(found: Policy) -> Pool:
        every = power_bits(extreme_powers(fmt, layout), layout)
        amaxes = [every, rounded_down(layout), _sample(extreme, 60), extreme[:3]]
        amaxes.append(type_tops(layout))
        blocks = _spread(np.concatenate(amaxes), layout)
        return Pool("elements at the ends of the scales", (), blocks)

    def nans(found: Policy) -> Pool:
        return Pool("NaN", (), _special(setting, (1,)))

    def infs(found: Policy) -> Pool:
        words = np.concatenate([_special(setting, (0,)), _beyond(setting, found)])
        return Pool("infinity", (), words)

    size = block_format(setting.format).elements_per_block
    specials = specials_in_each_quarter(layout, size)
    places = Pool("specials", (), specials, range(len(specials)))

    def both(found: Policy) -> Pool:
        return Pool("NaN and infinity", (), _special(setting, (0, 1)), (0,))

    return (
        lambda _: scale,
        *(lambda _, pool=pool: pool for pool in ends),
        lambda found: _inside(setting, found),
        lambda found: _small(setting, found),
        lambda found: _large(setting, found),
        *(
            [partial(_large_under_least, setting)]
            if layout.exponent_bits > F16.exponent_bits
            else []
        ),
        extremes,
        lambda _: places,
        infs,
        nans,
        both,
    )


def _alone(amaxes: Words) -> Words:
    """Blocks of zeros with one number, in varying places."""
    blocks = np.zeros((amaxes.size, 32), np.uint64)
    blocks[np.arange(amaxes.size), np.arange(amaxes.size) * 5 % 32] = amaxes
    return blocks


def _sample(words: Words, count: int) -> Words:
    return words[:: max(1, words.size // count)]


def _largest(setting: Setting, found: Policy, exponent: int) -> tuple[int, int]:
    """The scale code of amax 2**exponent, and the largest of a few amaxes with that code."""
    fmt, layout = setting.element, setting.layout
    amaxes = around(edges(fmt, layout, (exponent - 1, exponent, exponent + 1)), layout)
    amaxes = np.append(amaxes, np.uint64(pattern(1, exponent, layout)))
    answers = scales_alone(setting, _alone(amaxes), found)
    code = int(answers[-1, 0])
    return code, int(amaxes[answers[:, 0] == code].max())


def _filled(numbers: Words, amax: int, layout: FloatLayout) -> Words:
    """Blocks of `amax` and 31 of the numbers that are not larger."""
    numbers = numbers[(numbers & np.uint64(layout.sign_bit - 1)) <= np.uint64(amax)]
    count = -(-numbers.size // 31)
    rows = np.zeros((count, 31), np.uint64)
    rows.reshape(-1)[: numbers.size] = numbers
    blocks = np.empty((count, 32), np.uint64)
    place = np.arange(32) == (np.arange(count) * 5 % 32)[:, np.newaxis]
    blocks[~place] = rows.reshape(-1)
    blocks[place] = amax
    return blocks


def _points(setting: Setting, found: Policy, exponent: int) -> tuple[Words, int, int]:
    """The steps of elements under the scale of amax 2**exponent, its code and its largest amax."""
    code, amax = _largest(setting, found, exponent)
    layout = setting.layout
    steps = times(element_points(setting.element, layout, few=True), code - E8M0.bias, layout)
    return around(steps, layout), code, amax


def usual_exponent(setting: Setting) -> int:
    """The exponent of amax in blocks of normal numbers: high, so that small elements are normal."""
    return min(setting.element.emax, 13) + 1


def _ends(setting: Setting, code: int) -> tuple[int, int]:
    """The least and greatest magnitude without under- or overflow of elements or float16."""
    fmt, layout = setting.element, setting.layout
    numbers, _ = grid(fmt, layout)
    pair = times(np.array([numbers[1], numbers[-1]], np.uint64), code - E8M0.bias, layout)
    return max(int(pair[0]), pattern(1, F16.emin + 1, layout)), int(pair[1])


def _inside(setting: Setting, found: Policy) -> Pool:
    points, code, amax = _points(setting, found, usual_exponent(setting))
    low, high = _ends(setting, code)
    kept = points[(points > low) & (points <= high)]
    blocks = _filled(both_signs(kept, setting.layout), min(amax, high), setting.layout)
    ties = _ties(setting, code, min(amax, high))
    return Pool("rounding", _ROUNDS, np.concatenate([ties, blocks]), range(len(ties)))


def _ties(setting: Setting, code: int, amax: int) -> Words:
    """Blocks of the format's ties under a scale, of both signs; a sample if they are many."""
    _, middles = grid(setting.element, setting.layout)
    ties = times(np.array(middles, np.uint64), code - E8M0.bias, setting.layout)
    low, _ = _ends(setting, code)
    ties = both_signs(ties[ties > low], setting.layout)
    return _filled(_sample(ties, 31 * 4), amax, setting.layout)


def _small(setting: Setting, found: Policy) -> Pool:
    layout = setting.layout
    points, code, amax = _points(setting, found, usual_exponent(setting))
    low, high = _ends(setting, code)
    tiny = around(power_bits(end_powers(layout), layout), layout)
    kept = distinct(np.concatenate([points[points <= 2 * low], tiny[tiny <= low]]))
    zeros = np.array([0, layout.sign_bit], np.uint64)
    others = np.concatenate([zeros, both_signs(kept, layout)])
    blocks = _filled(others, min(amax, high), layout)
    return Pool("small elements", (*_ROUNDS, *_SIGNS), blocks, (0,))


def _large(setting: Setting, found: Policy) -> Pool:
    blocks = _overflowing(setting, found, usual_exponent(setting))
    return Pool("overflow", (*_ROUNDS, *_BEYOND), blocks, (0,))


def _large_under_least(setting: Setting, found: Policy) -> Pool:
    """Overflow under the least scale, where a rule that multiplies in float32 rounds most."""
    blocks = _overflowing(setting, found, setting.element.emax - E8M0.bias)
    return Pool("overflow under the least scale", (*_ROUNDS, *_BEYOND), blocks)


def _overflowing(setting: Setting, found: Policy, exponent: int) -> Words:
    """Blocks of the largest amax with the scale of 2**exponent, and numbers near the largest."""
    layout = setting.layout
    points, code, amax = _points(setting, found, exponent)
    _, high = _ends(setting, code)
    kept = np.append(points[points >= high - 2], np.uint64(amax))
    return _filled(both_signs(kept, layout), amax, layout)


def _spread(amaxes: Words, layout: FloatLayout) -> Words:
    """Blocks with numbers of both signs in the binades below an amax, and with two zeros."""
    below = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 24, 28, 32])
    blocks = np.zeros((amaxes.size, 32), np.uint64)
    draws = splitmix64(7, amaxes.size * 32).reshape(-1, 32)
    mask = np.uint64((1 << layout.mantissa_bits) - 1)
    for place in range(30):
        some = times(amaxes, -int(below[place % below.size]), layout)
        if place:
            mixed = (some & ~mask) | (draws[:, place] & mask)
            use = (draws[:, place] >> np.uint64(60)) > 3
            some = np.where(use & (mixed <= amaxes), mixed, some)
        blocks[:, place] = some | np.uint64(layout.sign_bit * (place % 2))
    blocks[:, 31] = layout.sign_bit
    shifted: Words = np.roll(blocks, 3, axis=1)
    return shifted


def _beyond(setting: Setting, found: Policy) -> Words:
    """Blocks of huge or infinite amax, and numbers near the largest one under their scales."""
    layout, e = setting.layout, setting.element.emax
    ends = power_bits([126 + e, 127 + e, 128 + e, 130 + e, 384 + e], layout)
    finite = np.concatenate([ends, type_tops(layout)])
    calm = found.replace(nan_to_finite="max")  # never an error
    answers = scales_alone(setting, _alone(finite), calm)
    scales = {*zip(finite.tolist(), answers[:, 0].tolist(), strict=True)}
    blocks = []
    for amax, code in sorted({*scales, (layout.inf_bits, E8M0.max_code)}):
        points = times(element_points(setting.element, layout, few=True), code - E8M0.bias, layout)
        points = around(points, layout)
        points = points[points < np.uint64(min(amax, layout.inf_bits - 1))][-62:]
        blocks.append(_filled(both_signs(points, layout), amax, layout))
    return np.concatenate(blocks)


def _special(setting: Setting, kinds: Sequence[int]) -> Words:
    """Blocks with infinities (kind 0) or NaNs (kind 1) among numbers of all magnitudes."""
    fmt, layout = setting.element, setting.layout
    bits = [(layout.inf_bits, layout.nan_bits)[kind] for kind in kinds]
    words = both_signs(np.array(bits, np.uint64), layout)
    amaxes = np.concatenate(
        [
            edges(fmt, layout, (fmt.emax, 0, 5, -100, 90))[::3],
            np.array([0, 1, 3, layout.inf_bits - 1, layout.sign_bit >> 1], np.uint64),
            _sample(extreme_amaxes(fmt, layout), 24),
            power_bits(extreme_powers(fmt, layout), layout),  # whose scale may wrap to FE
        ]
    )
    amaxes = amaxes[amaxes < np.uint64(layout.inf_bits)]
    blocks = np.concatenate([_spread(amaxes, layout), np.zeros((1, 32), np.uint64)])
    blocks[:, 7 : 7 + words.size] = words
    only = np.tile(np.resize(words, 32), (1, 1))
    one = blocks[:2].copy()
    one[:, 7 : 7 + words.size] = words[:1]
    return np.concatenate([blocks, only, one])

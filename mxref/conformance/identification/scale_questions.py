"""The questions of `identify` about E8M0 conversions, and amaxes that tell scale rules apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mxref.bits.floats import F16, FloatLayout, compose, split
from mxref.cases.grid import pattern
from mxref.conformance.identification.equal_reasons import narrower
from mxref.conformance.identification.pools import (
    Pool,
    Words,
    around,
    both_signs,
    end_powers,
    nans,
    near,
    pool_of,
    power_bits,
    times,
)
from mxref.conformance.identification.setting import Setting
from mxref.formats.catalog import CodeFormat
from mxref.policy.scale_rule import ScaleRule
from mxref.support.distinct import distinct

__all__ = [
    "SCALE_READS",
    "edges",
    "encode_scale_pools",
    "extreme_amaxes",
    "extreme_powers",
    "rounded_down",
    "shared_scale_pools",
    "type_tops",
    "usual_amaxes",
]


def edges(fmt: CodeFormat, layout: FloatLayout, exponents: Sequence[int]) -> Words:
    """Amaxes at the limits of every scale rule, in those of these binades that the type has."""
    significands = {0}
    for rule in ScaleRule:
        if not rule.is_quirk:
            _, too_large = rule.limit(fmt).threshold(52)  # type: ignore[arg-type]
            shift = 52 - layout.mantissa_bits
            whole = (too_large + (1 << shift) - 1) >> shift
            significands.add(whole - (1 << layout.mantissa_bits))
    lowest, highest = layout.emin - layout.mantissa_bits, layout.bias
    found = []
    for exponent in exponents:
        if lowest <= exponent <= highest:
            base = np.array([pattern(1, 0, layout)], np.uint64) + np.array(
                sorted(significands), np.uint64
            )
            found.append(times(base, exponent, layout))
    return distinct(np.concatenate(found))


def _log2_edges(layout: FloatLayout, exponents: Sequence[int]) -> Words:
    """Numbers just below powers of two, whose float32 logarithm is wrong."""
    ulp = 1 << max(0, layout.mantissa_bits - 23)
    found = power_bits(exponents, layout)
    below = np.array([1, 2, 3, 4, 5, 6, 7, 9, 12, 24, 40, 48], np.uint64) * np.uint64(ulp)
    return (found[:, np.newaxis] - below).reshape(-1)


def usual_amaxes(fmt: CodeFormat, layout: FloatLayout) -> Words:
    """Amaxes whose scales are far from both ends under every rule and type."""
    points = near(around(edges(fmt, layout, (-7, 0, 9)), layout), layout)
    return distinct(np.concatenate([points, _log2_edges(layout, (-6, 1, 3, 10))]))


def rounded_down(layout: FloatLayout) -> Words:
    """Amaxes midway between subnormals of float16, whose scale falls if they are rounded first."""
    if "float16" not in narrower(layout):
        return np.zeros(0, np.uint64)
    halves = [pattern(2 * n + 1, F16.emin - F16.mantissa_bits - 1, layout) for n in range(1, 25)]
    return np.concatenate([np.array(halves, np.uint64) - np.uint64(step) for step in (0, 1)])


def type_tops(layout: FloatLayout) -> Words:
    """The largest numbers of narrower types, and numbers that round to them or to infinity."""
    found = [np.array([layout.inf_bits - 1], np.uint64)]
    for narrow in narrower(layout).values():
        ends = np.arange(narrow.inf_bits - 2, narrow.inf_bits, dtype=np.uint64)
        below, top = compose(split(ends, narrow), layout).astype(np.uint64)
        found.append(near(np.array([top, top + (top - below) // np.uint64(2)]), layout))
    return np.concatenate(found)


def extreme_powers(fmt: CodeFormat, layout: FloatLayout) -> list[int]:
    """Exponents of amaxes at the ends of the scales and of the types, and where scales wrap."""
    e = fmt.emax
    far = [p + step for p in (*end_powers(layout), e - 127, e + 127) for step in range(-3, 3)]
    wraps = [p + step for p in (e - 127 - 256, e + 127 + 256) for step in (-1, 0, 1)]
    return sorted({*far, *wraps, *range(-155, -100, 6), 60, 100, 120, -60})


def extreme_amaxes(fmt: CodeFormat, layout: FloatLayout) -> Words:
    """Amaxes near the ends of the scales, of the float type, and of narrower ones; and zero."""
    e, ends = fmt.emax, end_powers(layout)
    some = edges(fmt, layout, extreme_powers(fmt, layout))
    close = around(edges(fmt, layout, [*ends, -127 + e, -126 + e, 127 + e, 128 + e]), layout)
    top = near(np.array([layout.inf_bits - 1], np.uint64), layout)
    tops = np.concatenate([around(power_bits(ends, layout), layout), type_tops(layout)])
    logs = _log2_edges(layout, [p for p in (-100, -40, 40, 100) if layout.exponent_bits > 5])
    low = np.arange(0, 9, dtype=np.uint64)
    found = np.concatenate([some, close, top, tops, logs, low, rounded_down(layout)])
    found = distinct(found)
    return found[found < np.uint64(layout.inf_bits)]


SCALE_READS = ("scale_rule", "amax_type", "int8_emax")
RANGE_READS = ("zero_block", "scale_overflow", "scale_underflow")


def shared_scale_pools(setting: Setting) -> list[Pool]:
    """The pools of `shared_scale`."""
    fmt, layout = setting.element, setting.layout
    usual, extreme = usual_amaxes(fmt, layout), extreme_amaxes(fmt, layout)
    must = edges(fmt, layout, (-3, 4))
    special = np.array([0, layout.inf_bits, layout.nan_bits], np.uint64)
    whole = distinct(np.concatenate([usual, extreme]))[:, np.newaxis]
    return [
        pool_of("scale rule", SCALE_READS, usual, must[:: max(1, must.size // 12)]),
        pool_of("ends of the scales", SCALE_READS + RANGE_READS, extreme, special),
        Pool("all of it", (), whole),
    ]


def encode_scale_pools(setting: Setting) -> list[Pool]:
    """The pools of `encode_scale`."""
    layout = setting.layout
    one = np.array([pattern(n, -1, layout) for n in (2, 3)], np.uint64)

    def ladder(exponents: Sequence[int]) -> Words:
        kept = [e for e in exponents if layout.emin - layout.mantissa_bits <= e <= layout.bias]
        found = [around(times(one, e, layout), layout) for e in kept]
        return distinct(np.concatenate([*found, np.zeros(0, np.uint64)]))

    ends = end_powers(layout)
    usual = ladder((-7, -2, 0, 1, 6))
    tiny = ladder([*range(-130, -123), *(p + s for p in ends if p < 0 for s in (-2, -1, 0, 1))])
    huge = ladder([*range(125, 129), *(p + s for p in ends if p > 0 for s in (-1, 0, 1))])
    smallest = np.arange(1, 4, dtype=np.uint64)
    zero, inf = (np.array([word], np.uint64) for word in (0, layout.inf_bits))
    top = near(np.array([layout.inf_bits - 1], np.uint64), layout)
    rounds = ("scale_rounding", "pre_rounding")
    ties = np.array([pattern(3, e, layout) for e in (-9, -4, -1, 2, 7, 12)], np.uint64)
    signed = [both_signs(one, layout) for one in (usual, tiny, huge, zero, inf)]
    signed.append(nans(layout))
    minus = np.array([w | layout.sign_bit for w in (0, ties[2], layout.inf_bits)], np.uint64)
    made = [
        pool_of("rounding", rounds, usual, ties),
        pool_of(
            "small numbers",
            (*rounds, "tiny_scale", "scale_of_zero"),
            np.concatenate([tiny, smallest]),
            zero,
        ),
        pool_of(
            "large numbers",
            (*rounds, "scale_overflow", "scale_of_inf"),
            np.concatenate([huge, top]),
            inf,
        ),
        pool_of("signs", (), np.concatenate(signed), np.concatenate([minus, nans(layout)])),
    ]
    return made

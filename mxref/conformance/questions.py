"""What `identify` asks: pools of inputs, each with the choices that its answers depend on.

Any two policies that differ as functions differ on some input of a pool, since the pools hold every
kind of input that a choice is about, and both sides of every step that a choice can move.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mxref._bits import F16, LAYOUTS, FloatLayout, compose, split
from mxref.conformance.alike import Setting, narrower
from mxref.formats import E8M0, ELEMENT_FORMATS, CodeFormat
from mxref.golden.grid import grid, pattern
from mxref.golden.records import padded
from mxref.policy import Policy
from mxref.scale_rule import ScaleRule

__all__ = ["Pool", "Words", "around", "edges", "near", "pools", "times"]

Words = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Pool:
    """Inputs of one kind.

    Args:
        about: what they are about.
        reads: the choices that the answers can depend on; all that the operation reads if empty.
        words: the inputs, one case a row.
        always: rows that are asked whatever is known already, so that contradictions show.
        shows: which words of an answer count: `all`, `scale`, `elements`, or only their `number`.
    """

    about: str
    reads: tuple[str, ...]
    words: Words
    always: Sequence[int] = field(default=())
    shows: str = "all"


#: Makes a pool when what was found so far is known, as a policy.
Maker = Callable[[Policy], Pool]


def pools(setting: Setting) -> tuple[Maker, ...]:
    """The pools of an operation, in the order in which they are asked."""
    from mxref.conformance.block_questions import block_pools

    match setting.op:
        case "encode" | "encode_stochastic":
            made = _encode(setting)
        case "encode_scale":
            made = _encode_scale(setting)
        case "shared_scale":
            made = _shared_scale(setting)
        case "quantize":
            return block_pools(setting)
        case "quantize_tensor":
            return (*map(_as_tensor, block_pools(setting)), lambda _: _tail(setting))
        case "dequantize":
            made = _dequantize(setting)
        case "decode":
            codes = np.arange(setting.element.code_count, dtype=np.uint64)
            some = [0, setting.element.sign_bit, 1, setting.element.max_code]
            made = [Pool("codes", (), codes[:, np.newaxis], some)]
        case "decode_scale":
            codes = np.arange(E8M0.code_count, dtype=np.uint64)
            made = [Pool("scales", (), codes[:, np.newaxis], [0, 1, 0x7F, 0xFE, 0xFF])]
        case _:
            made = _layouts(setting)
    return tuple(lambda _, pool=pool: pool for pool in made)  # type: ignore[misc]


# Numbers.


def times(bits: Words, power: int, layout: FloatLayout) -> Words:
    """Patterns of the numbers times 2**power, rounded where they are no numbers of the type."""
    parts = split(bits, layout)
    scaled = type(parts)(
        parts.negative,
        parts.significand,
        parts.exponent + power,
        parts.is_inf,
        parts.is_nan,
        parts.is_subnormal,
    )
    return compose(scaled, layout).astype(np.uint64)


def near(points: Words, layout: FloatLayout, ulps: int = 1) -> Words:
    """Magnitude patterns and those up to some ulp from them."""
    steps = np.arange(-ulps, ulps + 1)[:, np.newaxis]
    found = (points.astype(np.int64) + steps).reshape(-1)
    found = found[(found >= 0) & (found <= layout.inf_bits)]
    return np.unique(found).astype(np.uint64)


def around(points: Words, layout: FloatLayout) -> Words:
    """Magnitudes next to some, and next to where a conversion to a narrower type moves them.

    A step of a function at t is, after such a conversion, at one of the midpoints between the
    narrower type's numbers next to t.
    """
    found = [near(points, layout)]
    for narrow in narrower(layout).values():
        here = compose(split(points, layout), narrow).astype(np.int64)
        grid = np.clip(here + np.arange(-2, 3)[:, np.newaxis], 0, narrow.inf_bits - 1)
        wide = compose(split(grid, narrow), layout).astype(np.int64)
        # Patterns between two numbers of one binade are evenly spaced; the last step is repeated.
        last = 2 * wide - compose(split(np.maximum(grid - 1, 0), narrow), layout).astype(np.int64)
        after = np.where(grid == narrow.inf_bits - 1, last, np.roll(wide, -1, axis=0))
        middles = (wide + after)[:-1] // 2
        found += [near(middles.astype(np.uint64).reshape(-1), layout), wide.astype(np.uint64)]
    return np.unique(np.concatenate([one.reshape(-1) for one in found]))


def powers(layout: FloatLayout) -> list[int]:
    """Exponents of the powers of two at which a float type, or a narrower one, begins or ends."""
    kinds = [layout, *narrower(layout).values()]
    ends = [(k.emin - k.mantissa_bits, k.emin, k.bias) for k in kinds]
    return sorted({power for some in ends for power in some})


def power_bits(powers: Sequence[int], layout: FloatLayout) -> Words:
    """The patterns of those powers of two that the type holds."""
    low = layout.emin - layout.mantissa_bits
    return np.array([pattern(1, p, layout) for p in powers if low <= p <= layout.bias], np.uint64)


def both_signs(magnitudes: Words, layout: FloatLayout) -> Words:
    """Every magnitude with both signs."""
    return np.stack([magnitudes, magnitudes | np.uint64(layout.sign_bit)], axis=1).reshape(-1)


def specials(layout: FloatLayout) -> Words:
    """NaNs of both signs."""
    return both_signs(np.array([layout.nan_bits], np.uint64), layout)


def _codes_asked(fmt: CodeFormat) -> list[int]:
    """The subnormal codes, and the first and last ones of every binade."""
    one = 1 << fmt.mantissa_bits
    if fmt.max_code < 40:
        return list(range(fmt.max_code + 1))
    ends = {0, 1, 2, one // 2, one - 2, one - 1}
    last = fmt.max_code - 2
    return [code for code in range(fmt.max_code + 1) if code % one in ends or code >= last]


def element_points(fmt: CodeFormat, layout: FloatLayout) -> Words:
    """Numbers of a format and the midpoints above them."""
    numbers, middles = grid(fmt, layout)
    asked = _codes_asked(fmt)
    return np.array([side[code] for code in asked for side in (numbers, middles)], np.uint64)


def _ties(fmt: CodeFormat, layout: FloatLayout) -> Words:
    """A tie above an even code in every binade, of either sign in turn; above odd ones too if few."""
    _, middles = grid(fmt, layout)
    one = 1 << fmt.mantissa_bits
    codes = [code for code in range(0, fmt.max_code, max(one, 2))]
    if getattr(fmt, "twos_complement", False):
        codes = [0, 2, 4, 8, 16, 32, 64, 100]
    if len(codes) <= 8:
        codes += [code + 1 for code in codes if code + 1 < fmt.max_code]
    ties = [middles[code] | layout.sign_bit * (i % 2 * fmt.signed) for i, code in enumerate(codes)]
    return np.array(ties, np.uint64)


def _encode(setting: Setting) -> list[Pool]:
    fmt, layout = setting.element, setting.layout
    stochastic = setting.op == "encode_stochastic"
    points = around(element_points(fmt, layout), layout)
    numbers, middles = grid(fmt, layout)
    # What is below is subnormal in float16, to which the policy may round first.
    ordinary = max(pattern(1, F16.emin + 1, layout), numbers[1] * 2 - middles[0])
    ties = _ties(fmt, layout)
    ties_in = ties[(ties & np.uint64(layout.sign_bit - 1)) > ordinary]
    inside = points[(points > ordinary) & (points <= numbers[-1])]
    ends = around(power_bits(powers(layout), layout), layout)
    small = np.concatenate([points[points <= ordinary * 2], ends[ends <= ordinary]])
    large = np.concatenate([points[points >= numbers[-2]], ends[ends > numbers[-1]]])
    large = np.append(large, np.uint64(layout.inf_bits))
    rounds = ("rounding", "pre_rounding")
    signs = ("zero_sign", "underflow_sign", "subnormal_inputs")
    beyond = ("overflow", "clamp", "nan", "int8_range")
    parts: list[tuple[str, tuple[str, ...], Words, Words]] = [
        ("rounding", rounds, both_signs(inside, layout), ties_in),
        (
            "small numbers and zeros",
            (*rounds, *signs),
            both_signs(np.unique(small), layout),
            np.concatenate([np.array([0, layout.sign_bit], np.uint64), ties[ties_in.size * 0 : 2]]),
        ),
        (
            "overflow",
            (*rounds, *beyond),
            both_signs(np.unique(large), layout),
            both_signs(np.array([layout.inf_bits], np.uint64), layout),
        ),
        ("NaN", ("nan", "nan_to_finite", "int8_range"), specials(layout), specials(layout)),
    ]
    made = [_pool(about, reads, words, must) for about, reads, words, must in parts]
    if stochastic:
        made = [_drawn(pool, fmt, layout) for pool in made]
    whole = np.unique(np.concatenate([pool.words for pool in made[:3]]), axis=0)
    return [*made, Pool("all of it", (), whole)]


def _pool(about: str, reads: tuple[str, ...], words: Words, must: Words) -> Pool:
    """A pool of single words, some of which must be asked."""
    found = np.concatenate([must, words])[:, np.newaxis]
    return Pool(about, reads, found, range(must.size))


#: Random bits and their number: none, all, and those that just carry a quarter or a half.
_DRAWS = ((0, 1), (1, 1), (0, 4), (4, 4), (7, 4), (8, 4), (11, 4), (12, 4), (15, 4))


def _drawn(pool: Pool, fmt: CodeFormat, layout: FloatLayout) -> Pool:
    """The same with random bits; what must be asked takes a few of them."""
    words = [(word, *draw) for draw in _DRAWS for word in pool.words[:, 0].tolist()]
    if pool.about == "rounding":
        low = element_points(fmt, layout)
        low = low[low >= pool.words[:, 0].min()][:6]
        unit = np.uint64(max(1, 1 << max(0, layout.mantissa_bits - fmt.mantissa_bits - 5)))
        some = np.unique(np.concatenate([low + unit * np.uint64(i) for i in range(33)]))
        words += [(w, *draw) for draw in _DRAWS for w in both_signs(some, layout).tolist()]
    count = len(pool.words)
    must = [row + count * (i % len(_DRAWS)) for i, row in enumerate(pool.always)]
    return Pool(pool.about, pool.reads, np.array(words, np.uint64), must, pool.shows)


# Scales.


def edges(fmt: CodeFormat, layout: FloatLayout, exponents: Sequence[int]) -> Words:
    """Amaxes at the limits of every scale rule, in some binades."""
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
    return np.unique(np.concatenate(found))


def _log2_edges(layout: FloatLayout, exponents: Sequence[int]) -> Words:
    """Just below powers of two, where a logarithm in float32 is wrong."""
    ulp = 1 << max(0, layout.mantissa_bits - 23)
    found = power_bits(exponents, layout)
    below = np.array([1, 2, 3, 4, 5, 6, 7, 9, 12, 24, 40, 48], np.uint64) * np.uint64(ulp)
    return (found[:, np.newaxis] - below).reshape(-1)


def usual_amaxes(fmt: CodeFormat, layout: FloatLayout) -> Words:
    """Amaxes that no rule and no type takes to an end of the scales."""
    points = near(around(edges(fmt, layout, (-7, 0, 9)), layout), layout)
    return np.unique(np.concatenate([points, _log2_edges(layout, (-6, 1, 3, 10))]))


def extreme_amaxes(fmt: CodeFormat, layout: FloatLayout) -> Words:
    """Amaxes near the ends of the scales, of the float type, and of narrower ones; and zero."""
    e = fmt.emax
    ends = powers(layout)
    far = [p + step for p in (*ends, -127 + e, 127 + e) for step in range(-3, 3)]
    wraps = [p + step for p in (-127 + e - 256, 127 + e + 256) for step in (-1, 0, 1)]
    some = edges(fmt, layout, sorted({*far, *wraps, *range(-155, -100, 6), 60, 100, 120, -60}))
    close = around(edges(fmt, layout, [*ends, -127 + e, -126 + e, 127 + e, 128 + e]), layout)
    top = near(np.array([layout.inf_bits - 1], np.uint64), layout)
    tops = around(power_bits(ends, layout), layout)
    logs = _log2_edges(layout, [p for p in (-100, -40, 40, 100) if layout.exponent_bits > 5])
    low = np.arange(0, 9, dtype=np.uint64)
    found = np.unique(np.concatenate([some, close, top, tops, logs, low]))
    return found[found < np.uint64(layout.inf_bits)]


SCALE_READS = ("scale_rule", "amax_type", "int8_emax")
RANGE_READS = ("zero_block", "scale_overflow", "scale_underflow")


def _shared_scale(setting: Setting) -> list[Pool]:
    fmt, layout = setting.element, setting.layout
    usual, extreme = usual_amaxes(fmt, layout), extreme_amaxes(fmt, layout)
    must = edges(fmt, layout, (-3, 4))
    special = np.array([0, layout.inf_bits, layout.nan_bits], np.uint64)
    whole = np.unique(np.concatenate([usual, extreme]))[:, np.newaxis]
    return [
        _pool("scale rule", SCALE_READS, usual, must[:: max(1, must.size // 12)]),
        _pool("ends of the scales", SCALE_READS + RANGE_READS, extreme, special),
        Pool("all of it", (), whole),
    ]


def _encode_scale(setting: Setting) -> list[Pool]:
    layout = setting.layout
    one = np.array([pattern(n, -1, layout) for n in (2, 3)], np.uint64)

    def ladder(exponents: Sequence[int]) -> Words:
        kept = [e for e in exponents if layout.emin - layout.mantissa_bits <= e <= layout.bias]
        found = [around(times(one, e, layout), layout) for e in kept]
        return np.unique(np.concatenate([*found, np.zeros(0, np.uint64)]))

    ends = powers(layout)
    usual = ladder((-7, -2, 0, 1, 6))
    tiny = ladder([*range(-130, -123), *(p + s for p in ends if p < 0 for s in (-2, -1, 0, 1))])
    huge = ladder([*range(125, 129), *(p + s for p in ends if p > 0 for s in (-1, 0, 1))])
    smallest = np.arange(1, 4, dtype=np.uint64)
    zero, inf = (np.array([word], np.uint64) for word in (0, layout.inf_bits))
    top = near(np.array([layout.inf_bits - 1], np.uint64), layout)
    rounds = ("scale_rounding", "pre_rounding")
    ties = np.array([pattern(3, e, layout) for e in (-9, -4, -1, 2, 7, 12)], np.uint64)
    signed = [both_signs(one, layout) for one in (usual, tiny, huge, zero, inf)]
    signed.append(specials(layout))
    minus = np.array([w | layout.sign_bit for w in (0, ties[2], layout.inf_bits)], np.uint64)
    made = [
        _pool("rounding", rounds, usual, ties),
        _pool(
            "small numbers",
            (*rounds, "tiny_scale", "scale_of_zero"),
            np.concatenate([tiny, smallest]),
            zero,
        ),
        _pool(
            "large numbers",
            (*rounds, "scale_overflow", "scale_of_inf"),
            np.concatenate([huge, top]),
            inf,
        ),
        _pool("signs", (), np.concatenate(signed), np.concatenate([minus, specials(layout)])),
    ]
    return made


# Products.


def _dequantize(setting: Setting) -> list[Pool]:
    codes = np.arange(max(setting.element.code_count, 32), dtype=np.uint64)
    rows = (codes % np.uint64(setting.element.code_count)).reshape(-1, 32)
    layout = setting.layout
    low, high = layout.emin - layout.mantissa_bits + 127, layout.bias + 127
    near_ends = {p + step for p in (low, layout.emin + 127, high) for step in range(-18, 19)}
    scales = sorted({0, 1, 2, 0x7F, 0xFD, 0xFE, 0xFF} | {s for s in near_ends if 0 <= s < 256})
    words = np.array([[s, *row] for s in scales for row in rows.tolist()], np.uint64)
    count, firsts = len(rows), (0, 1, 0x7F, 0xFE, 0xFF)
    must = [scales.index(s) * count + part for s in firsts for part in (0, count - 1)]
    return [Pool("products", (), words, sorted(set(must)))]


# Layouts.


def _layouts(setting: Setting) -> list[Pool]:
    fmt = setting.element
    codes = [i * 11 % 61 % fmt.code_count for i in range(64)]
    match setting.op:
        case "pack":
            rows = [codes, codes[:37]]
        case "unpack":  # as many bytes as each layout has
            sizes = sorted({64 * fmt.bits // 8, 64})
            rows = [[64, *((i * 37 + 5) % 256 for i in range(size))] for size in sizes]
        case "pack_scales" | "unpack_scales":
            matrix = [(i * 7 + i // 200) % 255 for i in range(130 * 5)]
            rows = [[130, 5, *matrix]]
            if setting.op == "unpack_scales":
                rows += [[130, 5, *((i * 7 + i // 250) % 255 for i in range(2048))]]
        case "pack_blocks":
            rows = [[0x85, *codes[:32]], [0xFF, *codes[32:]]]
        case _:
            sizes = sorted({32 * fmt.bits // 8, 32})
            rows = [[(i * 37 + 5 + 128 * j) % 256 for i in range(n + 1)] for n in sizes for j in (0, 1)]
    return [Pool("places", (), padded(rows), range(len(rows)))]


def _as_tensor(maker: Maker) -> Maker:
    """The same blocks as tensors of one row."""

    def made(found: Policy) -> Pool:
        pool = maker(found)
        first = np.tile(np.array([1, 32, 1], np.uint64), (len(pool.words), 1))
        words = np.concatenate([first, pool.words], axis=1)
        reads = pool.reads or tuple(ELEMENT_READS)
        return Pool(pool.about, reads, words, pool.always, pool.shows)

    return made


def _tail(setting: Setting) -> Pool:
    one = pattern(1, 0, setting.layout)
    rows = [[1, 40, 1, *[one] * 40], [40, 2, 0, *[one] * 80]]
    return Pool("tails", ("tail",), padded(rows), range(2), "number")


#: What whole blocks show.
ELEMENT_READS: tuple[str, ...] = ()
_ = (ELEMENT_FORMATS, LAYOUTS)

"""Complete comparisons of two policies, and a target that follows a policy, by the slow twin."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.cases.answers import exact_answers
from mxref.cases.grid import grid
from mxref.cases.probes import probes
from mxref.cases.records import VectorFile
from mxref.conformance.compare.compare import with_one_nan
from mxref.conformance.identification.predicted import predicted
from mxref.conformance.identification.setting import Setting
from mxref.formats.catalog import block_format
from mxref.operands.splitmix import splitmix64
from mxref.operands.word_rows import padded, same_width, stripped
from mxref.operations.registry import LAYOUT_OPERATIONS
from mxref.policy.policy import Policy
from mxref.targets.calls import Answers, without_cases

Words = NDArray[np.uint64]
Members = Mapping[str, str]


@dataclass
class Follower:
    """A target that follows a policy, by the slow twin, and counts its questions."""

    policy: Policy
    name: str = "follower"
    asked: list[tuple[int, ...]] = field(default_factory=list)

    def covers(self, op: str, format: str, float: str) -> bool:
        return True

    def ask(self, file: VectorFile, inputs: Words) -> Answers:
        rows: list[tuple[int, ...]] = []
        errors = {}
        for i, row in enumerate(inputs):
            self.asked.append(stripped(row))
            try:
                rows += self.answer(file, self.asked[-1])
            except ValueError as error:
                rows.append(())
                errors[i] = str(error)
        return Answers(padded(rows), errors)

    def answer(self, file: VectorFile, words: tuple[int, ...]) -> list[tuple[int, ...]]:
        refuses = self.policy.layout.tail.value == "refused"
        if file.op == "quantize_tensor" and refuses and words[words[2]] % 32:
            raise ValueError("a tail")
        return exact_answers(file.op, file.format, file.float, [words], self.policy)


def random_policy(settings: list[Setting], number: int) -> tuple[Setting, dict[str, str]]:
    """A setting, each in its turn, and a member of every choice that its operation reads."""
    draw, setting = random.Random(number), settings[number * 11 % len(settings)]
    return setting, {
        name: draw.choice(setting.row.members(setting.format, name)) for name in setting.choices
    }


def same(setting: Setting, one: Members, other: Members) -> bool:
    """Whether two policies are one function, over all inputs or all steps of both."""
    inputs = complete(setting, one, other)
    return bool((answers(setting, inputs, one) == answers(setting, inputs, other)).all())


def answers(setting: Setting, inputs: list[Words], members: Members) -> Words:
    parts = [predicted(setting, words, members) for words in inputs]
    if setting.one_nan:
        file = without_cases(setting.op, setting.format, setting.float)
        parts = [with_one_nan(file, *both) for both in zip(parts, inputs, strict=True)]
    whole = parts[0]
    for part in parts[1:]:
        whole = np.concatenate(same_width(whole, part))
    return whole


def complete(setting: Setting, one: Members, other: Members) -> list[Words]:
    op, layout = setting.op, setting.layout
    if op in LAYOUT_OPERATIONS and op != "quantize_tensor":
        return [padded(layout_words(setting))]
    if op in ("decode", "decode_scale"):
        return [np.arange(setting.element.code_count, dtype=np.uint64)[:, np.newaxis]]
    if op == "dequantize":
        codes = np.resize(np.arange(setting.element.code_count), 256).reshape(8, 32)
        scales = np.repeat(np.arange(256), 8)
        return [np.column_stack([scales, np.tile(codes, (256, 1))]).astype(np.uint64)]
    if op == "quantize" and setting.is_float_scaled:
        return [probes(op, setting.format, setting.float)]  # almost every number is a step
    if op == "quantize":
        made = scaled_blocks if setting.is_scaled else blocks
        return [made(setting, (one, other))]
    if op == "quantize_tensor":
        whole = blocks(setting, (one, other))[::4]
        first = np.tile(np.array([1, 32, 1], np.uint64), (len(whole), 1))
        tail = [[2, 33, 1, *whole[:3].reshape(-1)[:66]], [33, 2, 0, *whole[3:6].reshape(-1)[:66]]]
        return [np.column_stack([first, whole]), *(np.array([t], np.uint64) for t in tail)]
    draws = [()] if op != "encode_stochastic" else [(1, 1), (5, 3)]
    found = []
    for draw in draws:
        signs = (0,) if op == "shared_scale" else (0, layout.sign_bit)
        for sign in signs:
            if layout.width == 16:
                magnitudes = np.arange(layout.sign_bit, dtype=np.uint64)
            else:
                magnitudes = sides(setting, (one, other), sign, draw)
            words = magnitudes | np.uint64(sign)
            found.append(np.column_stack([words, *(np.full(words.size, d) for d in draw)]))
    return [words.astype(np.uint64) for words in found]


def sides(setting: Setting, some: tuple[Members, ...], sign: int, draw: tuple[int, ...]) -> Words:
    """Both sides of every step of the answers, as magnitudes; and NaN."""
    at = [steps_of(setting, tuple(members.items()), sign, draw) for members in some]
    nan = np.array([setting.layout.nan_bits], np.uint64)
    return np.unique(np.concatenate([nan, *at, *(one - np.uint64(1) for one in at)]))


@functools.cache
def steps_of(
    setting: Setting, chosen: tuple[tuple[str, str], ...], sign: int = 0, draw: tuple[int, ...] = ()
) -> Words:
    """Where the answers of a policy change; of blocks their scales."""
    layout, members = setting.layout, dict(chosen)

    def code(magnitudes: Words) -> Words:
        if setting.op == "quantize":
            alone = np.zeros((magnitudes.size, 32), np.uint64)
            alone[:, 3] = np.minimum(magnitudes, np.uint64(layout.inf_bits - 1))
            return predicted(setting, alone, members, "scale")[:, 0]
        words = magnitudes | np.uint64(sign)
        inputs = np.column_stack([words, *(np.full(words.size, d) for d in draw)])
        return predicted(setting, inputs.astype(np.uint64), members)[:, 0]

    return steps(code, layout)


def steps(code: Callable[[Words], Words], layout: FloatLayout) -> Words:
    """Every t from 1 to infinity with code(t - 1) != code(t), by bisection of every binade."""
    fields = np.arange((1 << layout.exponent_bits), dtype=np.uint64)
    ends = fields << np.uint64(layout.mantissa_bits)
    at = code(ends)
    low, high, at_low, at_high = ends[:-1], ends[1:], at[:-1], at[1:]
    found = []
    while True:
        differ = at_low != at_high
        low, high, at_low, at_high = low[differ], high[differ], at_low[differ], at_high[differ]
        found.append(high[high - low == 1])
        wide = high - low > 1
        low, high, at_low, at_high = low[wide], high[wide], at_low[wide], at_high[wide]
        if not low.size:
            return np.unique(np.concatenate(found))
        middle = (low + high) // np.uint64(2)
        at_middle = code(middle)
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
        at_low, at_high = (
            np.concatenate([at_low, at_middle]),
            np.concatenate([at_middle, at_high]),
        )


def blocks(setting: Setting, some: tuple[Members, ...]) -> Words:
    """Both sides of every step of the scale, each as amax of a block with much else in it."""
    layout, fmt = setting.layout, block_format(setting.format).element
    own = Setting("quantize", setting.format, setting.float)
    found = [np.array([0, layout.inf_bits - 1], np.uint64)]
    for policy in some:
        at = steps_of(own, tuple(policy.items()))
        found += [at, at - np.uint64(1)]
    amaxes = np.unique(np.concatenate(found))
    amaxes = amaxes[amaxes < np.uint64(layout.inf_bits)]
    whole = np.tile(amaxes[:, np.newaxis], (1, 32))
    # Numbers of the format and midpoints with the exponent of amax, and random ones, both signs.
    numbers, middles = (np.array(side, np.uint64) for side in grid(fmt, LAYOUTS["f64"]))
    points = np.concatenate([numbers[1:], middles])
    draws = splitmix64(3, whole.size).reshape(whole.shape)
    chosen = points[draws % np.uint64(points.size)]
    m = np.uint64(layout.mantissa_bits)
    below = np.int64(fmt.emax + 1023) - (chosen >> np.uint64(52)).astype(np.int64)
    fields = np.maximum((whole >> m).astype(np.int64) - below, 0).astype(np.uint64)
    fraction = (chosen & np.uint64((1 << 52) - 1)) >> (np.uint64(52) - m)
    near = (draws >> np.uint64(20)) % np.uint64(3)
    others = (fields << m | fraction) + near - np.uint64(1)
    random = draws >> np.uint64(33) & np.uint64((1 << layout.mantissa_bits) - 1)
    others = np.where((draws >> np.uint64(30)) % np.uint64(4) == 0, others ^ random, others)
    others = np.where(others > whole, whole, others)
    others |= (draws >> np.uint64(63)) << np.uint64(layout.width - 1)
    others[:, 0], others[:, 1], others[:, 2] = amaxes, layout.sign_bit, amaxes | layout.sign_bit
    special = others[:: max(1, len(others) // 30)]
    kinds = []
    for bits in (layout.inf_bits, layout.nan_bits):
        for sign in (0, layout.sign_bit):
            with_one = special.copy()
            with_one[:, 5] = bits | sign
            kinds.append(with_one)
    both = kinds[0].copy()
    both[:, 9] = layout.nan_bits
    only = np.full((1, 32), layout.nan_bits | layout.sign_bit, np.uint64)
    return np.concatenate([others, *kinds, both, only])


def layout_words(setting: Setting) -> list[list[int]]:
    """Questions about layouts: of several lengths, and of every size of bytes that one can have."""
    bits, count = setting.element.bits, setting.element.code_count
    draws = (splitmix64(5, 4096) >> np.uint64(40)).tolist()
    match setting.op:
        case "pack":
            return [[d % count for d in draws[:n]] for n in (1, 2, 3, 5, 31, 32, 33, 64, 100)]
        case "unpack":
            sizes = [(n, size) for n in (1, 7, 32, 64) for size in {-(-n * bits // 8), n}]
            return [[n, *(d % 256 for d in draws[:size])] for n, size in sizes]
        case "pack_scales":
            return [[r, c, *(d % 256 for d in draws[: r * c])] for r, c in ((1, 1), (129, 5))]
        case "unpack_scales":
            sizes = [(129, 5, 645), (129, 5, 2048), (128, 4, 512)]
            return [[r, c, *(d % 256 for d in draws[:n])] for r, c, n in sizes]
        case "pack_blocks":
            return [[s, *(d % count for d in draws[s : s + 32])] for s in range(0, 256, 5)]
    sizes = {4 * bits, 32}
    return [[d % 256 for d in draws[at : at + n + 1]] for n in sizes for at in range(0, 3000, 60)]


#: Numbers of tensors: 1, 1/3, 2688 and 1792, the largest products with 448 and 256, and 3.
TENSORS = (0x3F800000, 0x3EAAAAAB, 0x45280000, 0x44E00000, 0x40400000)


def scaled_blocks(setting: Setting, some: tuple[Members, ...]) -> Words:
    """Both sides of every step of the scale under some numbers of tensors, with much else below.

    One block in eight has a NaN or an infinity; the last is zeros.
    """
    layout, fmt = setting.layout, block_format(setting.format)
    size, m = fmt.elements_per_block, layout.mantissa_bits
    found = []
    for tensor in TENSORS[: 5 if fmt.tensor_scale else 1]:
        first = [tensor] * fmt.tensor_scale

        def code(magnitudes: Words, policy: Members, first: list[int] = first) -> Words:
            alone = np.zeros((magnitudes.size, len(first) + size), np.uint64)
            alone[:, : len(first)] = first
            alone[:, -3] = np.minimum(magnitudes, np.uint64(layout.inf_bits - 1))
            return predicted(setting, alone, policy)[:, 0]

        at = np.concatenate([steps(functools.partial(code, policy=one), layout) for one in some])
        amaxes = np.unique(np.concatenate([at, at - np.uint64(1), at[:0]]))
        amaxes = np.minimum(np.append(amaxes, np.uint64(0)), np.uint64(layout.inf_bits - 1))
        draws = splitmix64(tensor, amaxes.size * size).reshape(-1, size)
        below = (draws % np.uint64(5)) << np.uint64(m)
        others = np.maximum(amaxes[:, np.newaxis].astype(np.int64) - below.astype(np.int64), 0)
        kept = np.uint64(m) - np.minimum(np.uint64(m), draws >> np.uint64(8) & np.uint64(7))
        short = others.astype(np.uint64) >> kept << kept
        others = np.where(
            draws >> np.uint64(16) & np.uint64(1) == 0, short, others.astype(np.uint64)
        )
        others[:, 2] = amaxes
        bits = np.array([layout.inf_bits, layout.nan_bits], np.uint64)
        others[::8, 5] = bits[np.arange(len(others[::8])) % 2]
        others |= (draws >> np.uint64(63)) << np.uint64(layout.width - 1)
        found.append(np.insert(others, 0, tensor, axis=1) if first else others)
    return np.concatenate(found).astype(np.uint64)

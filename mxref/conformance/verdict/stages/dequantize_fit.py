"""How a block becomes numbers: which scale is read, and how, the codes, the output, the lanes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F64, I64, Bool, compose, split
from mxref.conformance.verdict.cause.evidence import Evidence, Questions, Words, nearest, total
from mxref.conformance.verdict.cause.orders import ORDERS, lane_order, matches
from mxref.conformance.verdict.stages.chain import Chain, Link
from mxref.conformance.verdict.stages.dequantize_steps import (
    OUTPUTS,
    ROWS,
    F,
    Reading,
    Side,
    Steps,
    element_of,
    element_readings,
    laid,
    overlay,
    same_numbers,
    scale_readings,
    shifted,
)
from mxref.conformance.verdict.stages.views import lanes_in_words
from mxref.formats.catalog import E8M0, ELEMENT_FORMATS
from mxref.formats.scale_kinds import has_power_scales
from mxref.policy.policy import Policy

#: Scale codes of which products are in the range of every float type.
_PLAIN = (E8M0.bias - 4, E8M0.bias + 4)
#: Scale codes that a target may read by a rule of their own.
_ENDS = (0x00, 0xFF)
#: A part of plain numbers that leaves no doubt about lanes.
_CLEAR = 0.8
_CLAUSES = {"scale": "MX-5.1", "codes": "MX-5.3", "output": "N20, N21", "places": "MX-5.1"}


def fit_products(whole: Sequence[Evidence], policy: Policy) -> Chain | None:
    """What a target's stages do with blocks, or with codes.

    Args:
        whole: its answers to one operation and format, by float type.
        policy: what is right.
    """
    file = whole[0].questions.file
    if file.format not in ELEMENT_FORMATS and not has_power_scales(file.format):
        return None
    fmt = element_of(file.format)
    elements, scales = element_readings(fmt, policy), scale_readings(policy)
    sides = [Side(one.questions, one.answers) for one in whole]
    lanes = sides[0].codes.shape[1]
    if any(side.got.shape[1] != lanes for side in sides):
        return None
    own = tuple(range(lanes))
    plain = Steps(scales[0].what, elements[0].what, (0,) * lanes, own)
    steps, k = _with_lanes(sides, plain, elements)
    base = shifted(scales[0], k)
    shown = [_is_plain(steps.used(side)) for side in sides]
    read = _overlaid(sides, steps, shown, elements, by_scale=False)
    steps = replace(steps, codes=laid(elements[0], read))
    ordinary = [~np.isin(steps.used(side), _ENDS) for side in sides]
    # Of readings of scales those that differ in more codes than the ends, which come later.
    changes = ((~same_numbers(scales[0].what, one.what)).sum() for one in scales)
    wide = itertools.compress(scales, (count > len(_ENDS) for count in changes))
    under, pairs = steps, itertools.product((base, *wide), OUTPUTS)
    tried = ((replace(under, scales=one.what, finish=out.what), one, out) for one, out in pairs)
    _, best = nearest(tried, lambda one, most: _misses(sides, one[0], ordinary, most), 1 << 40)
    steps, base, output = best or (under, base, OUTPUTS[0])
    every = [np.ones(side.got.shape, bool) for side in sides]
    ends = _overlaid(sides, steps, every, scales, by_scale=True)
    steps = replace(steps, scales=laid(base, ends))
    read = _overlaid(sides, replace(steps, codes=elements[0].what), every, elements,
                     by_scale=False)  # fmt: skip
    bases = [base] * (base.name != "right")
    links = [*_row_links(steps.rows)]
    links += [_reading_link("scale", "scales", one, plain) for one in (*bases, *ends)]
    links += [_reading_link("codes", "codes", one, plain) for one in read]
    if output.name != "rounded":
        change = partial(replace, finish=output.what)
        links.append(Link("output", output.name, output.text, change))
    if steps.sources != own:
        order = lane_order(np.array(steps.sources), "numbers")
        links.append(
            Link("places", order.name, order.text, partial(replace, sources=steps.sources))
        )

    def made(questions: Questions, policy: Policy, some: tuple[Link, ...]) -> Words:
        found = plain
        for link in some:
            found = link.what(found)
        return found.of(Side(questions))

    return Chain(tuple(links), made, "elements" if lanes > 1 else "codes", _CLAUSES)


def _reading_link(stage: str, name: str, one: Reading, plain: Steps) -> Link:
    """A link for a reading of scales or codes, which counts where it is not the plain one."""
    own = getattr(plain, name)

    def change(steps: Steps) -> Steps:
        found: dict[str, Any] = {name: overlay(own, getattr(steps, name), one.what)}
        return replace(steps, **found)

    return Link(stage, one.name, one.text, change)


def _row_links(rows: tuple[int, ...]) -> Iterable[Link]:
    """A link for each other block whose scale some lanes are read under."""
    for number in sorted({*rows} - {0}):
        lanes = np.array(rows) == number
        where = "" if lanes.all() else f"in {lanes_in_words(lanes)}, "
        text = f"{where}elements are multiplied by {ROWS[number].text}"

        def change(steps: Steps, lanes: Bool = lanes, number: int = number) -> Steps:
            return replace(steps, rows=tuple(np.where(lanes, number, steps.rows).tolist()))

        yield Link("scale", ROWS[number].name, text, change, mixes=True)


def _is_plain(used: I64) -> Bool:
    return np.asarray((used >= _PLAIN[0]) & (used <= _PLAIN[1]))


def _misses(sides: Sequence[Side], steps: Steps, some: Sequence[Bool], most: int | None) -> int:
    """The number of some numbers that steps do not give, or so many as are too many."""
    pairs = zip(sides, some, strict=True)
    return total((int((steps.wrong(side) & of).sum()) for side, of in pairs), most)


def _common_factor(sides: Sequence[Side], plain: Steps) -> int:
    """The power of two by which the largest numbers of most blocks are too large."""
    found = []
    for side in sides:
        some = np.asarray(_is_plain(side.scales))
        largest = []
        for words in (plain.of(side, some), side.got[some]):
            numbers = abs(compose(split(words, side.layout), F64).view(np.float64))
            largest.append(np.where(np.isfinite(numbers), numbers, 0).max(axis=1, initial=0))
        found.append(np.frexp(largest[1])[1] - np.frexp(largest[0])[1])
    every = np.concatenate(found)
    values, counts = np.unique(every, return_counts=True)
    if not every.size or 2 * counts.max() <= every.size:
        return 0
    return int(values[counts.argmax()])


def _with_lanes(
    sides: Sequence[Side], plain: Steps, elements: Sequence[Reading]
) -> tuple[Steps, int]:
    """The lanes and the blocks' scales from which most plain numbers come, and their factor.

    Codes may be read in any known way; the right one is meant in what is returned.
    """
    count = len(plain.sources)
    most, best = 0, (plain, 0)
    for reading in elements:
        read = replace(plain, codes=reading.what)
        k = _common_factor(sides, read)
        read = replace(read, scales=np.ldexp(plain.scales, k))
        same, total = np.zeros((len(ROWS) if count > 1 else 1, count, count), np.int64), 0
        for number in range(len(same)):
            under = replace(read, rows=(number,) * count)
            for side in sides:
                some = _is_plain(ROWS[number].what(side.scales))
                same[number] += matches(under.of(side, some), side.got[some])
                total += int(some.sum()) * (number == 0)
        # Of those that give as many, the own lane and scale.
        same = 2 * same
        same[0] += np.eye(count, dtype=np.int64)
        flat = same.transpose(1, 0, 2).reshape(count, -1)
        rows, sources = np.divmod(flat.argmax(axis=1), count)
        sources = _ordered(sources, flat.max(axis=1) > total)
        given = int(flat.max(axis=1).sum()) // 2
        if given > most and len({*sources.tolist()}) == count:
            steps = replace(read, rows=tuple(rows.tolist()), sources=tuple(sources.tolist()))
            most, best = given, (replace(steps, codes=plain.codes), k)
        if given >= _CLEAR * count * total:
            break
    return best


def _ordered(sources: NDArray[np.intp], clear: Bool) -> NDArray[np.intp]:
    """From which lanes come those of which it is clear, and the others by the order of these."""
    count = len(sources)
    for order in (np.arange(count), *(order.of(count, count) for order in ORDERS)):
        if 2 * clear.sum() >= count and (order == sources)[clear].all():
            return order
    return sources


def _overlaid(
    sides: Sequence[Side],
    steps: Steps,
    some: Sequence[Bool],
    readings: Sequence[Reading],
    *,
    by_scale: bool,
) -> list[Reading]:
    """Known readings that give all of the codes that they read otherwise, as few as will do.

    Args:
        sides: the answers.
        steps: what the other stages do.
        some: the numbers by which readings are judged.
        readings: the right one first.
        by_scale: whether they are of scales.
    """
    base = steps.scales if by_scale else steps.codes
    size = len(base)

    def wrong(numbers: F) -> I64:
        count = np.zeros(size, np.int64)
        under = replace(steps, scales=numbers) if by_scale else replace(steps, codes=numbers)
        for side, of in zip(sides, some, strict=True):
            at = steps.used(side) if by_scale else side.codes[:, list(steps.sources)]
            count += np.bincount(at[under.wrong(side) & of], minlength=size)
        return count

    needed = wrong(base) > 0
    if not needed.any():
        return []
    gives: list[tuple[Reading, Bool]] = []
    for one in readings[1:]:
        changed = ~same_numbers(readings[0].what, one.what)
        left = wrong(np.where(changed, one.what, base))
        if (changed & needed).any() and not left[changed].any():
            gives.append((one, changed))
    found = []
    while needed.any() and gives:
        one, changed = max(gives, key=lambda pair: int((pair[1] & needed).sum()))
        if not (changed & needed).any():
            break
        found.append(one)
        needed &= ~changed
    return found

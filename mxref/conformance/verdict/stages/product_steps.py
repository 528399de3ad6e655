"""What the stages of a product may do otherwise: scales and codes read, decoded, multiplied."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import F64Array
from mxref.conformance.verdict.stages.product_cases import Indices, Move
from mxref.conformance.verdict.stages.product_sums import OUTPUTS, SUMS, through
from mxref.formats.catalog import E4M3, E8M0, BlockFormat
from mxref.mutants import mutants_of
from mxref.operations.product_words import pair_formats

Table = NDArray[np.float64]

#: The stages, in the order of a product, and the clause about each.
STAGES = {
    "scales read": "MX-6.1",
    "scales decoded": "MX-5.1",
    "codes read": "MX-6.1",
    "codes decoded": "MX-5.3",
    "tensor scales": "N42",
    "scales multiplied": "MX-6.1",
    "blocks added": "MX-6.2",
    "sum": "N43",
    "output": "N28",
}
_SIDES = ("the first operand", "the second operand")


@dataclass(frozen=True, slots=True)
class ProductStep:
    """What one stage does otherwise.

    Args:
        stage: one of STAGES.
        text: what it does.
        sides: the operands of which it does so; of what follows the operands, both.
        change: where it reads, as a move and the side that it reads from; how it decodes, as a
            table by code; the order of lanes; or what it computes.
    """

    stage: str
    text: str
    sides: tuple[int, ...] = (0, 1)
    change: Any = field(default=None, compare=False, repr=False)

    def fits(self, other: ProductStep) -> bool:
        """Whether a product may have both."""
        return self.stage != other.stage or not {*self.sides} & {*other.sides}


@cache
def right_scales(fmt: BlockFormat) -> Table:
    """What scale codes stand for; a byte with more bits as without them."""
    count = fmt.scale.code_count
    return np.array([fmt.scale.value(code % count) for code in range(256)], np.float64)


@cache
def right_codes(fmt: BlockFormat) -> Table:
    """What element codes stand for; a byte with more bits as without them."""
    count = fmt.element.code_count
    return np.array([fmt.element.value(code % count) for code in range(256)], np.float64)


def _row(of: Callable[[Indices, Indices], Indices]) -> Move:
    return lambda row, rows, block, blocks: (of(row, rows), block)


def _block(of: Callable[[Indices, Indices], Indices]) -> Move:
    return lambda row, rows, block, blocks: (row, of(block, blocks))


def _transposed(
    row: Indices, rows: Indices, block: Indices, blocks: Indices
) -> tuple[Indices, Indices]:
    """Where a matrix that lies with columns first has what is read with rows first."""
    place = row * blocks + block
    return place % rows, place // rows


#: Other places of n, in words.
_MOVES: dict[str, Callable[[Indices, Indices], Indices]] = {
    "the first {}": lambda i, n: 0 * i,
    "the last {}": lambda i, n: n - 1,
    "the next {}, of the first for the last": lambda i, n: (i + 1) % n,
    "the {} before, of the last for the first": lambda i, n: (i - 1) % n,
    "the next {}, if there is one": lambda i, n: np.minimum(i + 1, n - 1),
    "the {} before, if there is one": lambda i, n: np.maximum(i - 1, 0),
    "the {}s in reverse": lambda i, n: n - 1 - i,
    "the other {} of each two": lambda i, n: np.where(i ^ 1 < n, i ^ 1, i),
    "the first {} of each two": lambda i, n: i & ~1,
    "the first {} of each four": lambda i, n: i & ~3,
}
_IN_BLOCKS: dict[str, Callable[[Indices, Indices], Indices]] = {
    "the next block, for the last of each four": lambda i, n: np.where(
        (i % 4 == 3) & (i + 1 < n), i + 1, i
    )
}


def _moves() -> Iterator[tuple[str, Move]]:
    for name, of in _MOVES.items():
        yield f"those of {name.format('row')}", _row(of)
    for name, of in (*_MOVES.items(), *_IN_BLOCKS.items()):
        yield f"those of {name.format('block')}", _block(of)
    yield "those of a matrix with columns first", _transposed


def _scales(fmt: BlockFormat) -> Iterator[tuple[str, Table]]:
    """Other tables of scales, in words."""
    right, code, power = right_scales(fmt), np.arange(256), fmt.scale == E8M0
    missing, other = np.isnan(right), E4M3 if power else E8M0
    yield from _codes_of_powers(right) if power else ()
    yield "divide instead of multiplying", 1 / np.where(right == 0, np.inf, right)
    yield "multiply twice", right**2
    yield "are left out", np.where(missing, np.nan, 1.0)
    yield "are left out, those of NaN, too", np.ones(256)
    yield "are numbers: the byte itself", code.astype(np.float64)
    yield f"are read as {other.name.upper()}", np.array([other.value(i) for i in range(256)], float)
    if power:
        for least in (-126, -32, -16, 0):
            yield f"are at least 2^{least}", np.maximum(right, 2.0**least)
        for least in (-126, -64, -32, -16):
            yield f"are 0 below 2^{least}", np.where(right < 2.0**least, 0.0, right)
        for most in (126, 32, 16, 0):
            yield f"are at most 2^{most}", np.minimum(right, 2.0**most)
        return
    normal, bits = 2.0**fmt.scale.emin, fmt.scale.mantissa_bits
    yield "that are subnormal are 0", np.where(right < normal, 0.0, right)
    yield f"are at least 2^{fmt.scale.emin}", np.where(right < normal, normal, right)
    yield "have no fraction: powers of two, cut off", right[code >> bits << bits]
    for text, value in (("1", 1.0), ("0", 0.0), ("infinite", np.inf)):
        yield f"that are NaN are {text}", np.where(missing, value, right)
    for text, by in (("twice", 2.0), ("half", 0.5)):
        yield f"are {text} what they are", right * by
    yield "are read without the bias", right * 2.0**fmt.scale.bias


def _codes_of_powers(right: Table) -> Iterator[tuple[str, Table]]:
    """What becomes of single codes of E8M0, of its range in float16, and of its bias."""
    code = np.arange(256)
    with np.errstate(all="ignore"):
        half = through(np.float16)(right)
    yield "are held in float16: infinite from 2^16 on, 0 below 2^-24", half
    yield "are held in float16, which ends at 65504: 0 below 2^-24", np.minimum(half, 65504)
    yield "of code 00 are 2^-126", np.where(code == 0, 2.0**-126, right)
    yield "of code 00 are 0", np.where(code == 0, 0.0, right)
    powers = (("2^128", 2.0**128), ("2^127", 2.0**127), ("1", 1.0), ("0", 0.0))
    for text, value in (*powers, ("infinite", np.inf)):
        yield f"of code FF are {text}", np.where(code == 255, value, right)
    signed = np.where(code < 128, code, code - 256)
    yield "are read without the bias", np.ldexp(np.where(code == 255, np.nan, 1.0), code)
    yield "are read as signed bytes without the bias", np.ldexp(1.0, signed)


def _lanes(size: int) -> Iterator[tuple[str, Indices]]:
    lanes = np.arange(size)
    for bit in (one for one in (1, 2, 4, 8, 16) if one < size):
        yield f"lanes i and i ^ {bit} are exchanged", lanes ^ bit
    yield "lanes are reversed", lanes[::-1]
    for count in (4, 8):
        yield f"lanes are reversed in each {count}", lanes ^ (count - 1)
    text = "even lanes come first, then odd ones, or lanes of both halves alternate in the other"
    yield text, lanes.reshape(size // 2, 2).T.ravel()
    text = "lanes of both halves alternate, or even lanes come first, then odd ones, in the other"
    yield text, lanes.reshape(2, size // 2).T.ravel()
    middle = lanes.reshape(4, size // 4)[[0, 2, 1, 3]].ravel()
    yield "the second and the third quarter of the lanes are exchanged", middle


def _decoded(format: str, side: int) -> Iterator[tuple[str, Table]]:
    """What mutants of the museum read codes as; and codes of the other side's format."""
    formats = pair_formats(format)
    fmt, other = formats[side], formats[1 - side]
    count = fmt.element.code_count
    codes = np.arange(count, dtype=np.uint8)
    for mutant in mutants_of("decode"):
        if fmt.element.name in mutant.formats and mutant.run is not None:
            try:
                with np.errstate(all="ignore"):
                    read = mutant.run(codes, fmt.element.name)
            except Exception:  # mutants are made for what the vectors ask
                continue
            yield mutant.text, np.resize(np.asarray(read).astype(np.float64), 256)
    if fmt.element != other.element:
        table = right_codes(other)
        yield f"are read as {other.element.name}", np.resize(table[:count], 256)


def _wrapped(a: F64Array, b: F64Array) -> F64Array:
    """The product of scales whose codes are added in a byte."""
    product = a * b
    found = np.where(np.isfinite(product) & (product > 0), product, 1.0)
    code = np.log2(found).astype(np.int64) + 127
    return np.where(np.isnan(product), np.nan, np.ldexp(1.0, code % 256 - 127))


def _shifted(shift: int) -> Callable[[F64Array, F64Array], F64Array]:
    return lambda a, b: a * b * 2.0**shift


_PRODUCTS: dict[str, Callable[[F64Array, F64Array], F64Array]] = {
    "is kept within 2^-127 and 2^127": lambda a, b: np.clip(a * b, 2.0**-127, 2.0**127),
    "is kept within 2^-126 and 2^127": lambda a, b: np.clip(a * b, 2.0**-126, 2.0**127),
    "is at least 2^-127": lambda a, b: np.maximum(a * b, 2.0**-127),
    "is at most 2^127": lambda a, b: np.minimum(a * b, 2.0**127),
    "is a float32: infinite from 2^128 on, 0 below 2^-149": lambda a, b: through(np.float32)(a * b),
    "is a float32 without subnormals: infinite from 2^128 on, 0 below 2^-126": lambda a, b: through(
        np.float32
    )(np.where(a * b < 2.0**-126, 0.0, a * b)),
    "is a float16: infinite from 2^16 on, 0 below 2^-24": lambda a, b: through(np.float16)(a * b),
    "is the power of the codes' sum in a byte": _wrapped,
    "is the larger one": np.maximum,
    "is the smaller one": np.minimum,
    **{f"is {1 << i} times as large": _shifted(i) for i in (1, 2)},
    **{f"is 1/{1 << i} of the right one": _shifted(-i) for i in (1, 2)},
}


Weight = Callable[[Indices, Indices], Any]


def _whole_groups(size: int) -> Weight:
    return lambda i, n: (i < n - n % size) | (n < size)


def _first_ones(most: int) -> Weight:
    return lambda i, n: i < most


def _weights() -> Iterator[tuple[str, Weight]]:
    """How often the blocks i of n are added, in words."""
    yield "the first of several blocks is left out", lambda i, n: (i > 0) | (n == 1)
    yield "the last of several blocks is left out", lambda i, n: (i < n - 1) | (n == 1)
    yield "blocks with an odd number, from 0, are left out", lambda i, n: i % 2 == 0
    yield "blocks with an even number but the first are left out", lambda i, n: (i % 2) | (i == 0)
    for size in (2, 3, 4, 8):
        text = f"blocks behind the last whole group of {size} are left out, if there is a group"
        yield text, _whole_groups(size)
    for most in (1, 2, 4, 8, 16):
        some = "block of a row is" if most == 1 else f"{most} blocks of a row are"
        yield f"only the first {some} added", _first_ones(most)
    yield "only the last block of a row is added", lambda i, n: i == n - 1
    yield "the first block is added twice", lambda i, n: 1 + (i == 0)
    yield "the last of several blocks is added twice", lambda i, n: 1 + ((i == n - 1) & (n > 1))


#: What multiplies sums in place of the product of the scales of both tensors, in words.
_TENSORS: dict[str, Callable[[F64Array, F64Array], F64Array]] = {
    "the scales of both tensors are left out": lambda a, b: np.ones(len(a)),
    "the scale of the first tensor is left out": lambda a, b: b,
    "the scale of the second tensor is left out": lambda a, b: a,
    "the scale of the first tensor is taken for both": lambda a, b: a * a,
    "the scale of the second tensor is taken for both": lambda a, b: b * b,
    "the scale of the first tensor multiplies twice": lambda a, b: a * a * b,
    "the scale of the second tensor multiplies twice": lambda a, b: a * b * b,
    "the scales of both tensors multiply twice": lambda a, b: a * a * b * b,
    "the scales of tensors divide": lambda a, b: 1 / (a * b),
}


def _of_operands(format: str) -> Iterator[tuple[str, str, tuple[int, ...], Any]]:
    """Steps that change what is read of operands: stage, text, sides and change."""
    whole = ((0,), (1,), (0, 1))
    formats = pair_formats(format)
    scales = [dict(_scales(fmt)) for fmt in formats]
    for sides in whole:
        where = "both operands" if len(sides) == 2 else _SIDES[sides[0]]
        for text, move in _moves():
            of = {side: (move, side) for side in sides}
            yield "scales read", f"the scales of {where} are {text}", sides, of
        for text in scales[sides[0]]:
            if all(text in scales[side] for side in sides):
                own = {side: scales[side][text] for side in sides}
                yield "scales decoded", f"the scales of {where} {text}", sides, own
    for side, (name, other) in enumerate((_SIDES, _SIDES[::-1])):
        text = f"the scales of {name} are those of the same row of {other}"
        yield "scales read", text, (side,), {side: (None, 1 - side)}
    both: Mapping[int, Any] = {side: (None, 1 - side) for side in (0, 1)}
    yield "scales read", "each operand has the scales of the other", (0, 1), both
    for side, where in enumerate(_SIDES):
        for text, move in _moves():
            yield "codes read", f"the codes of {where} are {text}", (side,), {side: move}
    # An exchange of lanes of one operand is the same exchange of the other.
    for text, lanes in _lanes(formats[0].elements_per_block):
        yield "codes read", f"in codes of one operand, {text}", (0,), lanes
    tables = [dict(_decoded(format, side)) for side in (0, 1)]
    for side, where in enumerate(_SIDES):
        for text, table in tables[side].items():
            yield "codes decoded", f"of {where}: {text}", (side,), {side: table}
    for text in tables[0]:
        if text in tables[1]:
            own = {side: tables[side][text] for side in (0, 1)}
            yield "codes decoded", text, (0, 1), own


@lru_cache(2)
def steps_of(format: str) -> tuple[ProductStep, ...]:
    """All steps of a pair of formats, the plainest first."""
    found = [ProductStep(*one) for one in _of_operands(format)]
    formats = pair_formats(format)
    if any(fmt.tensor_scale for fmt in formats):
        found += [ProductStep("tensor scales", text, change=by) for text, by in _TENSORS.items()]
    for text, multiply in _PRODUCTS.items():
        if multiply is _wrapped and any(fmt.scale != E8M0 for fmt in formats):
            continue
        what = f"the product of two scales {text}"
        found.append(ProductStep("scales multiplied", what, change=multiply))
    found += [ProductStep("blocks added", text, change=weigh) for text, weigh in _weights()]
    found += [ProductStep("sum", text, change=add) for text, add in SUMS.items()]
    found += [ProductStep("output", text, change=make) for text, make in OUTPUTS.items()]
    return tuple(found)

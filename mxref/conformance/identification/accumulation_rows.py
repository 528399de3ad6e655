"""Rows that tell adders apart, and adders that have no name in policies."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from mxref.bits.floats import F32
from mxref.conformance.compare.product_intervals import inside
from mxref.conformance.identification.pools import Pool
from mxref.exact.format_table import FLOATS
from mxref.exact.patterns import write_float
from mxref.golden.scaled_products import swamped_blocks
from mxref.golden.swamped_products import cancelling, swamped
from mxref.operands.word_rows import padded
from mxref.operations.product_words import (
    SCALED_PAIRS,
    pair_formats,
    terms,
)
from mxref.targets.calls import without_cases

__all__ = ["accumulation_pool", "unnamed_adders", "unnamed_text"]

Words = Sequence[int]

#: Rows that are always asked: all that place terms of E4M3 in order, reversed and far apart.
_ALWAYS = 28
#: Adders without a name: the bits that each sum keeps, and whether it is cut off.
_UNNAMED = {
    "float32 sums that are cut off, one after the other": (24, True),
    "bfloat16 sums, one after the other": (8, False),
    "sums of 22 bits that are cut off, one after the other": (22, True),
}


def accumulation_pool(format: str) -> Pool:
    """Questions about the sums of a pair of formats: what is lost between large products."""
    if format in SCALED_PAIRS:
        words = dict.fromkeys(one.inputs for one in swamped_blocks(format))
    else:
        a, b = (fmt.element for fmt in pair_formats(format))
        words = dict.fromkeys(dot.words for dot in (*swamped(a, b), *cancelling(a, b)))
    rows = padded(list(words))
    return Pool("sums", ("accumulation",), rows, range(min(_ALWAYS, len(rows))))


def unnamed_text(format: str, float: str, probes: Sequence[tuple[Words, int]]) -> str:
    """How a target adds whose answers no named accumulation gives."""
    names = unnamed_adders(format, probes)
    if names:
        return f"adds as {' or '.join(names)}"
    words, file = padded([words for words, _ in probes]), without_cases("matmul", format, float)
    answers = padded([[got] for _, got in probes])
    if inside(file, words, answers, "nearest").all():
        return "adds in float32, rounded to nearest, in an order that has no name"
    if inside(file, words, answers, "any").all():
        return "adds in float32, and cuts sums off in a way that has no name"
    return "adds as no float32 adder does"


def unnamed_adders(format: str, probes: Sequence[tuple[Words, int]]) -> list[str]:
    """The adders without a name that give the answers to all questions within range.

    Args:
        format: the pair of formats.
        probes: the words of each question, and the pattern of its answer.
    """
    plain = []
    for words, got in probes:
        products = terms(words, format)
        if products and all(not p or abs(p) > Fraction(2) ** -100 for p in products):
            plain.append((products, got))
    return [
        name
        for name, how in _UNNAMED.items()
        if plain and all(_sum(products, *how) == got for products, got in plain)
    ]


def _sum(products: Sequence[Fraction], bits: int, cut: bool) -> int:  # noqa: FBT001
    """The float32 pattern of a sum whose parts keep so many bits; exponents are not limited."""
    total = Fraction(0)
    for product in products:
        total = _kept(total + _kept(product, bits, cut), bits, cut)
    count = total * 2**400
    return write_float((int(count < 0), abs(int(count)), -400), FLOATS[F32.name])


def _kept(number: Fraction, bits: int, cut: bool) -> Fraction:  # noqa: FBT001
    if not number:
        return number
    top = abs(number).numerator.bit_length() - number.denominator.bit_length() + 1
    unit = Fraction(2) ** (top - bits)  # of dyadic numbers top is right, or one too large
    if abs(number) < Fraction(2) ** (top - 1):
        unit /= 2
    count = number / unit
    return unit * (int(count) if cut else round(count))

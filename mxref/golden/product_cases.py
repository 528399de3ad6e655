"""Cases of dot products: the exact answer, its interval, and the bits of every named adder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from mxref.bits.floats import F32, LAYOUTS, FloatLayout
from mxref.cases.records import VectorFile
from mxref.golden.case_inputs import CaseInput, Words, cases_of
from mxref.golden.designed_products import designed_dots
from mxref.golden.dot_inputs import Dot
from mxref.golden.reasons import reason
from mxref.golden.scaled_products import narrow_scaled_dots, scaled_dots
from mxref.golden.swamped_products import last_roundings, narrow_dots
from mxref.operations.product_words import BOUNDS, PAIRS, SCALED_PAIRS, pair_formats
from mxref.operations.products import accumulations, exact_product
from mxref.operations.registry import REGISTRY
from mxref.policy.policy import Policy

__all__ = ["product_tasks"]

#: Pairs whose results are asked for in narrower types, too, and these.
_NARROW = {
    "mxfp8_e4m3-mxfp8_e4m3": ("bf16", "f16"),
    "mxint8-mxint8": ("bf16", "f16"),
    "nvfp4-nvfp4": ("bf16",),
}


def product_tasks() -> Iterator[Callable[[], VectorFile]]:
    """Makers of the files of dot products."""
    for pair in PAIRS:
        yield partial(_matmul, pair, "f32")
    for pair, names in _NARROW.items():
        for name in names:
            yield partial(_matmul, pair, name)


def _matmul(pair: str, float: str) -> VectorFile:
    entries: dict[Words, CaseInput] = {}
    for one in _designed(pair, LAYOUTS[float]):
        entries.setdefault(one.inputs, one)
    adders = accumulations(pair)
    columns = ("ocp", *BOUNDS, *(str(Policy().replace(accumulation=how)) for how in adders[1:]))
    return _file(pair, float, columns, list(entries.values()))


def _designed(pair: str, layout: FloatLayout) -> Iterator[CaseInput]:
    if pair in SCALED_PAIRS:
        yield from scaled_dots(pair) if layout == F32 else narrow_scaled_dots(pair, layout)
        return
    dots = designed_dots(*pair_formats(pair)) if layout == F32 else _narrow(pair, layout)
    for dot in dots:
        yield CaseInput(dot.name, dot.words, "M12", dot.flags)


def _narrow(pair: str, layout: FloatLayout) -> Iterator[Dot]:
    a, b = (fmt.element for fmt in pair_formats(pair))
    yield from last_roundings(a, b, layout.mantissa_bits + 1)
    yield from narrow_dots(a, b, layout)


def _file(
    pair: str, float: str, columns: Sequence[str], entries: Sequence[CaseInput]
) -> VectorFile:
    answered = [
        [(exact_product(pair, float, entry.inputs, column),) for entry in entries]
        for column in columns
    ]
    why = []
    for entry, answer in zip(entries, answered[0], strict=True):
        required, rule, flags = reason("matmul", pair, float, entry.inputs, answer)
        why.append((required, rule, tuple(dict.fromkeys((*flags, *entry.flags)))))
    cases = cases_of(f"matmul.{pair}.{float}", entries, answered, why)
    digits = LAYOUTS[float].width // 4
    into = REGISTRY["matmul"].digits(pair, float)[0]
    return VectorFile("matmul", pair, float, tuple(columns), 1 + len(BOUNDS), into, digits, cases)

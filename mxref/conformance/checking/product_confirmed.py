"""Stages that give all answers to vectors of products, asked whether they give others as well."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS, U8
from mxref.conformance.checking.array_memory import copies
from mxref.conformance.checking.product_shapes import Product, ProductSubject
from mxref.conformance.checking.subjects import explained_by_stages
from mxref.conformance.verdict.report import Report
from mxref.conformance.verdict.stages.product_cases import OutputsAsked, ProductCases
from mxref.conformance.verdict.stages.product_fit import ProductFit
from mxref.conformance.verdict.stages.product_steps import right_codes
from mxref.operands.returned import float_words
from mxref.operations.product_words import DotSide, code_of_one
from mxref.targets.calls import is_fault, quiet
from mxref.targets.product_function import ProductFunction
from mxref.targets.target import PythonTarget

__all__ = ["contradicted"]

#: Rows, which are as many as columns, and blocks of the calls; and the outputs of each.
_SHAPES = (
    *((17, blocks) for blocks in (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 24, 33)),
    (5, 4), (64, 2), (129, 3),
)  # fmt: skip
_OUTPUTS = 24
#: Scale codes and codes of an operand; rows and columns of outputs.
Side = tuple[U8, U8]
Places = list[tuple[int, int]]


def contradicted(target: PythonTarget, report: Report, most: int) -> frozenset[tuple[str, str]]:
    """Operations and formats to whose vectors stages give all answers, but not to other calls.

    Args:
        target: the implementation.
        report: its answers to the vectors, with their causes.
        most: elements of a call at most.
    """
    found = set()
    for row in report.rows:
        cause, function = explained_by_stages(row), target.operations.get(row.op)
        if cause is None or not isinstance(function, ProductFunction):
            continue
        for file in {one.file.float: one.file for one in row.outcomes}.values():
            subject = ProductSubject(row.op, row.format, file.float, function)
            if not _gives(cause.steps, subject, most):
                found.add((row.op, row.format))
                break
    return frozenset(found)


def _gives(steps: object, subject: ProductSubject, most: int) -> bool:
    """Whether steps give the outputs of calls; errors, which vectors show, say nothing."""
    calls: list[OutputsAsked] = []
    words: list[NDArray[np.uint64]] = []
    for sides, places in (*_shapes(subject), *_scales(subject)):
        if sum(codes.size for _, codes in sides) > most:
            continue
        a, b = subject.formats
        more: list[Any] = [LAYOUTS[subject.float].dtype] * subject.function.takes_dtype
        more += [np.float32(1)] * (2 * subject.has_tensors)
        shape = len(sides[0][0]), len(sides[1][0])
        try:
            with quiet():
                given = copies((*sides[0], *sides[1], a.name, b.name, *more))
                result = subject.function.function(*given)
                got = float_words(result, shape, LAYOUTS[subject.float])
        except BaseException as error:
            if not is_fault(error):
                raise
            continue
        calls.append((_rows(*sides[0]), _rows(*sides[1]), places))
        words.append(np.array([got[place] for place in places], np.uint64))
    if not calls:
        return True
    answers = np.concatenate(words)
    floats = np.full(len(answers), subject.float)
    fit = ProductFit(ProductCases.of_calls(calls, subject.format), answers, floats, subject.format)
    return bool(fit.given(steps).all())  # type: ignore[arg-type]


def _shapes(subject: ProductSubject) -> Iterator[tuple[list[Side], Places]]:
    """Both operands of calls of many lengths, and some of their outputs."""
    for number, (size, blocks) in enumerate(_SHAPES):
        shape = subject.fit((size, size, blocks))
        if shape[0] == shape[1]:
            one = Product(subject, shape, number % 4)
            count = shape[0] * shape[1]
            chosen = np.minimum(np.arange(_OUTPUTS) * count // _OUTPUTS + number % 3, count - 1)
            places = [divmod(i, shape[1]) for i in chosen.tolist()]
            yield [one.side(which)[:2] for which in (0, 1)], places


def _scales(subject: ProductSubject) -> Iterator[tuple[list[Side], Places]]:
    """Ones under every scale, times ones under its reciprocal, itself and the next one."""
    count = min(fmt.scale.max_code for fmt in subject.formats) + 1
    rows, columns, blocks = subject.fit((count, count, 1))
    if rows == columns:
        sides: list[Side] = []
        for fmt in subject.formats:
            scales = np.full((rows, blocks), code_of_one(fmt), np.uint8)
            scales[:, 0] = np.minimum(np.arange(rows), count - 1)
            codes = np.zeros((rows, blocks * subject.block), np.uint8)
            codes[:, 0] = np.flatnonzero(right_codes(fmt) == 1)[0]
            sides.append((scales, codes))
        last = count - 1
        every = ((i, j) for i in range(count) for j in (last - i, i, min(i + 1, last)))
        yield sides, list(every)


def _rows(scales: U8, codes: U8) -> list[DotSide]:
    pairs = zip(scales.tolist(), codes.tolist(), strict=True)
    return [DotSide(tuple(some), tuple(row)) for some, row in pairs]

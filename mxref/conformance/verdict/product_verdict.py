"""The verdict on sums of products that violate no clause and that no named accumulation gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mxref.conformance.verdict.describe.product_description import OUTSIDE
from mxref.conformance.verdict.row import VerifyRow
from mxref.operations.registry import PRODUCT_OPERATIONS, WEIGHT_ONLY_OPERATIONS

__all__ = ["accumulation_notes", "product_verdict"]

_SUMS = (*PRODUCT_OPERATIONS, *WEIGHT_ONLY_OPERATIONS)


def product_verdict(rows: Sequence[VerifyRow]) -> str:
    """The verdict where all failures are answers to products; else nothing."""
    failing = [row for row in rows if row.failures]
    answered = all(failure.got is not None for row in failing for _, failure in row.failures)
    of_products = all(row.op in _SUMS for row in failing)
    return OUTSIDE if failing and of_products and answered else ""


def accumulation_notes(rows: Sequence[VerifyRow]) -> Iterator[str]:
    """How each operation and format adds of which nothing is wrong; failing ones are described."""
    for row in rows:
        if row.op in _SUMS and row.description is not None and not row.failures:
            yield f"{row.op} {row.format}: {row.description.text}"

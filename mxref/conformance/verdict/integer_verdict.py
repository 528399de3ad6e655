"""The policies under which integer operations conform, in words."""

from __future__ import annotations

from collections.abc import Sequence

from mxref.conformance.verdict.row import VerifyRow
from mxref.operations.own_choices import DEFAULT

__all__ = ["integer_verdict"]


def integer_verdict(rows: Sequence[VerifyRow]) -> str:
    """The end of a verdict: the policies of integer operations that are not the default."""
    where: dict[str, dict[str, list[str]]] = {}
    for row in rows:
        if row.operation.own_choices and row.policy != DEFAULT:
            where.setdefault(row.policy, {}).setdefault(row.op, []).append(row.format)
    parts = [
        f"{op} ({', '.join(formats)}) under {policy}"
        for policy, ops in where.items()
        for op, formats in ops.items()
    ]
    return f"; {'; '.join(parts)}" if parts else ""

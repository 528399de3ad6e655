"""The adders of a target's `mma`, read off its answers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.conformance.adders.device import DeviceError
from mxref.conformance.adders.identify_adder import IdentifiedAdder, identify_adder
from mxref.operands.word_rows import padded
from mxref.operations.registry import CALL_OPERATIONS
from mxref.targets.calls import without_cases
from mxref.targets.target import Target

__all__ = ["LENGTH", "UnitFinding", "identify_units", "unit_json", "unit_lines"]

_OP = "mma"
#: Products of a sum: some steps of every adder.
LENGTH = 128


@dataclass(frozen=True, slots=True)
class UnitFinding:
    """The adder of one format.

    Args:
        format: the adder that is asked for, and the elements, as `volta_f16-f16-f16`.
        found: what was read; None if the target answered with an error.
        error: the error.
    """

    format: str
    found: IdentifiedAdder | None
    error: str = ""

    @property
    def consistent(self) -> bool:
        """Whether a model gives all answers."""
        return self.found is not None and self.found.confirmed

    @property
    def as_named(self) -> bool:
        """Whether the adder that is asked for gives all answers."""
        return self.found is not None and self.format.split("-")[0] in self.found.names


def identify_units(
    target: Target, ops: Collection[str] = (_OP,), formats: Collection[str] = ()
) -> tuple[UnitFinding, ...]:
    """The adder of every format of `mma` that a target covers.

    Args:
        target: the implementation.
        ops: the operations to ask about; none unless `mma` is among them.
        formats: the formats to ask about; all if empty.
    """
    operation = CALL_OPERATIONS[_OP]
    return tuple(
        _identified(target, format)
        for format in operation.formats
        if _OP in ops and (not formats or format in formats)
        if target.covers(_OP, format, operation.slot)
    )


def _identified(target: Target, format: str) -> UnitFinding:
    like = without_cases(_OP, format, CALL_OPERATIONS[_OP].slot)

    def unit(a: NDArray[Any], b: NDArray[Any], c: NDArray[Any]) -> NDArray[Any]:
        sizes = np.array([len(a), len(b), b.shape[1]], np.uint64)
        parts = [one.reshape(-1).view(f"u{one.dtype.itemsize}") for one in (c, a, b)]
        row = np.concatenate([sizes, *(part.astype(np.uint64) for part in parts)])
        answers = target.ask(like, padded([row]))
        if answers.errors:
            raise DeviceError(next(iter(answers.errors.values())))
        return answers.words[0, : c.size].astype(np.uint32).view(np.float32).reshape(c.shape)

    _, *names = format.split("-")
    try:
        return UnitFinding(format, identify_adder(unit, (names[0], names[1]), LENGTH))
    except DeviceError as error:
        return UnitFinding(format, None, str(error))


def unit_lines(one: UnitFinding) -> list[str]:
    """What was found, in sentences."""
    title = f"{_OP} {one.format}: "
    if one.found is None:
        return [f"{title}an error ({one.error})"]
    found = one.found
    lines = [f"{title}{found.products:,} dot products", found.sentence]
    if found.unseen:
        lines.append(f"unobservable: {', '.join(found.unseen)}")
    if not found.confirmed:
        return [*lines, "equals no adder"]
    own = one.format.split("-")[0]
    names = ", ".join(found.names) or "none that has a name"
    return [*lines, f"confirmed; named adders: {names}" + ("" if one.as_named else f", not {own}")]


def unit_json(found: Sequence[UnitFinding]) -> list[dict[str, Any]]:
    """The results as plain data, for `--json`."""
    return [_json(one) for one in found]


def _json(one: UnitFinding) -> dict[str, Any]:
    found = one.found
    return {
        "op": _OP,
        "format": one.format,
        "float": CALL_OPERATIONS[_OP].slot,
        "consistent": one.consistent,
        "names": list(found.names) if found else [],
        "adder": repr(found.adder) if found and found.adder else None,
        "sentence": found.sentence if found else one.error,
        "unobservable": list(found.unseen) if found else [],
        "probes": found.products if found else 0,
        "note": "",
    }

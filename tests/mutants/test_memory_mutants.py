"""Mutants of memory: right wherever arrays usually lie, and caught with the memory's name."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from helpers import vector_file
from right_calls import RIGHT_CALLS, matmul, quantized
from tables import rows

from mxref.conformance import Extent, check, target_of
from mxref.conformance.checking import layer_shapes, product_shapes
from mxref.mutants import UseMutant
from mxref.mutants.memory_mutants import MEMORY_USES

#: A vector file of each operation.
FILES = {stem.partition("/")[0]: stem for (stem,) in rows("mutants", "files", "memory")}
#: What reports say of each.
SAID = {
    "U70": "arrays with a stride of 0",
    "U71": "read-only arrays",
    "U72": "one array as two arguments",
    "U73": "arrays at odd addresses",
    "U74": "arrays with 64 KiB and more between their rows and arrays that reach over 4 GiB",
    "U75": "arrays that reach over 4 GiB",
}
#: Of tensors a fourth is asked.
EXTENT = Extent(elements=17_000, search=False)
RIGHT = {**RIGHT_CALLS, "matmul": matmul, "quantize": quantized, "quantize_tensor": quantized}
PAIRS = [(mutant, op) for mutant in MEMORY_USES for op in mutant.ops]


@pytest.fixture(autouse=True)
def few_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    """One shape of products and of layers before those in other memory."""
    monkeypatch.setattr(product_shapes, "_SHAPES", ((3, 5, 1),))
    monkeypatch.setattr(product_shapes, "_REAL", ())
    monkeypatch.setattr(layer_shapes, "_SHAPES", ((1, 3, 5, 2),))
    monkeypatch.setattr(layer_shapes, "_REAL", ())


def report_of(op: str, function: Any) -> Any:
    target = target_of(SimpleNamespace(**{op: function}), "target")
    return check(target, [vector_file(FILES[op])], extent=EXTENT)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("mutant", "op"), PAIRS, ids=lambda value: getattr(value, "id", value))
def test_a_check_catches_it_and_names_the_memory(mutant: UseMutant, op: str) -> None:
    report = report_of(op, mutant.spoil(RIGHT[op]))
    assert not report.passed
    (use,) = report.uses
    assert use.kind == "memory"
    assert use.text.startswith(f"wrong only in calls with {SAID[mutant.id]}: "), use.text


@pytest.mark.sampled(3)
@pytest.mark.parametrize("op", FILES)
def test_what_they_are_made_of_is_right_and_refuses_nothing(op: str) -> None:
    report = report_of(op, RIGHT[op])
    assert (report.passed, report.uses) == (True, ())
    assert not any(" refuses arr" in note for note in report.scope.notes)

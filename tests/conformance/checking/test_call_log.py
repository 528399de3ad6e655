"""What a check calls, seen from the target: no kind of ordinary call is left out.

`pytest tests/conformance/checking/test_call_log.py --update` writes the table of docs/check.md.
"""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest
import tables
from call_log import ABSENT, KINDS, CallLog, head, kinds_of
from helpers import ROOT, vector_file
from right_calls import RIGHT_CALLS

import mxref
from mxref.conformance import Extent, check, target_of
from mxref.conformance.checking import product_shapes, target_speed
from mxref.operations.registry import REGISTRY

#: The vectors of each operation, and the policy of its right function if that is not `ocp`.
FILES = {op: found for op, *found in tables.rows("conformance/checking", "call_log")}
#: The largest calls of a fast kernel; of layers, whose right answers take long, smaller ones.
ELEMENTS, OF_LAYERS, OF_RECIPES = 2_200_000, 30_000, 100_000

PAGE = ROOT / "docs" / "check.md"
#: The table of the page, between two comments.
TABLE = re.compile(r"(?<=<!-- calls -->\n\n).*?(?=\n\n<!-- end of calls -->)", re.DOTALL)


def rows(page: str) -> dict[str, str]:
    """The rows of the table, by operation."""
    (table,) = TABLE.findall(page)
    return {line.split("`")[1]: line for line in table.splitlines() if line.startswith("| `")}


def with_rows(page: str, found: dict[str, str]) -> str:
    """The page with these rows in its table, in the order of the registry."""
    return TABLE.sub("\n".join([head(), *(found[op] for op in REGISTRY if op in found)]), page)


def test_a_kind_is_what_the_arguments_are() -> None:
    log = CallLog()
    target = log.wrapped(encode=mxref.encode)
    target.encode(np.arange(1, 41, dtype=np.float32), "e4m3")
    target.encode(np.array([*range(40), np.nan], np.float32), "e4m3")
    target.encode(np.ones(7, np.float32), "e4m3")
    found = {kind for (_, kind), calls in log.calls.items() if calls}
    assert found == {"any", "finite", "no subnormal", "> 0", "rising"}
    assert (log.calls["encode", "any"], log.elements["encode", "any"]) == (3, 88)
    assert log.largest["encode", "> 0"] == 40


@pytest.mark.parametrize("op", REGISTRY)
def test_no_kind_is_left_out_and_the_page_has_the_counts(
    op: str, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    # The kernel takes no time, so that what is asked does not depend on the machine.
    monkeypatch.setattr(target_speed, "time", SimpleNamespace(perf_counter=lambda: 0.0))
    monkeypatch.setattr(product_shapes, "_pace", lambda _: 1e-6)
    log, (name, *policy) = CallLog(), FILES[op]
    functions = log.wrapped(**{op: RIGHT_CALLS[op]})
    functions.POLICY = "+".join(["ocp", *policy])
    of_layers = op.startswith("linear") or op == "matmul_nbits"
    elements = OF_LAYERS if of_layers else OF_RECIPES if op.startswith("recipe") else ELEMENTS
    target, file = target_of(functions, "target"), vector_file(f"{op}/{name}")
    assert check(target, [file], extent=Extent(elements=elements)).passed
    assert [kind for kind in kinds_of(op) if log.largest[op, kind] < 1000] == []
    if pytestconfig.getoption("--update"):
        page = PAGE.read_text("utf-8")
        PAGE.write_text(with_rows(page, rows(page) | {op: log.row(op)}), "utf-8")
    assert rows(PAGE.read_text("utf-8")).get(op) == log.row(op), "if meant, --update writes it"


def test_the_table_of_the_page_has_a_row_for_each_operation() -> None:
    page = PAGE.read_text("utf-8")
    assert with_rows(page, rows(page)) == page
    assert [*rows(page)] == [*REGISTRY] == sorted(FILES, key=[*REGISTRY].index)


def test_the_kinds_that_operations_cannot_have_are_those_of_reasons() -> None:
    for ops, kinds in ABSENT.values():
        assert {*ops} <= {*REGISTRY}
        assert {*kinds} <= {*KINDS}
    every = [(op, kind) for ops, kinds in ABSENT.values() for op in ops for kind in kinds]
    assert len({*every}) == sum(len(KINDS) - len(kinds_of(op)) for op in REGISTRY)

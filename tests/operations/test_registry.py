"""The list of operations: each row is imported when it is asked for, and is what the list says."""

from __future__ import annotations

import pytest

from mxref.operations import registry
from mxref.operations.call_operation import CallOperation
from mxref.operations.layer_operations import LayerOperation
from mxref.operations.layouts import LayoutOperation
from mxref.operations.products import Matmul
from mxref.operations.registry import REGISTRY
from mxref.operations.weight_only import WeightOnlyOperation

#: The lists that a command reads without an import, and the class of their rows.
LISTS = {
    "LAYOUT_OPERATIONS": LayoutOperation,
    "DOT_OPERATIONS": Matmul,
    "LAYER_OPERATIONS": LayerOperation,
    "CALL_OPERATIONS": CallOperation,
    "WEIGHT_ONLY_OPERATIONS": WeightOnlyOperation,
}


@pytest.mark.parametrize("name", REGISTRY)
def test_a_row_is_what_its_place_has(name: str) -> None:
    assert REGISTRY[name].name == name
    assert REGISTRY[name] is REGISTRY[name]


@pytest.mark.parametrize(("listed", "kind"), LISTS.items(), ids=LISTS)
def test_a_list_has_the_rows_of_its_class(listed: str, kind: type) -> None:
    found = {name for name, one in REGISTRY.items() if isinstance(one, kind)}
    assert {*getattr(registry, listed)} == found

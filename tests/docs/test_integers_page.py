"""The tables of docs/integers.md: what `mxref.integer` has, what libraries do, how it is called."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from helpers import ROOT, VECTORS

from mxref import golden, integer
from mxref.operands.draws import Draws
from mxref.operations.registry import CALL_OPERATIONS, REGISTRY

PAGE = (ROOT / "docs" / "integers.md").read_text("utf-8")
PRODUCTS = (ROOT / "docs" / "products.md").read_text("utf-8")


def test_the_table_has_every_public_name() -> None:
    rows = re.findall(r"^\| (`.+?) \| .+ \| (?:Q.+?) \|$", PAGE, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named == {*integer.__all__}


def test_the_table_of_libraries_has_the_choices_of_the_ledger() -> None:
    rows = re.findall(r"^\| [^|]*\| `([a-z_0-9]+=[^`|]*)` \|$", PAGE, re.MULTILINE)
    ledger = (ROOT / "docs" / "ledger" / "integers.md").read_text("utf-8")
    run = re.findall(r"^\| \[[^|]*\| `([^`|]*)` \| quantize_affine", ledger, re.MULTILINE)
    assert {*rows} == {*run}


#: Functions of a target, their parameters and what is said of each, and what they return.
SIGNATURES = {
    op: (re.findall(r"`(\w+)` ((?:[^;`]|`int\d_groups`|`pack_int4`)+)", parameters), result)
    for op, parameters, result in re.findall(
        r"^\| `(\w+)` \| (`.+?) \| (\w.+?) \|$", f"{PAGE}\n{PRODUCTS}", re.M
    )
    if op in CALL_OPERATIONS and not result.startswith("Q")
}
KINDS = {"float", "int", "bool", "str", "None", "dtype", "float32", "int32"}
KINDS |= {"int8", "uint8", "int16", "uint16", "float16", "bfloat16"}


def said(text: str) -> tuple[set[str], set[int]]:
    """The types in a text, and the numbers of axes; 9 for any shape."""
    text, _, _ = text.partition("the dtype asked")
    shapes = re.findall(r"\(([^)]+)\)", text)
    any_shape = {9} & {9 * ("any shape" in text or "the shape of" in text)}
    return {*re.findall(r"\w+", text)} & KINDS, {len(one.split(",")) for one in shapes} | any_shape


def given(values: list[Any]) -> tuple[set[str], set[int]]:
    """The types of arguments, and the numbers of axes of arrays."""
    arrays = [one for one in values if isinstance(one, np.ndarray)]
    others = [one for one in values if not isinstance(one, np.ndarray)]
    kinds = {"dtype" if isinstance(one, np.dtype) else type(one).__name__ for one in others}
    names = {"None" if kind == "NoneType" else kind for kind in kinds}
    return names | {one.dtype.name for one in arrays}, {one.ndim for one in arrays}


#: Layers by a recipe are the functions of other operations: see tests/conformance.
@pytest.mark.parametrize("op", [op for op in CALL_OPERATIONS if not op.startswith("recipe_")])
def test_the_signatures_are_those_of_the_calls(op: str) -> None:
    parameters, result = SIGNATURES[op]
    assert f"\n| `{op}` | `" in (ROOT / CALL_OPERATIONS[op].page).read_text("utf-8")
    files = golden.read_vectors(VECTORS, lambda stem: stem.startswith(f"{op}/"))
    called = REGISTRY[op].called_as("int8" if op != "addmm" else files[0].format)
    assert f"{op}({', '.join(name for name, _ in parameters)})" == called
    one = CALL_OPERATIONS[op]
    files = [file for file in files if not one.by_name(file.format)]
    asked = [one.call(file.format, case.inputs) for file in files for case in file.cases]
    unnamed = [name for name in one.further if not one.by_name(name)]
    asked += [one.sized(name, (3,) * len(one.units(name)), Draws("few")) for name in unnamed]
    count = len(parameters)
    columns: list[tuple[str, list[Any]]] = [
        (text, list(values))
        for (_, text), values in zip(
            parameters, zip(*(one.arguments[:count] for one in asked), strict=True), strict=True
        )
    ]
    columns.append((result, [np.empty(one.shape, one.dtype) for one in asked]))
    for text, values in columns:
        kinds, axes = given(values)
        told, shapes = said(text)
        assert told == kinds, text
        assert shapes == axes or 9 in shapes, text


def test_further_parameters_of_a_sampler_are_those_of_the_calls() -> None:
    page, one = (ROOT / "docs/integers.md").read_text("utf-8"), CALL_OPERATIONS["grid_sample"]
    told: dict[str, set[str]] = {}
    for names, _, formats in re.findall(r"^\| (`\w+` .*?) \| (.*) \| (`int8_.*?) \|$", page, re.M):
        for format in re.findall(r"`(\w+)`", formats):
            told[format] = {*re.findall(r"`(\w+)`", names)}
    assert told == {name: {*one.by_name(name)} for name in one.further if name.startswith("int8")}

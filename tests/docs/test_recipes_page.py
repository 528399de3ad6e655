"""The tables of docs/recipes.md say what the recipes are, and each row says who says so."""

from __future__ import annotations

import re

import pytest
from helpers import ROOT

from mxref.policy.policy import Policy
from mxref.products.recipe import OPERANDS, OperandRecipe
from mxref.profiles.recipes import RECIPES

PAGE = (ROOT / "docs" / "recipes.md").read_text("utf-8")
#: A recipe with a table of the operands in which it differs from the one before.
BASES = {
    "mxfp8_torchao_wgrad_with_hp": "mxfp8_torchao",
    "mxfp8_transformer_engine_2d": "mxfp8_transformer_engine",
}
PRODUCTS = {"y = x wᵀ": "y", "dx = g w": "dx", "dw = gᵀ x": "dw"}
OTHER_ARITHMETIC = "float8_blockwise_transformer_engine_float32"


def cells(operand: OperandRecipe) -> list[str]:
    """What a row says of an operand."""
    fmt, by, transform = operand.format, operand.by, operand.transform
    if fmt is None:
        return ["kept", "", "", ""]
    random = operand.random_width
    rounding = "nearest" if random is None else f"stochastic, {random} bits"
    if isinstance(by, Policy) and random is None:
        assert by.element.rounding.value == "ties_to_even"
    turned = "none" if transform is None else f"Hadamard of {transform.size}"
    return [fmt.name, "x".join(map(str, fmt.block_shape)), rounding, turned]


def rows(name: str) -> dict[str, list[str]]:
    """The rows of the table under the heading of a recipe, by operand."""
    section = re.split(r"\n##+ ", PAGE.partition(f"# {name}\n")[2])[0]
    found = {}
    for line in section.splitlines():
        product, operand, *rest = ([*map(str.strip, line.split("|"))][1:-1] + [""] * 2)[:7]
        if product in PRODUCTS:
            own = "grad" if operand == "g" else operand
            found[f"{PRODUCTS[product]}_{own}"] = rest
    return found


@pytest.mark.parametrize("name", [one for one in RECIPES if one != OTHER_ARITHMETIC])
def test_the_table_of_a_recipe(name: str) -> None:
    found = rows(name)
    want = {one: cells(getattr(RECIPES[name], one)) for one in OPERANDS}
    if name in BASES:
        base = RECIPES[BASES[name]]
        want = {n: row for n, row in want.items() if row != cells(getattr(base, n))}
    assert {one: row[:4] for one, row in found.items()} == want
    for row in found.values():
        assert re.search(r"\[\w+:\d+\]|3\.\d\.\d", row[4]), row


def test_what_a_row_says_of_stored_operands() -> None:
    stored = {(n, o) for n, r in RECIPES.items() for o in OPERANDS if getattr(r, o).stored}
    assert stored == {("deepseek_v3", "dw_x")}
    assert "of 128 along the last axis, read back" in rows("deepseek_v3")["dw_x"][4]


def test_the_other_arithmetic_is_named() -> None:
    one, other = RECIPES["float8_blockwise_transformer_engine"], RECIPES[OTHER_ARITHMETIC]
    assert [*map(cells, operands(one))] == [*map(cells, operands(other))]
    assert f"`{OTHER_ARITHMETIC}`" in PAGE


def operands(recipe: object) -> list[OperandRecipe]:
    return [getattr(recipe, name) for name in OPERANDS]


def test_every_reference_is_a_line_of_a_commit() -> None:
    """And those whose text is quoted by nobody, too: 40 digits, a path and a line."""
    named = {*re.findall(r"\[(\w+:\d+)\](?!:)", PAGE)}
    links = dict(re.findall(r"^\[(\w+:\d+)\]: (\S+)$", PAGE, re.MULTILINE))
    assert named == {*links}
    for name, link in links.items():
        assert re.fullmatch(
            rf"https://github\.com/[\w-]+/[\w-]+/blob/[0-9a-f]{{40}}/\S+#L{name.partition(':')[2]}",
            link,
        )

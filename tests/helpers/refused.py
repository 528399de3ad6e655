"""Calls that are refused, each in one sentence: one by one, and tables of them."""

from __future__ import annotations

import ast
import builtins
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from tables import rows

import mxref

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet


def refusals(room: str) -> list[ParameterSet]:
    """Calls of mxref with literal arguments, the exception of each and what it says.

    In a text, … stands for what is left out.
    """
    found = []
    for call, kind, text in rows(room, "refused"):
        node = ast.parse(call, mode="eval").body
        assert isinstance(node, ast.Call)
        function = functools.reduce(getattr, ast.unparse(node.func).split("."), mxref)
        keywords = {str(one.arg): _literal(one.value) for one in node.keywords}
        made = functools.partial(function, *map(_literal, node.args), **keywords)
        found.append(pytest.param(made, getattr(builtins, kind), text, id=call))
    return found


def _literal(node: ast.expr) -> Any:
    """A literal of Python, or one that is repeated, such as [0] * 32."""
    if isinstance(node, ast.BinOp):
        return _literal(node.left) * _literal(node.right)
    if isinstance(node, ast.List):
        return [*map(_literal, node.elts)]
    return ast.literal_eval(node)


def assert_says(call: Callable[[], object], kind: type[Exception], text: str) -> None:
    """The call is refused in one sentence, this one."""
    with pytest.raises(kind) as caught:
        call()
    said = str(caught.value)
    assert "\n" not in said
    before, left_out, after = text.partition("…")
    assert said == text or (left_out and said.startswith(before) and said.endswith(after)), said

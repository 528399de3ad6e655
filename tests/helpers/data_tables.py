"""Tables of expected figures, which lie as text beside the tests."""

from __future__ import annotations

import ast
import builtins
import functools
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import mxref

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet


def table(test: str, name: str) -> list[list[str]]:
    """Lines of a file in the folder `data` beside a test, each its columns, which `|` parts.

    What begins with # says where those below it come from.
    """
    text = Path(test).with_name("data").joinpath(name).read_text("utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [[column.strip() for column in line.split("|")] for line in lines]


def number(text: str) -> Fraction:
    """A decimal, a fraction or a hexadecimal number as C writes it, such as 0x1.8p-127."""
    return Fraction(float.fromhex(text) if "0x" in text else text)


def floats(text: str) -> list[float]:
    """Numbers parted by commas, each as in `number`, or -0, inf, nan."""
    return [float.fromhex(word) if "0x" in word else float(word) for word in text.split(",")]


def codes(text: str) -> list[int]:
    """Codes in hexadecimal."""
    return [int(word, 16) for word in text.split()]


def refusals(test: str, name: str) -> list[ParameterSet]:
    """Calls of mxref with literal arguments, the exception of each and what it says.

    In a text, … stands for what is left out.
    """
    found = []
    for call, kind, text in table(test, name):
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


def choices(text: str) -> dict[str, Any]:
    """Keywords: words of a form like block_size=32."""
    pairs = [word.split("=") for word in text.split()]
    return {name: int(value) if value.isdecimal() else value for name, value in pairs}

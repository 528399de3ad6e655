"""Calls that are refused, each in one sentence: one by one, and tables of them."""

from __future__ import annotations

import ast
import builtins
import functools
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest
from tables import rows

import mxref

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet

_LIBRARIES = SimpleNamespace(np=np, ml_dtypes=ml_dtypes)


def refusals(room: str) -> list[ParameterSet]:
    """Calls of mxref, the exception of each and what it says.

    Arguments are literals, or what mxref and its formats, NumPy and ml_dtypes have. In a text, …
    stands for what is left out.
    """
    found = []
    for call, kind, text in rows(room, "refused"):
        made = _made(ast.parse(call, mode="eval").body)
        found.append(pytest.param(made, getattr(builtins, kind), text, id=call))
    return found


def _made(call: ast.expr) -> functools.partial[Any]:
    assert isinstance(call, ast.Call)
    keywords = {str(one.arg): _value(one.value) for one in call.keywords}
    return functools.partial(_value(call.func), *map(_value, call.args), **keywords)


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Call():
            return _made(node)()
        case ast.Attribute():
            return getattr(_value(node.value), node.attr)
        case ast.Name():
            homes = (mxref, mxref.formats, _LIBRARIES, builtins)
            return next(getattr(home, node.id) for home in homes if hasattr(home, node.id))
        case ast.BinOp():  # repeated, such as [0] * 32
            return _value(node.left) * _value(node.right)
        case ast.List():
            return [*map(_value, node.elts)]
        case ast.Tuple():
            return (*map(_value, node.elts),)
    return ast.literal_eval(node)


def assert_says(call: Callable[[], object], kind: type[Exception], text: str) -> None:
    """The call is refused in one sentence, this one."""
    with pytest.raises(kind) as caught:
        call()
    said = str(caught.value)
    assert "\n" not in said
    assert re.fullmatch(".*".join(map(re.escape, text.split("…"))), said), said

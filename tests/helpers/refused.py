"""Calls that are refused, each in one sentence: one by one, and tables of them."""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
import re
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from tables import rows

import mxref

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet

_LIBRARIES = SimpleNamespace(np=np, ml_dtypes=ml_dtypes)


def refusals(room: str, name: str = "refused", **names: object) -> list[ParameterSet]:
    """Calls of mxref, the exception of each and what it says; … stands for what is left out."""
    return [
        pytest.param(call_of(call, **names), getattr(builtins, kind), text, id=call)
        for call, kind, text in rows(room, name)
    ]


def call_of(text: str, **names: object) -> functools.partial[Any]:
    """A call of mxref.

    Its arguments are literals, or what mxref and its formats, NumPy and ml_dtypes have, or named.
    """
    homes = (SimpleNamespace(**names), mxref, mxref.formats, _LIBRARIES, builtins)
    return _Reader(homes).made(ast.parse(text, mode="eval").body)


def value_of(text: str) -> Any:
    """An expression, such as a call or an attribute of what it returns."""
    return _Reader((mxref, mxref.formats, _LIBRARIES)).value(ast.parse(text, mode="eval").body)


class _Reader(NamedTuple):
    homes: tuple[Any, ...]

    def made(self, call: ast.expr) -> functools.partial[Any]:
        assert isinstance(call, ast.Call)
        keywords = {str(one.arg): self.value(one.value) for one in call.keywords}
        return functools.partial(self.value(call.func), *map(self.value, call.args), **keywords)

    def value(self, node: ast.expr) -> Any:
        match node:
            case ast.Call():
                return self.made(node)()
            case ast.Attribute():
                home = self.value(node.value)
                if isinstance(home, ModuleType) and not hasattr(home, node.attr):
                    return importlib.import_module(f"{home.__name__}.{node.attr}")
                return getattr(home, node.attr)
            case ast.Name():
                return next(getattr(home, node.id) for home in self.homes if hasattr(home, node.id))
            case ast.BinOp(op=ast.Mult()):  # repeated, such as [0] * 32
                return self.value(node.left) * self.value(node.right)
            case ast.BinOp(op=ast.Add()):
                return self.value(node.left) + self.value(node.right)
            case ast.List():
                return [*map(self.value, node.elts)]
            case ast.Tuple():
                return (*map(self.value, node.elts),)
        return ast.literal_eval(node)


def assert_says(call: Callable[[], object], kind: type[Exception], text: str) -> None:
    """The call is refused in one sentence, this one."""
    with pytest.raises(kind) as caught:
        call()
    said = str(caught.value)
    assert "\n" not in said
    assert re.fullmatch(".*".join(map(re.escape, text.split("…"))), said), said

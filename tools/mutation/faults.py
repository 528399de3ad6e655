"""Every fault that can be planted in a file: one changed piece of its syntax tree."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

#: What each operator becomes, by the names of the module `ast`.
TURNED = """
Lt:LtE Lt:GtE LtE:Lt LtE:Gt Gt:GtE Gt:LtE GtE:Gt GtE:Lt Eq:NotEq NotEq:Eq Is:IsNot IsNot:Is
In:NotIn NotIn:In And:Or Or:And Add:Sub Sub:Add Mult:Add Div:Mult FloorDiv:Mult Mod:FloorDiv
Pow:Mult MatMult:Add LShift:RShift RShift:LShift BitAnd:BitOr BitOr:BitAnd BitXor:BitOr
"""
#: Parts of the syntax tree that stay as they are; so does the argument `strict` of `zip`.
KEPT = ("annotation", "returns", "decorator_list", "bases", "exc")


class Mutant(NamedTuple):
    """A fault: the first five say where it is, also after its function has moved."""

    file: str
    function: str  # its qualified name, "" at the level of the module
    old: str
    new: str
    nth: int  # which of the places of the function where `old` becomes `new`, from 0
    line: int
    lines: tuple[int, ...]  # of the statement; a test that executes one can see the fault
    start: int  # the bytes from here
    end: int  # to here become
    planted: str  # this, with as many lines as there were

    @property
    def name(self) -> tuple[str | int, ...]:
        """What tells the mutant from others, whatever the lines around it."""
        return self[:5]

    def text(self, root: Path) -> str:
        """Its file with the fault; every other line keeps its number."""
        text = (root / self.file).read_bytes()
        return (text[: self.start] + self.planted.encode() + text[self.end :]).decode()


def turned(operator: ast.AST) -> list[Any]:
    """What may stand instead of an operator."""
    pairs = (pair.split(":") for pair in TURNED.split())
    return [getattr(ast, new)() for old, new in pairs if old == type(operator).__name__]


def replaced(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand instead of a node."""
    match node:
        case ast.Compare(left, [op], right):
            yield from (ast.Compare(left, [other], right) for other in turned(op))
        case ast.BinOp(left, op, operand):
            yield from (ast.BinOp(left, other, operand) for other in turned(op))
        case ast.AugAssign(target, op, value):
            yield from (ast.AugAssign(target, other, value) for other in turned(op))
            yield ast.Pass()
        case ast.BoolOp(op, values):
            yield from (ast.BoolOp(other, values) for other in turned(op))
            yield from values
        case ast.UnaryOp(_, operand):
            yield operand
        case ast.Constant(bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(int(value) | float(value)):
            yield from (ast.Constant(value + 1), ast.Constant(value - 1))
        case ast.Return(value) if value is not None and ast.unparse(value) != "None":
            yield ast.Return(ast.Constant(None))
        case ast.Raise() | ast.Expr(ast.Call()) | ast.Continue() | ast.Break():
            yield ast.Pass()
        case ast.Assign([ast.Attribute() | ast.Subscript()]):
            yield ast.Pass()


def kept(node: ast.AST) -> bool:
    """Whether all of a node stays: no test sees it, or its text is for people."""
    match node:
        case ast.JoinedStr() | ast.keyword(arg="strict") | ast.If(test=ast.Name("TYPE_CHECKING")):
            return True
        case ast.BinOp(op=ast.BitOr(), right=ast.Constant(None)):  # an alias of a type
            return True
    return not hasattr(node, "_fields")


def faults(
    node: ast.AST, function: str, statement: ast.stmt | None
) -> Iterator[tuple[str, ast.stmt | None, Any, ast.AST]]:
    """Nodes below a node: function, statement, the node and what is to stand instead of it."""
    for name, field in ast.iter_fields(node):
        if name in KEPT:
            continue
        for child in field if isinstance(field, list) else [field]:
            if kept(child):
                continue
            inner, within = function, child if isinstance(child, ast.stmt) else statement
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                inner = f"{function}.{child.name}".removeprefix(".")
            others = list(replaced(child))
            if name in ("test", "ifs"):
                if not isinstance(child, (ast.Compare, ast.UnaryOp)):
                    others.append(ast.UnaryOp(ast.Not(), child))
                others += [ast.Constant(value) for value in (True, False)]
            own = ast.dump(child)
            yield from ((inner, within, child, one) for one in others if ast.dump(one) != own)
            yield from faults(child, inner, within)


def mutants(root: Path, file: str) -> Iterator[Mutant]:
    """Every mutant of a file."""
    text = (root / file).read_bytes()
    starts = [0]
    for length in map(len, text.splitlines(keepends=True)):
        starts.append(starts[-1] + length)
    seen: Counter[tuple[str, str, str]] = Counter()
    for function, statement, node, other in faults(ast.parse(text), "", None):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        old, new = text[start:end].decode(), ast.unparse(ast.fix_missing_locations(other))
        more = "\n" * (old.count("\n") - new.count("\n"))
        planted = f"({new}{more})" if isinstance(other, ast.expr) else f"{new}{more}"
        own = set(range(node.lineno, node.end_lineno + 1))
        if statement is not None:  # of one with a body its head alone
            body: list[ast.stmt] = getattr(statement, "body", [])
            last = body[0].lineno - 1 if body else statement.end_lineno
            own |= set(range(statement.lineno, (last or 0) + 1)) | {statement.lineno}
        nth = seen[function, old, new]
        seen[function, old, new] += 1
        lines = tuple(sorted(own))
        yield Mutant(file, function, old, new, nth, node.lineno, lines, start, end, planted)

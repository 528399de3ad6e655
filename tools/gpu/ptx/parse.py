"""The text of PTX as kernels: registers, variables, and instructions in straight pieces."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

__all__ = ["Instruction", "Kernel", "Variable", "parse"]

_ENTRY = re.compile(r"\.entry\s+([\w$]+)\s*\(([^)]*)\)([^{;]*)\{")
_STATEMENT = re.compile(
    r"\s*(?:(?P<label>[\w$]+)\s*:(?!:)|(?P<open>\{)|(?P<close>\})"
    r"|(?P<text>[^;{}]*(?:\{[^{}]*\}[^;{}]*)*);)"
)
_INSTRUCTION = re.compile(r"(?:@(!?)([%\w$]+)\s+)?([a-z][\w.:]*)\s*(.*)", re.DOTALL)
_VARIABLE = re.compile(r"(?:\.align\s+(\d+)\s+)?\.(\w+)\s+(?:\.ptr\s.*\s)?([%\w$]+)(?:\[(\d+)\])?$")
_OPERAND = re.compile(r"\{[^}]*\}|\[[^\]]*\]|[^,\s][^,]*")
#: Bytes of a type, by the digits at its end; a predicate has none.
_BITS = re.compile(r"[busf](\d+)")


@dataclass(frozen=True, slots=True)
class Variable:
    """A parameter, or a variable in shared or local memory: where it lies, and its bytes."""

    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction: `opcode` without and `modifiers` with what stands behind its dots.

    A guard is a predicate's name and whether it is negated; a register's name of an inner scope has
    the number of that scope.
    """

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[str, ...]
    guard: tuple[str, bool] | None
    text: str

    @property
    def type(self) -> str:
        """The last modifier, the type of most operands."""
        return self.modifiers[-1] if self.modifiers else ""


@dataclass(slots=True)
class Kernel:
    """An entry of a module.

    Args:
        name: its mangled name.
        body: its text without its name, comments and spaces: what two kernels are compared by.
        parameters, shared, local: variables by name.
        registers: their bits by name, 1 of a predicate; `%r` is a family with numbers behind it.
        code: the instructions.
        labels: indices of instructions by the name of a label.
    """

    name: str
    body: str
    parameters: dict[str, Variable] = field(default_factory=dict)
    shared: dict[str, Variable] = field(default_factory=dict)
    local: dict[str, Variable] = field(default_factory=dict)
    registers: dict[str, int] = field(default_factory=dict)
    code: list[Instruction] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)

    def bits_of(self, register: str) -> int:
        """How many bits a register has.

        Raises:
            ValueError: no such register is declared.
        """
        for name in (register, register.rstrip("0123456789")):
            if name in self.registers:
                return self.registers[name]
        raise ValueError(f"register {register} is not declared")


def bits_of_type(type: str) -> int:
    """Bits of a fundamental type; 1 of a predicate."""
    found = _BITS.fullmatch(type)
    if found is None and type != "pred":
        raise ValueError(f"type .{type} is not known")
    return int(found[1]) if found else 1


def size_of(variables: dict[str, Variable]) -> int:
    """The bytes that variables fill."""
    return max((one.offset + one.size for one in variables.values()), default=0)


def _placed(text: str, variables: dict[str, Variable]) -> None:
    """A declaration as a variable behind those that are there, aligned."""
    found = _VARIABLE.search(text.strip())
    if found is None:
        raise ValueError(f"not a variable: {text}")
    align, type, name, count = found.groups()
    size = bits_of_type(type) // 8
    start = size_of(variables)
    step = int(align or size)
    variables[name] = Variable((start + step - 1) // step * step, size * int(count or 1))


def parse(text: str) -> dict[str, Kernel]:
    """The kernels of a module by their mangled names.

    Args:
        text: PTX. Functions that are not entries are left out.

    Raises:
        ValueError: something of a kernel is not understood.
    """
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    shared: dict[str, Variable] = {}
    for line in re.findall(r"^(?:\.extern\s+)?\.shared\s+([^;]*);", text, re.MULTILINE):
        _placed(re.sub(r"\[\]$", "[0]", line), shared)
    kernels = {}
    for entry in _ENTRY.finditer(text):
        name = entry[1]
        kernel = Kernel(name, "", shared=dict(shared))
        for parameter in filter(str.strip, entry[2].split(",")):
            _placed(parameter.replace(".param", ""), kernel.parameters)
        end = _read_body(kernel, text, entry.end())
        kernel.body = " ".join(text[entry.end() : end].replace(name, "").split())
        kernels[name] = kernel
    return kernels


def _read_body(kernel: Kernel, text: str, at: int) -> int:
    """Read what stands between the braces of a kernel; where it ends."""
    scopes: list[dict[str, str]] = [{}]
    count = 0
    while scopes:
        found = _STATEMENT.match(text, at)
        if found is None:
            raise ValueError(f"not a statement: {text[at : at + 60]!r}")
        at = found.end()
        if found["label"]:
            kernel.labels[found["label"]] = len(kernel.code)
        elif found["open"]:
            scopes.append({})
            count += 1
        elif found["close"]:
            scopes.pop()
        elif statement := found["text"].strip():
            _read_statement(kernel, statement, scopes, count)
    return at


def _read_statement(kernel: Kernel, text: str, scopes: list[dict[str, str]], count: int) -> None:
    first, _, rest = text.partition(" " if " " in text.split("\t")[0] else "\t")
    if first == ".reg":
        type, *names = rest.replace(",", " ").split()
        for name in names:
            plain = re.sub(r"<\d+>$", "", name)
            inner = plain if len(scopes) == 1 else f"{plain}@{count}"
            scopes[-1][plain] = inner
            kernel.registers[inner] = bits_of_type(type[1:])
    elif first in (".shared", ".local"):
        _placed(rest, kernel.shared if first == ".shared" else kernel.local)
    elif not text.startswith("."):  # .pragma, .loc and their like change nothing
        kernel.code.append(_instruction(text, scopes))


def _instruction(text: str, scopes: list[dict[str, str]]) -> Instruction:
    found = _INSTRUCTION.fullmatch(text)
    if found is None:
        raise ValueError(f"not an instruction: {text}")
    negated, guard, name, rest = found.groups()

    def renamed(word: re.Match[str]) -> str:
        inner = (scope[word[0]] for scope in reversed(scopes[1:]) if word[0] in scope)
        return next(inner, word[0])

    operands = tuple(
        re.sub(r"[%\w$]+", renamed, operand.strip()) for operand in _OPERAND.findall(rest)
    )
    opcode, *modifiers = name.replace("::", "_").split(".")
    return Instruction(
        opcode, tuple(modifiers), operands, (guard, bool(negated)) if guard else None, text
    )

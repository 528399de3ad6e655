"""A counterexample as a few lines of Python or shell that show the difference."""

from __future__ import annotations

import dataclasses
import itertools
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS
from mxref.cases.records import VectorFile, words
from mxref.conformance.compare.compare import Failure
from mxref.conformance.fuzzing.fuzz_call import FuzzCall
from mxref.formats.catalog import OTHER_BLOCK_FORMATS
from mxref.operands.word_rows import stripped
from mxref.targets.calls import calls_of, has_row_scales
from mxref.targets.loading import split_spec
from mxref.targets.target import Target

__all__ = ["reproduction"]

Words = NDArray[np.uint64]
#: Of longer answers about integers only the first wrong word is shown.
_LONG = 8
#: How often the code asks a question whose answer changes.
_TIMES = 100


def reproduction(
    target: Target, file: VectorFile, call: FuzzCall, failure: Failure, *, changes: bool = False
) -> str:
    """Code that asks a target again and prints the wanted and the given answer.

    Args:
        target: the target; a command line is its attribute `command`.
        file: operation, format and float type.
        call: the question, of a tensor with its memory order.
        failure: the failure of one case.
        changes: whether the answer is not the same each time: the code asks many times.
    """
    command = getattr(target, "command", None)
    if command is not None:
        return "\n".join(_shell(command, file, call.rows[call.order], failure))
    scaled = OTHER_BLOCK_FORMATS.get(file.format)
    function = getattr(target, "operations", {}).get(file.op)
    if file.row.varied:
        call = call.alone(failure.index)
    elif scaled is not None and scaled.tensor_scale and not has_row_scales(function, file.format):
        call, failure = _of_one_tensor(call, failure)
    return "\n".join(_python(target, file, call, failure, changes=changes))


def _of_one_tensor(call: FuzzCall, failure: Failure) -> tuple[FuzzCall, Failure]:
    """The part of a call that has the tensor scale of a failure, which is asked by itself."""
    rows = call.rows[call.order]
    same = rows[:, 0] == rows[failure.index, 0]
    if same.all():
        return call, failure
    place = int(np.count_nonzero(same[: failure.index]))
    return FuzzCall(rows[same], call.memory), dataclasses.replace(failure, index=place)


def _shell(
    command: str | Sequence[str], file: VectorFile, inputs: Words, failure: Failure
) -> Iterator[str]:
    prompts = [
        f"{number} {file.op} {file.format} {file.float} {words(stripped(row), file.in_digits)}"
        for number, row in enumerate(inputs, 1)
    ]
    yield f"# want {failure.index + 1} {words(failure.want, file.out_digits)}"
    line = command if isinstance(command, str) else shlex.join(command)
    yield f"printf '%s\\n' {shlex.join(prompts)} | {line}"


def _python(
    target: Target, file: VectorFile, call: FuzzCall, failure: Failure, *, changes: bool
) -> Iterator[str]:
    assigned, arrays, expression = _call(target, file, call.rows)
    source, mode = split_spec(target.name)
    path = Path(source)
    is_file = path.suffix == ".py"
    own = getattr(file.row, "function", file.op)
    yield "import runpy, sys" if is_file else f"from {source} import {mode or own}"
    yield "import numpy as np"
    if file.float == "bf16" or any("ml_dtypes" in value for value in assigned.values()):
        yield "import ml_dtypes"
    if is_file:
        yield f"sys.path.insert(0, {str(path.parent.resolve())!r})"
        yield f'{mode or own} = runpy.run_path({str(path.resolve())!r})["{mode or own}"]'
    if mode:
        yield f"{own} = {mode}.{own}"
    if own != file.op:
        yield f"{file.op} = {getattr(file.row, 'as_code', own)}"
    yield from (f"{name} = {value}" for name, value in assigned.items())
    yield from _MEMORY[call.memory]
    if call.size:
        yield from (f"{name} = {_filled(name, call)}" for name in arrays)
    ask = [f"result = {expression}", *_parts(file, call, failure)]
    want = f'print("want {words(failure.want, file.out_digits)}")'
    place = _first_wrong(file, failure)
    if place is not None:
        ask[-1] = f"parts = [np.asarray(result).reshape(-1)[{place} : {place + 1}]]"
        want = f'print("want {words(failure.want[place : place + 1], file.out_digits)}")'
    shown = f"[{_SHOWN.format(digits=file.out_digits, bytes=file.out_digits // 2)}]"
    if changes:
        given = "" if failure.got is None else f'given.add(" ".join({shown}))'
        yield from (want, "given = set()", f"for _ in range({_TIMES}):")
        yield from (f"    {line}" for line in (*ask, given) if line)
        yield 'print("got ", *sorted(given), sep="\\n")'
    elif failure.got is None:
        yield from (*ask, want, 'print("got ", repr(result))')
        yield f"print({', '.join(repr(n + ' =') + ', ' + n for n in assigned)})"
    else:
        yield from (*ask, want, f'print("got ", *{shown})')


def _first_wrong(file: VectorFile, failure: Failure) -> int | None:
    """Where the first wrong word of a long answer about integers is."""
    if not file.row.own_choices or len(failure.want) <= _LONG or failure.got is None:
        return None
    pairs = enumerate(zip(failure.want, failure.got, strict=False))
    return next((i for i, (a, b) in pairs if a != b), None)


#: The words of an answer, in hex.
_SHOWN = (
    'f"{{word:0{digits}x}}" for part in parts for word in '
    '(part.view("u{bytes}") if part.itemsize == {bytes} else part).ravel().tolist()'
)


def _parts(file: VectorFile, call: FuzzCall, failure: Failure) -> Iterator[str]:
    """Lines that take the answer to one case from the result."""
    if failure.got is None:
        return
    some = f"[{failure.index}:{failure.index + 1}]" if call.count > 1 else ""
    arrays = file.row.arrays
    if arrays == 2:
        yield "if not isinstance(result, tuple): result = result.scale_codes, result.codes"
        yield f"parts = [np.asarray(part){some} for part in result]"
    elif arrays > 2:
        yield "parts = [np.asarray(part) for part in result]"
    else:
        yield f"parts = [np.asarray(result){some}]"


def _filled(name: str, call: FuzzCall) -> str:
    """A batch of repeated questions, as code."""
    if len(call.rows) == 1:
        return f"np.repeat({name}, {call.size}, axis=0)"
    order = f"np.random.RandomState({call.size}).permutation({call.size})"
    return f"{name}[{order if call.permuted else f'np.arange({call.size})'} % {len(call.rows)}]"


#: Lines that put a tensor into another memory order.
_MEMORY = (
    (),
    (
        "larger = np.zeros((values.shape[0] + 2, 2 * values.shape[1] + 1), values.dtype)",
        "larger[1:-1, 1::2] = values",
        "values = larger[1:-1, 1::2]",
    ),
    ("values = values.T.copy().T",),
    ("values = values[::-1, ::-1].copy()[::-1, ::-1]",),
)


def _call(target: Target, file: VectorFile, inputs: Words) -> tuple[dict[str, str], list[str], str]:
    """The array and scalar arguments as code, which of them are arrays, and the call."""
    function = getattr(target, "operations", {}).get(file.op)
    asked = next(calls_of(function, file, inputs))
    assigned: dict[str, str] = {}
    shown = []
    for name, value in asked.arguments.items():
        if isinstance(value, np.ndarray | np.generic):
            assigned[name] = _array(np.asarray(value)) + "[0]" * isinstance(value, np.generic)
            shown.append(name)
        elif name != "dtype" or getattr(function, "takes_dtype", True):
            shown.append(_value(value))
    arrays = [name for name, value in asked.arguments.items() if isinstance(value, np.ndarray)]
    return assigned, arrays, f"{file.op}({', '.join(shown)})"


def _value(value: object) -> str:
    """An argument that is no array, as code."""
    if isinstance(value, np.dtype):
        float = next((one.name for one in LAYOUTS.values() if one.dtype == value), "")
        return f"np.dtype({_DTYPES[float]})" if float else f'np.dtype("{value}")'
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _array(array: NDArray[Any]) -> str:
    """An array as code: floats by their patterns, codes and bytes in hex.

    >>> _array(np.float32([[1, 0, 0, 0]])), _array(np.int8([-1, 2]))
    ('np.array([[0x3f800000, *[0x00000000] * 3]], np.uint32).view(np.float32)', \
'np.array([-1, 2], np.int8)')
    """
    if not array.size and array.ndim > 1:
        layout = next((one for one in LAYOUTS.values() if one.dtype == array.dtype), None)
        return f"np.zeros({array.shape}, {_DTYPES[layout.name] if layout else f'np.{array.dtype}'})"
    some = np.atleast_1d(array)
    for layout in LAYOUTS.values():
        if some.dtype == layout.dtype:
            literal = _literal(some.view(layout.uint).tolist(), layout.width // 4)
            return f"np.array({literal}, np.{layout.uint.name}).view({_DTYPES[layout.name]})"
    digits = 2 if some.dtype == np.uint8 else 0
    return f"np.array({_literal(some.tolist(), digits)}, np.{some.dtype})"


_DTYPES = {
    "f64": "np.float64",
    "f32": "np.float32",
    "f16": "np.float16",
    "bf16": "ml_dtypes.bfloat16",
}


def _literal(patterns: list[Any], digits: int) -> str:
    """A list in hex, or without digits in decimal, runs of equal items written once.

    >>> _literal([0x3F80, 0, 0, 0], 4), _literal([[1, 2]], 2)
    ('[0x3f80, *[0x0000] * 3]', '[[0x01, 0x02]]')
    """
    parts = []
    for one, run in itertools.groupby(patterns):
        count = len(list(run))
        text = _literal(one, digits) if isinstance(one, list) else str(one)
        if isinstance(one, int) and digits:
            text = f"0x{one:0{digits}x}"
        parts += [f"*[{text}] * {count}"] if count > 2 else [text] * count
    return f"[{', '.join(parts)}]"

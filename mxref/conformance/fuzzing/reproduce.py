"""A counterexample as a few lines of Python or shell that show the difference."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.cases.records import VectorFile, words
from mxref.conformance.compare.compare import Failure
from mxref.conformance.fuzzing.fuzz_call import Call
from mxref.formats.catalog import OTHER_BLOCK_FORMATS
from mxref.operands.word_rows import stripped
from mxref.operations.layers import layer_of
from mxref.operations.product_words import operands
from mxref.operations.registry import CALL_OPERATIONS, PRODUCT_OPERATIONS, REGISTRY
from mxref.targets.loading import split_spec
from mxref.targets.target import Target

__all__ = ["reproduction"]

Words = NDArray[np.uint64]
#: Operations that return numbers, and those that return scale codes and codes.
_TO_FLOATS = ("decode", "decode_scale", "dequantize", *PRODUCT_OPERATIONS)
_TO_PAIRS = ("quantize", "unpack_blocks", "quantize_tensor")
#: Of longer answers about integers only the first wrong word is shown.
_LONG = 8
#: How often the code asks a question whose answer changes.
_TIMES = 100


def reproduction(
    target: Target, file: VectorFile, call: Call, failure: Failure, *, changes: bool = False
) -> str:
    """Code that asks a target again and prints the wanted and the given answer.

    Args:
        target: the target; a command line is its attribute `command`.
        file: operation, format and float type.
        call: the question, of a tensor with its memory order.
        failure: the failure of one case.
        changes: whether the answer is not the same each time: the code asks many times.
    """
    inputs = call.rows
    command = getattr(target, "command", None)
    if command is not None:
        return "\n".join(_shell(command, file, inputs[call.order], failure))
    scaled = OTHER_BLOCK_FORMATS.get(file.format)
    if REGISTRY[file.op].varied or (scaled is not None and scaled.tensor_scale):
        inputs = inputs[failure.index : failure.index + 1]  # asked one by one
    return "\n".join(_python(target, file, call.of(inputs), failure, changes=changes))


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
    target: Target, file: VectorFile, call: Call, failure: Failure, *, changes: bool
) -> Iterator[str]:
    assigned, expression = _call(file, call.rows)
    source, mode = split_spec(target.name)
    path = Path(source)
    is_file = path.suffix == ".py"
    yield "import runpy, sys" if is_file else f"from {source} import {mode or file.op}"
    yield "import numpy as np"
    if file.float == "bf16":
        yield "import ml_dtypes"
    if is_file:
        yield f"sys.path.insert(0, {str(path.parent.resolve())!r})"
        yield f'{mode or file.op} = runpy.run_path({str(path.resolve())!r})["{mode or file.op}"]'
    if mode:
        yield f"{file.op} = {mode}.{file.op}"
    yield from (f"{name} = {value}" for name, value in assigned.items())
    yield from _MEMORY[call.memory]
    if call.size:
        yield from (f"{name} = {_filled(name, call)}" for name in assigned)
    ask = [f"result = {expression}", *_parts(file, call, failure)]
    want = f'print("want {words(failure.want, file.out_digits)}")'
    place = _first_wrong(file, failure)
    if place is not None:
        ask[-1] = f"parts = [np.asarray(result).reshape(-1)[{place} : {place + 1}]]"
        want = f'print("want {words(failure.want[place : place + 1], file.out_digits)}")'
    shown = f"[{_SHOWN.format(**_widths(file))}]"
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
    if file.op not in CALL_OPERATIONS or len(failure.want) <= _LONG or failure.got is None:
        return None
    pairs = enumerate(zip(failure.want, failure.got, strict=False))
    return next((i for i, (a, b) in pairs if a != b), None)


#: The words of an answer, in hex.
_SHOWN = (
    'f"{{word:0{digits}x}}" for part in parts for word in '
    '(part.view("u{bytes}") if part.itemsize == {bytes} else part).ravel().tolist()'
)


def _widths(file: VectorFile) -> dict[str, int]:
    """The digits and bytes of a word of an answer."""
    width = LAYOUTS[file.float].width if file.op in _TO_FLOATS else 8
    if file.op in CALL_OPERATIONS:
        width = 4 * file.out_digits
    return {"digits": width // 4, "bytes": width // 8}


def _parts(file: VectorFile, call: Call, failure: Failure) -> Iterator[str]:
    """Lines that take the answer to one case from the result."""
    if failure.got is None:
        return
    some = f"[{failure.index}:{failure.index + 1}]" if call.count > 1 else ""
    if file.op in _TO_PAIRS:
        yield "if not isinstance(result, tuple): result = result.scale_codes, result.codes"
        yield f"parts = [np.asarray(part){some} for part in result]"
    elif file.op == "linear_gradients":
        yield "parts = [np.asarray(part) for part in result]"
    else:
        yield f"parts = [np.asarray(result){some}]"


def _filled(name: str, call: Call) -> str:
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


def _call(file: VectorFile, inputs: Words) -> tuple[dict[str, str], str]:
    """The array arguments and the call, as code."""
    if file.op in CALL_OPERATIONS:
        return _integer_call(file, inputs[0])
    op, name, layout = file.op, f'"{file.format}"', LAYOUTS.get(file.float)
    assigned: dict[str, str] = {}
    scaled = OTHER_BLOCK_FORMATS.get(file.format)
    more = ""
    if scaled is not None and scaled.tensor_scale:
        assigned["tensor_scale"] = f"{_floats(inputs[0, :1].tolist(), LAYOUTS['f32'])}[0]"
        inputs, more = inputs[:, 1:], ", tensor_scale"
    row = stripped(inputs[0])
    match op:
        case "encode" | "shared_scale" | "encode_scale" | "encode_stochastic" if layout:
            argument = "amax" if op == "shared_scale" else "values"
            assigned[argument] = _floats(inputs[:, 0].tolist(), layout)
            if op == "encode_stochastic":
                assigned["random_bits"] = f"np.array({inputs[:, 1].tolist()}, np.uint32)"
                argument += f", random_bits, {int(inputs[0, 2])}"
            return assigned, f"{op}({argument}{'' if op == 'encode_scale' else ', ' + name})"
        case "decode" | "decode_scale":
            assigned["codes"] = _bytes(inputs[:, 0].tolist())
            return assigned, f"{op}(codes{', ' + name if op == 'decode' else ''})"
        case "quantize" if layout:
            assigned["values"] = _floats(inputs.tolist(), layout)
            return assigned, f"quantize(values, {name}{more})"
        case "dequantize":
            assigned["scale_codes"] = _bytes(inputs[:, 0].tolist())
            assigned["codes"] = _bytes(inputs[:, 1:].tolist())
            dtype = f"np.dtype({_DTYPES[file.float]})"
            return assigned, f"dequantize(scale_codes, codes, {name}, {dtype}{more})"
        case "matmul":
            for side, rows in zip("ab", operands(row), strict=True):
                assigned[f"scales_{side}"] = _bytes([list(rows.scales)])
                assigned[f"codes_{side}"] = _bytes([list(rows.codes)])
            formats = ", ".join(f'"{one}"' for one in file.format.split("-"))
            return assigned, f"matmul({', '.join(assigned)}, {formats})"
        case "linear" | "linear_gradients" if layout:
            layer, last = layer_of(op, row), "bias" if op == "linear" else "grad"
            for key, array in (("x", layer.x), ("w", layer.w), (last, layer.more)):
                assigned[key] = "None" if array is None else _floats(array.tolist(), layout)
            return assigned, f"{op}(x, w, {last}, {name})"
        case "pack":
            assigned["codes"] = _bytes(list(row))
            return assigned, f"pack(codes, {name})"
        case "unpack":
            assigned["packed"] = _bytes(list(row[1:]))
            return assigned, f"unpack(packed, {name}, {row[0]})"
        case "pack_scales":
            assigned["scale_codes"] = f"{_bytes(list(row[2:]))}.reshape({row[0]}, {row[1]})"
            return assigned, "pack_scales(scale_codes)"
        case "unpack_scales":
            assigned["packed"] = _bytes(list(row[2:]))
            return assigned, f"unpack_scales(packed, ({row[0]}, {row[1]}))"
        case "pack_blocks":
            assigned["scale_codes"] = _bytes(list(row[:1]))
            assigned["codes"] = _bytes([list(row[1:])])
            return assigned, f"pack_blocks(scale_codes, codes, {name})"
        case "unpack_blocks":
            assigned["packed"] = _bytes([list(row)])
            return assigned, f"unpack_blocks(packed, {name})"
        case "quantize_tensor" if layout:
            values = _floats(list(row[3:]), layout)
            assigned["values"] = f"{values}.reshape({row[0]}, {row[1]})"
            return assigned, f"quantize_tensor(values, {name}, {row[2]})"
    raise ValueError(f"op must be an operation, got {op!r}")


def _integer_call(file: VectorFile, row: Words) -> tuple[dict[str, str], str]:
    """The arrays and the call of an integer operation, as code."""
    arguments = CALL_OPERATIONS[file.op].call(file.format, stripped(row)).arguments
    assigned, shown = {}, []
    names = CALL_OPERATIONS[file.op].argument_names(file.format)
    for name, one in zip(names + ("",) * len(arguments), arguments, strict=False):
        if isinstance(one, np.ndarray):
            flat = one.reshape(-1)
            if flat.dtype == np.float32:
                array = _floats(flat.view(np.uint32).tolist(), LAYOUTS["f32"])
            else:
                array = f"np.array({_literal(flat.tolist(), 0)}, np.{flat.dtype})"
            assigned[name] = array if one.ndim == 1 else f"{array}.reshape({one.shape})"
            shown.append(name)
        else:
            shown.append(f'np.dtype("{one}")' if isinstance(one, np.dtype) else repr(one))
    return assigned, f"{file.op}({', '.join(shown)})"


_DTYPES = {
    "f64": "np.float64",
    "f32": "np.float32",
    "f16": "np.float16",
    "bf16": "ml_dtypes.bfloat16",
}


def _floats(patterns: list[Any], layout: FloatLayout) -> str:
    array = f"np.array({_literal(patterns, layout.width // 4)}, np.{layout.uint.name})"
    return f"{array}.view({_DTYPES[layout.name]})"


def _bytes(codes: list[Any]) -> str:
    return f"np.array({_literal(codes, 2)}, np.uint8)"


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

"""Cases of linear layers and their gradients, with rows and columns of different magnitudes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.cases.grid import pattern
from mxref.cases.records import VectorFile
from mxref.golden.case_inputs import CaseInput, Words, cases_of
from mxref.operands.splitmix import splitmix64
from mxref.operations.layers import exact_layer
from mxref.operations.product_words import BOUNDS

__all__ = ["linear_tasks"]

#: Formats that have vectors from each float type.
_EVERY, _GRADIENTS = ("mxfp8_e4m3", "mxfp8_e5m2", "mxfp4_e2m1", "mxint8"), ("mxfp8_e4m3",)
_FORMATS: dict[str, dict[str, tuple[str, ...]]] = {
    "linear": {"f32": _EVERY, "bf16": _EVERY, "f16": _EVERY},
    "linear_gradients": {"f32": _EVERY[:2], "bf16": _GRADIENTS, "f16": _GRADIENTS},
}
_ENDS = BOUNDS[:2]
_COLUMNS = {
    "linear": ("ocp", *_ENDS, "ocp+weight_axis=out", "ocp+activations=kept"),
    "linear_gradients": (
        "ocp", *_ENDS, "ocp+backward_operands=reused", "ocp+gradient_rows=sequences"
    ),
}  # fmt: skip
#: Sequences, rows, inputs and outputs: blocks with tails along each axis that is summed over.
_SHAPES = {
    "linear": ((1, 2, 40, 2), (2, 1, 33, 2)),
    "linear_gradients": ((2, 18, 2, 2), (1, 1, 2, 34)),
}


def linear_tasks() -> Iterator[Callable[[], VectorFile]]:
    """Makers of the files of linear layers, and of their gradients."""
    for op, formats in _FORMATS.items():
        for float, some in formats.items():
            for format in some:
                yield partial(_file, op, format, float)


def _file(op: str, format: str, float: str) -> VectorFile:
    columns, digits = _COLUMNS[op], LAYOUTS[float].width // 4
    entries = [
        CaseInput(
            "x".join(map(str, shape)), _words(op, shape, format, float, seed), "M13", ("ragged",)
        )
        for seed, shape in enumerate(_SHAPES[op])
        if op == "linear_gradients" or float == "f32" or seed == 1
    ]
    answered = [
        [exact_layer(op, format, float, entry.inputs, column) for entry in entries]
        for column in columns
    ]
    why = [(False, "N44", entry.flags) for entry in entries]
    cases = cases_of(f"{op}.{format}.{float}", entries, answered, why)
    return VectorFile(op, format, float, columns, 1 + len(_ENDS), digits, digits, cases)


def _words(op: str, shape: tuple[int, int, int, int], format: str, float: str, seed: int) -> Words:
    sequences, rows, inputs, outputs = shape
    reach = 5 if float == "f16" else 20 if "e5m2" in format else 9
    # What is summed over has opposite powers in both operands, so that no product is lost.
    arrays = [(sequences * rows, inputs, reach, reach), (outputs, inputs, reach, -reach)]
    first: tuple[int, ...] = shape
    if op == "linear":
        first = (*shape, 1)
        arrays.append((1, outputs, -4, reach))
    else:
        arrays.append((sequences * rows, outputs, -reach, -reach))
    numbers = [
        bits
        for index, array in enumerate(arrays)
        for bits in _matrix(*array, 10 * seed + index, LAYOUTS[float])
    ]
    return (*first, *numbers)


def _matrix(
    rows: int, columns: int, by_row: int, by_column: int, seed: int, layout: FloatLayout
) -> Iterator[int]:
    """Numbers of 12 bits, or of as many as a narrow type has.

    Some rows and columns are multiplied by a power of two, others by 1. So blocks along the wrong
    axis have other scales, and lose other elements.
    """
    spare = max(11 - layout.mantissa_bits, 0)
    for index, word in enumerate(splitmix64(seed, rows * columns).tolist()):
        row, column = divmod(index, columns)
        power = by_row * _step(row, rows) + by_column * _step(column, columns) - (word >> 20) % 4
        number = (word & 0x7FF | 0x800) >> spare
        yield pattern(-number if word >> 63 else number, power - 11 + spare, layout)


def _step(index: int, count: int) -> int:
    """-1, 0 or 1 in turn, in runs of nine where there are many."""
    return (index // 9 if count > 9 else index) % 3 - 1

"""What the words of a case are, as the tables of ``vectors/README.md`` say."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import NamedTuple

from mxref.cases.folder import vectors_folder
from mxref.formats.catalog import OTHER_BLOCK_FORMATS
from mxref.operations.registry import REGISTRY
from mxref.support.whole_file import read_file

__all__ = ["CaseWords", "case_words", "holds"]

#: Columns of answers that are no policies.
_ENDS = {
    "lo": "the lowest right number in any order of float32 additions, of",
    "hi": "the highest right number in any order of float32 additions, of",
    "overflow": "one more right number, where a float32 sum may overflow on the way, of",
    "bits": "the number that every order of additions gives, else NaN, of",
}


class CaseWords(NamedTuple):
    """The words in and out of an operation's cases, and what the float type of a file is of."""

    inputs: str
    outputs: str
    float_type: str


def case_words(contract: str) -> Mapping[str, CaseWords]:
    """The words of each operation by its name, from the text of ``vectors/README.md``.

    >>> case_words("| `encode` | float | element code | of the input |")["encode"].outputs
    'element code'
    """
    rows = re.findall(r"^\| (`[^|]*) \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$", contract, re.MULTILINE)
    return {
        op: CaseWords(*row[1:]) for row in reversed(rows) for op in re.findall(r"`(\w+)`", row[0])
    }


def holds(op: str, format: str, column: str) -> str:
    """What each row of the input words (`in`) or of a column of answers holds, if it is known.

    >>> holds("quantize", "nvfp4", "in"), holds("quantize", "nvfp4", "ocp")
    ('float32 scale of the tensor, then 16 floats', 'UE4M3 code, then 16 element codes')
    """
    words = _words().get(op)
    if words is None:  # an operation of a user
        return ""
    if REGISTRY[op].blocks and format in OTHER_BLOCK_FORMATS:
        fmt = OTHER_BLOCK_FORMATS[format]
        count = fmt.elements_per_block
        scale = "float32 scale" if fmt.scale.is_float32 else f"{fmt.scale.name.upper()} code"
        both = f"{scale}, then {count} element codes", f"{count} floats"
        inputs, outputs = both if REGISTRY[op].from_codes else both[::-1]
        tensor = "float32 scale of the tensor, then " if fmt.tensor_scale else ""
        words = words._replace(inputs=f"{tensor}{inputs}", outputs=outputs)
    if op == "matmul" and "nvfp4" in format.split("-"):
        words = words._replace(inputs=f"{words.inputs}; of nvfp4 the tensor's float32 scale first")
    if column == "in":
        return words.inputs
    return f"{_ENDS[column]}: {words.outputs}" if column in _ENDS else words.outputs


@functools.cache
def _words() -> Mapping[str, CaseWords]:
    return case_words(read_file(vectors_folder() / "README.md").decode("utf-8"))

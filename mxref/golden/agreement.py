"""Both references answer every case of a file alike, or there is no file."""

from __future__ import annotations

import numpy as np

from mxref.cases.records import VectorFile
from mxref.operands.word_rows import same_width, stripped
from mxref.operations.registry import REGISTRY

__all__ = ["compare_references"]


def compare_references(file: VectorFile) -> None:
    """Compare the answers of a file, which are those of the slow twin, with the fast path's.

    Raises:
        RuntimeError: they differ; the message names the first such case.
    """
    inputs = file.input_words()
    for index, column in enumerate(file.columns):
        wanted = file.outputs(index)
        answers = REGISTRY[file.op].fast(file.format, file.float, inputs, column)
        got, wanted = same_width(answers.astype(np.uint64), wanted)
        wrong = np.flatnonzero((got != wanted).any(axis=-1))
        if wrong.size:
            case = file.cases[wrong[0]]
            raise RuntimeError(
                f"the two references disagree on {case.id} under {column}: "
                f"slow {list(stripped(wanted[wrong[0]]))}, fast {list(stripped(got[wrong[0]]))}"
            )

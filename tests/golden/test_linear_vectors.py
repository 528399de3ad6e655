"""The vectors of linear layers by another route; test_agreement.py has the slow twin's answers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from helpers import VECTORS

import mxref
from mxref.bits.floats import LAYOUTS
from mxref.cases.read import read_vectors
from mxref.cases.records import VectorFile
from mxref.operations.layers import layer_of
from mxref.operations.registry import LAYER_OPERATIONS

FILES = read_vectors(VECTORS, lambda stem: stem.startswith("linear"))
FILES = [file for file in FILES if file is not None and file.op in LAYER_OPERATIONS]


def arrays(file: VectorFile, words: tuple[int, ...]) -> tuple[Any, Any, Any]:
    layer = layer_of(file.op, words)
    more = layer.more
    assert more is not None
    return layer.x, layer.w, more


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_float32_sums_are_inside_the_interval(file: VectorFile) -> None:
    """NumPy's products of the dequantized operands, in float32, in two orders."""
    layout = LAYOUTS[file.float]
    for case in file.cases:
        x, w, more = (
            np.array(part, layout.uint).view(layout.dtype) for part in arrays(file, case.inputs)
        )
        low, high = (
            np.array(case.output(file.columns.index(end)), layout.uint).view(layout.dtype)
            for end in ("lo", "hi")
        )
        rows = x.reshape(-1, x.shape[-1])

        def rounded(values: Any, axis: int) -> Any:
            return mxref.quantize(values, file.format, axis=axis).dequantize(np.float32)

        if file.op == "linear":
            a, b = rounded(rows, 1), rounded(w, 1)
            both = a @ b.T, a[:, ::-1] @ b[:, ::-1].T
            # The bias is added after the sum is rounded, and before.
            sums = [(part.astype(layout.dtype) + more).reshape(-1) for part in both]
            sums += [(part + more.astype(np.float32)).reshape(-1) for part in both]
        else:
            g = more.reshape(-1, len(w))
            dx = rounded(g, 1) @ rounded(w, 0)
            dw = rounded(g, 0).T @ rounded(rows, 0)
            db = g.astype(np.float32).sum(axis=0)
            sums = [np.concatenate([dx.reshape(-1), dw.reshape(-1), db])]
        for one in sums:
            last = one.astype(layout.dtype)
            assert ((low <= last) & (last <= high)).all(), case.id


def test_choices_leave_the_interval() -> None:
    """Each other choice of axes or operands is outside somewhere, so that it is told."""
    for file in FILES:
        layout = LAYOUTS[file.float]
        for column in file.columns[3:]:
            index, outside = file.columns.index(column), 0
            for case in file.cases:
                for word, low, high in zip(
                    case.output(index), case.output(1), case.output(2), strict=True
                ):
                    value, least, most = (
                        Fraction(float(layout.uint.type(n).view(layout.dtype)))
                        for n in (word, low, high)
                    )
                    outside += not least <= value <= most
            assert outside, (file.stem, column)

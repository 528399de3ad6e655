"""Calls of a target's linear layers, one for each case, since shapes differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS, FloatLayout
from mxref.cases.records import VectorFile
from mxref.operations.layers import layer_of
from mxref.operations.word_rows import padded, stripped
from mxref.targets.returned import AnswerError, float_words

__all__ = ["call_layers", "layer_result"]


def call_layers(
    function: Callable[..., Any], file: VectorFile, inputs: NDArray[np.uint64]
) -> NDArray[np.uint64]:
    """Words in, words out: y, or the gradients of x, of the weight and of the bias.

    Raises:
        AnswerError: results of other shapes or another dtype.
    """
    return padded([_call(function, file, stripped(row)) for row in inputs])


def _call(
    function: Callable[..., Any], file: VectorFile, words: tuple[int, ...]
) -> NDArray[np.uint64]:
    layout = LAYOUTS[file.float]
    layer = layer_of(file.op, words).floats(layout)
    result = function(layer.x, layer.w, layer.more, file.format)
    return layer_result(file.op, result, words[:4], layout)


def layer_result(
    op: str, result: object, shape: Sequence[int], layout: FloatLayout
) -> NDArray[np.uint64]:
    """The words of a target's result for a layer.

    Args:
        op: the operation.
        result: y, or three gradients.
        shape: sequences, rows of each, inputs and outputs.
        layout: the float type.

    Raises:
        AnswerError: results of other shapes or another dtype.
    """
    sequences, rows, inputs, outputs = shape
    if op == "linear":
        return float_words(result, (sequences, rows, outputs), layout).reshape(-1)
    if not isinstance(result, tuple | list) or len(result) != 3:
        got = type(result).__name__
        raise AnswerError(f"linear_gradients must return three arrays, got {got}")
    shapes = (sequences, rows, inputs), (outputs, inputs), (outputs,)
    parts = [float_words(one, size, layout) for one, size in zip(result, shapes, strict=True)]
    return np.concatenate([part.reshape(-1) for part in parts])

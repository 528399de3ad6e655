"""Putting linear layers to a target: one call a case, since shapes differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS
from mxref.cases.linear_answers import layer_of
from mxref.cases.records import VectorFile, padded, stripped
from mxref.targets.returned import AnswerError, float_words

__all__ = ["call_layers"]


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
    x, w, more = layer.x, layer.w, layer.more
    if file.op == "linear":
        y = float_words(function(x, w, more, file.format), (*x.shape[:-1], len(w)), layout)
        return y.reshape(-1)
    result = function(x, w, more, file.format)
    if not isinstance(result, tuple | list) or len(result) != 3:
        got = type(result).__name__
        raise AnswerError(f"linear_gradients must return three arrays, got {got}")
    shapes = (x.shape, w.shape, (len(w),))
    parts = [float_words(one, size, layout) for one, size in zip(result, shapes, strict=True)]
    return np.concatenate([part.reshape(-1) for part in parts])

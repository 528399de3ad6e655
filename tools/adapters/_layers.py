"""`linear` and `linear_gradients` of layers of torch."""

from collections.abc import Callable
from typing import Any

import numpy as np
from _peer import array, tensor
from numpy.typing import NDArray

__all__ = ["functions"]
Array = NDArray[Any]
#: Takes tensors x, w and bias or None, and the name of a block format; returns y.
Layer = Callable[[Any, Any, Any, str], Any]


def functions(layer: Layer, *, filled: bool) -> dict[str, Callable[..., Any]]:
    """Both operations by a layer and its backward pass.

    Args:
        layer: the layer.
        filled: fill rows, inputs and outputs with zeros to multiples of 32, for layers that take
            whole blocks only; x has then two axes. Zeros change no block's scale.
    """

    def linear(x: Array, w: Array, bias: Array | None, block_format: str) -> Array:
        rows, weight = (_whole(_rows(x)), _whole(w)) if filled else (x, w)
        more = None if bias is None else tensor(_longer(bias, len(weight)))
        y = array(layer(tensor(rows), tensor(weight), more, block_format).detach())
        rest = y[: x.size // x.shape[-1], : len(w)] if filled else y
        return rest.reshape(*x.shape[:-1], len(w))

    def linear_gradients(
        x: Array, w: Array, grad: Array, block_format: str
    ) -> tuple[Array, Array, Array]:
        one = (x, w, grad)
        given = [_whole(_rows(each)) for each in one] if filled else one
        left, right, last = (tensor(each) for each in given)
        leaves = left, right, tensor(np.zeros(len(given[1]), w.dtype))
        for leaf in leaves:
            leaf.requires_grad_()
        layer(*leaves, block_format).backward(last)
        dx, dw, db = (array(leaf.grad) for leaf in leaves)
        dx = dx[: x.size // x.shape[-1], : x.shape[-1]] if filled else dx
        return dx.reshape(x.shape), dw[: len(w), : w.shape[1]], db[: len(w)]

    return {"linear": linear, "linear_gradients": linear_gradients}


def _rows(values: Array) -> Array:
    return values.reshape(-1, values.shape[-1])


def _whole(matrix: Array) -> Array:
    return np.pad(matrix, [(0, -count % 32) for count in matrix.shape])


def _longer(vector: Array, count: int) -> Array:
    return np.pad(vector, (0, count - len(vector)))

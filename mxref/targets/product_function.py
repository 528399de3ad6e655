"""A target's `matmul`, called with operands padded to the multiples that it takes."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS, U8
from mxref.formats.catalog import BlockFormat
from mxref.operands.returned import AnswerError, array_of
from mxref.operations.product_words import TENSORS, code_of_one, pair_formats
from mxref.support.integers import rounded_up
from mxref.targets.filling import repeated, with_zeros

__all__ = ["EPILOGUE", "MULTIPLES", "ProductFunction", "with_named"]

#: The default multiples of rows, columns and the summed axis; 0 is whole blocks of both formats.
MULTIPLES = (1, 1, 0)
#: The parameters that are given by name: the second ones only if they may be left out.
EPILOGUE = ("alpha", "beta", "c", "bias")


@dataclass(frozen=True, slots=True)
class ProductFunction:
    """A target's `matmul`, called with operands padded to the multiples that it takes.

    Args:
        function: takes scales (m, k / 32) and codes (m, k), scales (n, k / 32) and codes (n, k),
            the names of both formats, if it has a seventh parameter the dtype of the result, and
            then the scales of both tensors, if it has parameters with their names (`with_named`).
        takes_dtype: whether it has that parameter; `*arguments` count as the first six alone.
        multiples: of m, n and k; of k 0 for whole blocks.
        takes_tensors: whether it has the parameters `tensor_scale_a` and `tensor_scale_b`.
        epilogue: which of EPILOGUE it has; given after those, None for one that is left out.
    """

    function: Callable[..., Any]
    takes_dtype: bool
    multiples: tuple[int, int, int] = MULTIPLES
    takes_tensors: bool = False
    epilogue: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, function: Callable[..., Any], taking: Callable[..., Any], multiples: Sequence[int]
    ) -> ProductFunction:
        """The `matmul` of a target; `taking` is the same function for arrays of NumPy."""
        rows, columns, length = multiples
        some = rows, columns, length
        parameters = _parameters(function)
        named, has_tensors = _named(parameters), {*TENSORS} <= {*parameters}
        own = tuple(name for name in EPILOGUE if name in named)
        return cls(taking, _by_place(parameters) > 6, some, has_tensors, own)

    @property
    def floats(self) -> tuple[str, ...]:
        """The float types of its results: float32 alone if it does not take the dtype."""
        return tuple(LAYOUTS) if self.takes_dtype else ("f32",)

    def multiples_of(self, a: BlockFormat, b: BlockFormat) -> tuple[int, int, int]:
        """The multiples of m, n and k for operands of two formats."""
        rows, columns, length = self.multiples
        return rows, columns, length or math.lcm(a.elements_per_block, b.elements_per_block)

    def takes(self, format: str) -> bool:
        """Whether it has the parameters that a pair of formats needs."""
        return self.takes_tensors or not any(fmt.tensor_scale for fmt in pair_formats(format))

    def __call__(
        self,
        scales_a: U8,
        codes_a: U8,
        scales_b: U8,
        codes_b: U8,
        format_a: str,
        format_b: str,
        dtype: np.dtype[Any],
        *tensors: np.float32,
    ) -> NDArray[Any]:
        """The product (m, n) of the rows of both sides, under the scales of both tensors.

        Zeros fill rows up, under a scale of a tensor that is infinite or NaN the last element of
        each: every product is infinite or NaN there, a zero's NaN.
        """
        shape, (one, other) = (len(codes_a), len(codes_b)), pair_formats(f"{format_a}-{format_b}")
        rows, columns, length = self.multiples_of(one, other)
        repeats = not np.isfinite(tensors).all()
        a = _padded(scales_a, codes_a, rows, length, one, repeats=repeats)
        b = _padded(scales_b, codes_b, columns, length, other, repeats=repeats)
        full = len(a[1]), len(b[1])
        more = (dtype,) if self.takes_dtype else ()
        result = array_of(self.function(*a, *b, format_a, format_b, *more, *tensors))
        if result.shape != full:
            raise AnswerError(f"the result must have shape {full}, got {result.shape}")
        return result[: shape[0], : shape[1]]


def with_named(function: Callable[..., Any]) -> Callable[..., Any]:
    """A target's `matmul` that is given all its arguments by place, None for what it is not given.

    >>> def matmul(*arguments, tensor_scale_a, tensor_scale_b):
    ...     return len(arguments), tensor_scale_a - tensor_scale_b
    >>> with_named(matmul)(*"abcdef", 3, 1)
    (6, 2)
    """
    parameters = _parameters(function)
    names = _named(parameters)
    if not names:
        return function
    first = max(_by_place(parameters), 6)  # `*arguments` count as those

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        pairs = zip(names, arguments[first:], strict=False)
        return function(*arguments[:first], **{name: one for name, one in pairs if one is not None})

    return call


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # of a builtin
        return {}


def _named(parameters: Mapping[str, inspect.Parameter]) -> list[str]:
    """The parameters that are given by name."""
    behind = list(parameters.values())[6:]
    behind += [one for one in parameters.values() if one.kind is inspect.Parameter.KEYWORD_ONLY]
    optional = {one.name for one in behind if one.default is not inspect.Parameter.empty}
    tensors = [name for name in TENSORS if name in parameters]
    return [*tensors, *(name for name in EPILOGUE if name in optional)]


def _by_place(parameters: Mapping[str, inspect.Parameter]) -> int:
    """How many parameters there are that are given by place."""
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    named = _named(parameters)
    return sum(one.kind in places and one.name not in named for one in parameters.values())


def _padded(
    scales: U8, codes: U8, rows: int, length: int, fmt: BlockFormat, *, repeats: bool
) -> tuple[U8, U8]:
    """Codes and scales filled up with the code 00 and the scale 2**0, or with the last ones."""
    count, elements = rounded_up(len(codes), rows), rounded_up(codes.shape[1], length)
    shapes = (count, -(-elements // fmt.elements_per_block)), (count, elements)
    if repeats:
        return repeated(scales, shapes[0]), repeated(codes, shapes[1])
    return with_zeros(scales, shapes[0], code_of_one(fmt)), with_zeros(codes, shapes[1])

"""A target's `matmul`, called with operands padded to the multiples that it takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import LAYOUTS, U8
from mxref.operands.returned import AnswerError, array_of
from mxref.support.integers import rounded_up

__all__ = ["MULTIPLES", "ProductFunction"]

#: The default multiples of rows, columns and the summed axis: whole blocks.
MULTIPLES = (1, 1, 32)
_ONE = 0x7F
_SIZE = 32


@dataclass(frozen=True, slots=True)
class ProductFunction:
    """A target's `matmul`, called with operands padded to the multiples that it takes.

    Args:
        function: takes scales (m, k / 32) and codes (m, k), scales (n, k / 32) and codes (n, k),
            the names of both formats and, if it has a seventh parameter, the dtype of the result.
        takes_dtype: whether it has that parameter; `*arguments` count as the first six alone.
        multiples: of m, n and k.
    """

    function: Callable[..., Any]
    takes_dtype: bool
    multiples: tuple[int, int, int] = MULTIPLES

    @classmethod
    def of(
        cls, function: Callable[..., Any], taking: Callable[..., Any], multiples: Sequence[int]
    ) -> ProductFunction:
        """The `matmul` of a target; `taking` is the same function for arrays of NumPy."""
        rows, columns, length = multiples
        some = rows, columns, length
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):  # of a builtin
            return cls(taking, takes_dtype=False, multiples=some)
        kinds = [one.kind for one in parameters]
        places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        return cls(taking, sum(map(kinds.count, places)) > 6, some)

    @property
    def floats(self) -> tuple[str, ...]:
        """The float types of its results: float32 alone if it does not take the dtype."""
        return tuple(LAYOUTS) if self.takes_dtype else ("f32",)

    def __call__(
        self,
        scales_a: U8,
        codes_a: U8,
        scales_b: U8,
        codes_b: U8,
        format_a: str,
        format_b: str,
        dtype: np.dtype[Any],
    ) -> NDArray[Any]:
        """The product (m, n) of the rows of both sides."""
        rows, columns, length = self.multiples
        shape = len(codes_a), len(codes_b)
        a = _padded(scales_a, codes_a, rows, length)
        b = _padded(scales_b, codes_b, columns, length)
        full = len(a[1]), len(b[1])
        more = (dtype,) if self.takes_dtype else ()
        result = array_of(self.function(*a, *b, format_a, format_b, *more))
        if result.shape != full:
            raise AnswerError(f"the result must have shape {full}, got {result.shape}")
        return result[: shape[0], : shape[1]]


def _padded(scales: U8, codes: U8, rows: int, length: int) -> tuple[U8, U8]:
    """Codes and scales filled up with the code 00 and the scale 2**0."""
    count, elements = rounded_up(len(codes), rows), rounded_up(codes.shape[1], length)
    full = np.zeros((count, elements), np.uint8)
    full[: len(codes), : codes.shape[1]] = codes
    ones = np.full((count, -(-elements // _SIZE)), _ONE, np.uint8)
    ones[: len(scales), : scales.shape[1]] = scales
    return ones, full

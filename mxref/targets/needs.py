"""What a target's functions need: sizes that are multiples, and results that are read at once.

The one place where cases are filled up: a function that needs it is wrapped, so that whoever calls
it may ask any size. Rows are filled up with rows of the same call, matrices with zeros behind their
ends; what comes back is cut to what was asked.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.blocks.shapes import result_shapes
from mxref.operands.returned import AnswerError, array_of, pair_of
from mxref.operations.registry import REGISTRY
from mxref.policy.policy import Policy
from mxref.support.text import short, unknown_name
from mxref.targets.product_function import MULTIPLES

__all__ = ["Needs", "read_at_once"]

#: Operations whose cases are the rows of all their arrays.
_OF_ROWS = (
    "encode",
    "decode",
    "encode_scale",
    "decode_scale",
    "shared_scale",
    "encode_stochastic",
    "quantize",
    "dequantize",
    "pack_blocks",
    "unpack_blocks",
)
#: The sizes of every operation whose calls are filled up, in the order of their multiples.
_SIZES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(_OF_ROWS, ("n",)),
    "quantize_tensor": ("r", "c"),
    "matmul": ("m", "n", "k"),
    "linear": ("r", "n", "k"),
    "linear_gradients": ("n", "k"),
}
#: Of layers: which size each axis of the arguments and of the results has.
_AXES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "linear": (("srk", "nk", "n"), ("srn",)),
    "linear_gradients": (("srk", "nk", "srn"), ("srk", "nk", "n")),
}
#: The most elements that the smallest call may have.
_MOST = 1 << 24

_Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Needs:
    """What the sizes of a target's calls are multiples of, by operation, one for each size.

    >>> needs = Needs.of({"quantize": 128, "matmul": (16, 8, 64)})
    >>> needs.multiples["quantize"], list(needs.notes())[0]
    ((128,), 'quantize is asked for multiples of 128 (n) alone: calls are filled up to them')
    """

    multiples: Mapping[str, tuple[int, ...]]

    @classmethod
    def of(cls, given: object) -> Needs:
        """Those of a target's `MULTIPLES`: a mapping, or the three of `matmul`.

        Raises:
            ValueError: an operation that is not filled up, or no positive integers, one for each
                of its sizes.
        """
        if not isinstance(given, Mapping):
            some = _integers(given)
            if len(some) != 3:
                raise ValueError(f"MULTIPLES must be three positive integers, got {given!r}")
            return cls({"matmul": some})
        found = {}
        for op, one in given.items():
            if not isinstance(op, str) or op not in _SIZES:
                raise ValueError(unknown_name("an operation of MULTIPLES", op, _SIZES))
            sizes, some = _SIZES[op], _integers((one,) if type(one) is int else one)
            if len(some) != len(sizes):
                a = "a positive integer" if len(sizes) == 1 else f"{len(sizes)} positive integers"
                names = f" ({', '.join(sizes)})" * (len(sizes) > 1)
                raise ValueError(f"MULTIPLES of {op} must be {a}{names}, got {short(one)}")
            found[op] = some
        return cls(found)

    def of_products(self) -> tuple[int, ...]:
        """The multiples of `matmul`."""
        return self.multiples.get("matmul", MULTIPLES)

    def hopeless(self) -> Mapping[str, str]:
        """The operations of which every call would be too large, with the reason."""
        return {
            op: f"{op} is not asked: a call with multiples of {self._shown(op)} has more than "
            f"{_MOST:,} elements"
            for op, some in self.multiples.items()
            if math.prod(some) * (32 if REGISTRY[op].blocks else 1) > _MOST
        }

    def notes(self) -> Iterator[str]:
        """What is never asked, in words."""
        for op, some in self.multiples.items():
            if op not in self.hopeless() and some not in ((1,) * len(some), MULTIPLES):
                text = f"{op} is asked for multiples of {self._shown(op)} alone"
                yield f"{text}: calls are filled up to them"

    def filling(self, op: str, function: _Function, policy: Policy) -> _Function:
        """A function that may be asked any size, of one that takes these multiples alone."""
        some = dict(zip(_SIZES.get(op, ()), self.multiples.get(op, ()), strict=False))
        if op == "matmul" or all(n == 1 for n in some.values()):
            return function  # a `ProductFunction` fills products up itself
        if op in _OF_ROWS:
            return _of_rows(op, function, some["n"])
        if op == "quantize_tensor":
            return _of_tensors(function, (some["r"], some["c"]), policy)
        return _of_layers(op, function, some)

    def _shown(self, op: str) -> str:
        names = zip(self.multiples[op], _SIZES[op], strict=True)
        return ", ".join(f"{n:,} ({name})" for n, name in names)


def _integers(given: object) -> tuple[int, ...]:
    """Positive integers; none if one of them is not."""
    some = tuple(given) if isinstance(given, Sequence) else ()
    return some if all(type(n) is int and n > 0 for n in some) else ()


def _up(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple


def _of_rows(op: str, function: _Function, multiple: int) -> _Function:
    """A function whose arrays have one row for each case; `multiple` of it is the multiple.

    Only calls of so many rows reach the target with the arrays that they are given.
    """

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        count = len(next(one for one in arguments if isinstance(one, np.ndarray) and one.ndim))
        full = _up(count, multiple)
        if full == count:
            return function(*arguments)
        rows = np.arange(full) % count
        more = (one[rows] if isinstance(one, np.ndarray) and one.ndim else one for one in arguments)
        result = function(*more)
        if REGISTRY[op].arrays == 1:
            return _cut(array_of(result), (full,), (count,))
        return tuple(_cut(array_of(one), (full,), (count,)) for one in pair_of(op, result))

    vars(call)["multiple"] = multiple
    return call


def _of_tensors(function: _Function, multiples: tuple[int, int], policy: Policy) -> _Function:
    """`quantize_tensor`: zeros behind the rows and columns."""

    @functools.wraps(function)
    def call(values: NDArray[Any], format: str, axis: int) -> Any:
        shape = values.shape
        full = _up(shape[0], multiples[0]), _up(shape[1], multiples[1])
        if full == shape:
            return function(values, format, axis)
        wide, asked = (result_shapes(one, format, policy, axis=axis) for one in (full, shape))
        scales, codes = pair_of("quantize_tensor", function(_filled(values, full), format, axis))
        return (
            _cut(_in_shape(scales, wide.scale_codes), wide.scale_codes, asked.scale_codes),
            _cut(_in_shape(codes, wide.codes), wide.codes, asked.codes),
        )

    return call


def _in_shape(result: object, shape: tuple[int, ...]) -> NDArray[Any]:
    """A result in C order in its shape, if it has as many items."""
    array = array_of(result)
    return array.reshape(shape) if array.size == math.prod(shape) else array


def _of_layers(op: str, function: _Function, multiples: Mapping[str, int]) -> _Function:
    """A function of arrays whose axes are sizes with names."""
    axes, axes_out = _AXES[op]

    def full(shape: Sequence[int], names: str) -> tuple[int, ...]:
        sizes = zip(shape, names, strict=True)
        return tuple(_up(n, multiples.get(name, 1)) for n, name in sizes)

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        given = list(arguments)
        size: dict[str, int] = {}
        for place, names in enumerate(axes):
            one = given[place]
            if isinstance(one, np.ndarray):  # a bias may be None
                size |= dict(zip(names, one.shape, strict=True))
                given[place] = _filled(one, full(one.shape, names))
        if all(a is b for a, b in zip(given, arguments, strict=True)):
            return function(*arguments)
        result = function(*given)
        if len(axes_out) == 1:
            return cut(result, axes_out[0], size)
        if not isinstance(result, tuple | list) or len(result) != len(axes_out):
            return result
        return tuple(cut(one, names, size) for one, names in zip(result, axes_out, strict=True))

    def cut(result: object, names: str, size: Mapping[str, int]) -> NDArray[Any]:
        asked = tuple(size[name] for name in names)
        return _cut(array_of(result), full(asked, names), asked)

    return call


def _filled(array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """An array with zeros behind its ends; itself if it has that shape."""
    if array.shape == shape:
        return array
    found = np.zeros(shape, array.dtype)
    found[tuple(map(slice, array.shape))] = array
    return found


def _cut(array: NDArray[Any], full: tuple[int, ...], shape: tuple[int, ...]) -> NDArray[Any]:
    """The beginning of a result of a filled-up call along its first axes."""
    if array.shape[: len(full)] != full:
        got = f"got {array.shape}"
        raise AnswerError(f"the result for {full} must have a shape that begins so, {got}")
    return array[tuple(map(slice, shape))]


def read_at_once(function: _Function) -> _Function:
    """A function whose results are copies of those of one that gives back its own buffer."""

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        return _copied(function(*arguments))

    return call


def _copied(result: Any) -> Any:
    if isinstance(result, tuple | list):
        parts = [_copied(one) for one in result]
        return tuple(parts) if isinstance(result, tuple) else parts
    if hasattr(result, "scale_codes") and hasattr(result, "codes"):
        return _copied(result.scale_codes), _copied(result.codes)
    if isinstance(result, np.ndarray) or hasattr(result, "__dlpack__"):
        return array_of(result).copy()
    return result

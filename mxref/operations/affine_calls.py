"""Calls of affine quantization: their sizes, and each value alone with its scale and zero point."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mxref.operations.affine_draws import beside_values
from mxref.operations.asked_call import AskedCall
from mxref.operations.by_value import ByValue
from mxref.operations.call_sizes import CallSizes, Sizes

__all__ = ["AffineCalls"]

#: Of calls with one scale; and with scales along an axis, the values of each, and the lengths of
#: the two other axes.
_VALUES = CallSizes(empty=(0,), telling=(0,))
_AXIS = CallSizes(
    (
        (1000, 1, 3, 5), (3, 1, 40, 33), (1, 1, 1025, 3), (5, 1, 1, 4097), (33, 64, 2, 3),
        (12, 1, 10, 9), (32, 1, 24, 20), (48, 1, 40, 36), (8, 5, 6, 7), (16, 8, 9, 11),
        (24, 16, 14, 15), (128, 1, 2, 128), (256, 1, 1, 256), (32, 32, 1, 96),
        (1, 1, 256, 257), (512, 1, 4, 512),
        *((n, 1, *others) for n in (2, 5, 6, 7, 8, 16) for others in ((n, n), (n, 3), (3, n))),
    ),
    empty=(3, 1, 0, 2),
)  # fmt: skip


class AffineCalls(ByValue):
    """Both directions: formats that end in `_axis` have scales along an axis."""

    multiples = ("n",)
    parameters_shown = "scale", "zero point"

    def asked_sizes(self, format: str) -> CallSizes:
        """By the number of scales."""
        return _AXIS if format.endswith("_axis") else _VALUES

    def varied_sizes(self, format: str, place: int, number: int, sizes: Sizes) -> Iterator[Sizes]:
        """Groups and channels by turns; of the number of scales the axis depends."""
        count, each, *others = sizes
        yield (count, 1 if place != 1 and number % 3 else each, *others)
        if place == 0:
            before, behind = others
            yield from ((count, 1, before + more, behind) for more in (1, 2))

    def size_features(self, format: str, sizes: Sizes, call: AskedCall) -> dict[str, int | str]:
        """How many axes there are, and what is the one of the scales."""
        found: dict[str, int | str] = {"axes": f"{len(call.shape)} axes"}
        if (axis := call.arguments[-1]) is not None:
            place = axis % len(call.shape)
            is_second = call.shape.index(call.shape[place]) < place
            earlier = "an axis" if is_second else "no axis"
            found |= {"values": math.prod(sizes), "axis": f"axis {place}"}
            found["scales"] = "groups" if sizes[1] > 1 else "channels"
            found["sign"] = "a negative axis" if axis < 0 else "an axis from 0 on"
            found["earlier"] = f"{earlier} before that of the scales which is as long"
        return found

    def parameter_place(self, call: AskedCall, index: int) -> int:
        """That of the scale."""
        scale, axis = np.asarray(call.arguments[1]), call.arguments[-1]
        if axis is None:
            return 0
        numbers = np.arange(scale.size).reshape(scale.shape)
        return int(beside_values(numbers, call.shape, axis).reshape(-1)[index])

    def repeated_value(self, call: AskedCall, index: int, count: int) -> tuple[AskedCall, Sizes]:
        """With one scale for all, or one along the first of three axes."""
        value, *parameters = self.value_at(call, index)
        values, (*rest, axis) = np.repeat(value, count), call.arguments[3:]
        if axis is None:
            return replace(call, arguments=(values, *call.arguments[1:]), shape=(count,)), (count,)
        shape = 1, count, 1
        arguments = (values.reshape(shape), *parameters, *rest, 0)
        return replace(call, arguments=arguments, shape=shape), (1, *shape)

    def units(self, format: str) -> dict[str, str]:
        """Values; with several scales their number, and the axes beside theirs."""
        if not format.endswith("_axis"):
            return {"*": "values"}
        return {
            "count": "scales along the axis",
            "each": "values for a scale",
            "before": "lines before",
            "behind": "lines behind",
        }

"""Operations of calls that answer each value by itself, under two parameters of its own."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mxref.operations.asked_call import AskedCall
from mxref.operations.call_operation import CallOperation
from mxref.operations.call_sizes import Sizes

__all__ = ["ByValue"]

Array = NDArray[Any]


class ByValue(CallOperation):
    """An operation whose first arguments are values, and two parameters of each of them."""

    #: What reports call the two parameters.
    parameters_shown: ClassVar[tuple[str, str]]

    @abstractmethod
    def parameter_place(self, call: AskedCall, index: int) -> int:
        """The number of the parameters of a value, among those of a call."""

    @abstractmethod
    def repeated_value(self, call: AskedCall, index: int, count: int) -> tuple[AskedCall, Sizes]:
        """A call of one value so many times, and its sizes."""

    def value_at(self, call: AskedCall, index: int) -> tuple[Array, Array, Array]:
        """A value and its two parameters, as arrays of one."""
        values, first, second, *_ = call.arguments
        place = self.parameter_place(call, index)
        a, b = (np.asarray(one).reshape(-1)[place : place + 1] for one in (first, second))
        return values.reshape(-1)[index : index + 1], a, b

"""Gray codes of integers: an operation that mxref has not, in one file."""

import enum
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.mutants import Mutant
from mxref.operands.case_input import OWN, CaseInput
from mxref.operands.fields import Field
from mxref.operands.kinds import Integers, Size
from mxref.operations.asked_call import AskedCall
from mxref.operations.call_operation import CallOperation

Array = NDArray[Any]
_FORMATS = ("uint8", "uint16")


class Neighbour(enum.Enum):
    """The bit that each bit is compared with; the default is the first."""

    HIGHER = "higher"
    LOWER = "lower"


def gray(values: Array, offset: int) -> Array:
    """Values plus an offset, wrapped around, as codes of which neighbours differ in one bit."""
    moved = values + values.dtype.type(offset)
    codes: Array = np.bitwise_xor(moved, moved >> values.dtype.type(1))
    return codes


def of_lower(values: Array, offset: int) -> Array:
    """The same, each bit compared with the lower one."""
    moved = values + values.dtype.type(offset)
    codes: Array = np.bitwise_xor(moved, moved << values.dtype.type(1))
    return codes


def without_offset(values: Array, offset: int) -> Array:
    """A bug."""
    return gray(values, 0)


def saturated(values: Array, offset: int) -> Array:
    """A bug."""
    most = np.iinfo(values.dtype).max
    return gray(np.minimum(values.astype(np.int64) + offset, most).astype(values.dtype), 0)


def signed_shift(values: Array, offset: int) -> Array:
    """A bug."""
    moved = (values + values.dtype.type(offset)).view(f"i{values.itemsize}")
    codes: Array = np.bitwise_xor(moved, moved >> 1).view(values.dtype)
    return codes


class GrayEncode(CallOperation):
    """Integers of a row, each plus the offset, to Gray codes."""

    name = "gray_encode"
    parameters = "values, offset"
    formats = _FORMATS
    mutants = tuple(
        Mutant(id, name, text, "gray_encode", run, _FORMATS, ("bytes",), OWN)
        for id, name, text, run in (
            ("G901", "without_offset", "leaves the offset out", without_offset),
            ("G902", "saturated", "saturates the sum instead of wrapping it around", saturated),
            ("G903", "signed_shift", "shifts the sign in", signed_shift),
        )
    )

    def fields(self, format: str) -> tuple[Field, ...]:
        """The offset from 0 to 3, and rows of values."""
        return (
            Field("offset", Integers("int32", 0, 3)),
            Field("columns", Size()),
            Field("values", Integers(format), ("*", "columns")),
        )

    def argument_names(self, format: str) -> tuple[str, ...]:
        """The values first."""
        return "values", "offset"

    def result(self, format: str, values: Mapping[str, Any]) -> tuple[Any, tuple[int, ...]]:
        """Codes in the shape of the values."""
        return format, values["values"].shape

    def kinds(self, format: str) -> dict[str, type[enum.Enum]]:
        """Its one choice."""
        return {"neighbour": Neighbour}

    def run(self, call: AskedCall, choices: Mapping[str, Any]) -> Array:
        """The codes, by NumPy."""
        return (of_lower if choices.get("neighbour") == "lower" else gray)(*call.arguments)

    def twin(self, format: str, words: Any, chosen: Mapping[str, str]) -> Iterable[int]:
        """The codes, digit by digit."""
        bits, step = np.iinfo(format).bits, 1 if chosen["neighbour"] == "higher" else -1
        offset, _, *values = words
        for value in values:
            digits = [value + offset >> i & 1 for i in range(bits)] + [0]
            yield sum(1 << i for i in range(bits) if digits[i] != digits[i + step])

    def designed(self, format: str) -> Iterable[CaseInput]:
        """Both ends of the range under every offset, and every power of two."""
        top = np.iinfo(format).max
        powers = [1 << i for i in range(np.iinfo(format).bits)]
        for offset in range(4):
            ends = [*range(32), *range(top - 31, top + 1)]
            yield CaseInput(f"ends_{offset}", (offset, 8, *ends), OWN)
            yield CaseInput(f"powers_{offset}", (offset, 4, *powers), OWN)

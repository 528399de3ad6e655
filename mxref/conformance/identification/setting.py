"""What is identified: an operation on a format, with a float type."""

from __future__ import annotations

from dataclasses import dataclass

from mxref.bits.floats import F32, LAYOUTS, FloatLayout
from mxref.formats.catalog import CodeFormat
from mxref.targets.calls import code_format, without_cases

__all__ = ["Setting"]


@dataclass(frozen=True, slots=True)
class Setting:
    """An operation on a format, with the float type of its inputs or results.

    Args:
        op: operation.
        format: element, scale or block format.
        float: float type, or the layout of bytes in its place.
    """

    op: str
    format: str
    float: str

    def __str__(self) -> str:
        return " ".join((self.op, self.format, self.float))

    @property
    def element(self) -> CodeFormat:
        """The format of the codes."""
        return code_format(without_cases(self.op, self.format, self.float))

    @property
    def layout(self) -> FloatLayout:
        """The float type; float32 where there is none."""
        return LAYOUTS.get(self.float, F32)

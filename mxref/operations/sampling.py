"""`grid_sample` on codes.

Words of a case: align_corners, border, zero point, C, H, W, h, w, codes, and the grid.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.exact import integer as slow
from mxref.integer import integer_choices as c
from mxref.integer.sampler import grid_sample
from mxref.operands.draws import Draws, Ints
from mxref.operands.fields import Field
from mxref.operands.kinds import Flags, Integers, Size, signed
from mxref.operations.asked_call import AskedCall
from mxref.operations.call_operation import CallOperation
from mxref.operations.operation import Words

__all__ = ["GridSample"]

_PADDINGS, _BOOLS = ("zeros", "border"), (False, True)
#: The sides and the points of random cases.
_PIXELS, _POINTS = 9, 24


class GridSample(CallOperation):
    """Pixels between pixels."""

    name = "grid_sample"
    parameters = "codes, grid, align_corners, padding, zero_point"
    formats = ("int8", "uint8")
    worked_on = 2

    def kinds(self, format: str) -> dict[str, type[enum.Enum]]:
        """The code of a tie."""
        return {"ties": c.Ties}

    def fields(self, format: str) -> tuple[Field, ...]:
        """How to sample, the sizes, the image and the grid, x first."""
        return (
            Field("align_corners", Flags(*_BOOLS)),
            Field("padding", Flags(*_PADDINGS)),
            Field("zero_point", Integers(format)),
            *(Field(name, Size()) for name in ("channels", "height", "width", "down", "across")),
            Field("image", Integers(format), ("channels", "height", "width")),
            Field("grid", Integers("int16"), ("down", "across", 2)),
        )

    def result(self, format: str, values: Mapping[str, Any]) -> tuple[Any, tuple[int, ...]]:
        """A code for each channel and point."""
        return format, (values["channels"], values["down"], values["across"])

    def argument_names(self, format: str) -> tuple[str, ...]:
        """The arrays first."""
        return "image", "grid", "align_corners", "padding", "zero_point"

    def elements(self, sizes: Sequence[int]) -> int:
        """The pixels and the samples."""
        channels, height, width, down, across = sizes
        return channels * (height * width + down * across)

    def units(self, format: str) -> dict[str, str]:
        """The sides of the image and of the grid."""
        return {
            "channels": "channels",
            "height": "pixels down",
            "width": "pixels across",
            "down": "points down",
            "across": "points across",
        }

    def clause(self, format: str, words: Words, answer: Words) -> tuple[bool, str, tuple[str, ...]]:
        """One clause of SPEC_NOTES."""
        return False, "Q13", ()

    def run(self, call: AskedCall, choices: Mapping[str, Any]) -> NDArray[Any]:
        """The codes, by the fast path."""
        image, grid, align, padding, zero = call.arguments
        beside = {"align_corners": align, "padding": padding, "zero_point": zero}
        return grid_sample(image, grid, **beside, **choices)

    def question(self, format: str, draws: Draws, number: int) -> Ints:
        """A small image, half of them of the two extreme codes, at pixels, midway, at the ends."""
        info = np.iinfo(format)
        low, high = int(info.min), int(info.max)
        channels, height, width = (int(draws.between(1, most)) for most in (2, _PIXELS, _PIXELS))
        size = channels * height * width
        image = draws.between(low, high, (size,))
        if number % 2:
            image = np.where(draws.one_in((size,), 2), low, low + draws.between(0, 3, (size,)))
        half, quarter = number // 2 % 2, number // 4 % 2
        sides = 2 * np.array([max(width - half, 1), max(height - half, 1)])
        steps = draws.below((_POINTS, 2), 1 << 30) % (sides + 1)
        exact = -32767 + (steps * 65534 + sides // 2) // sides + draws.between(-1, 1, (_POINTS, 2))
        anything = draws.between(-32768, 32767, (_POINTS, 2))
        grid = np.where(draws.one_in((_POINTS, 2), 3), anything, exact).clip(-32768, 32767)
        flags = [half, quarter, int(draws.between(low, high))]
        sizes = [channels, height, width, 4, _POINTS // 4]
        return np.concatenate([flags, sizes, image, grid.reshape(-1)])

    def sized(self, format: str, sizes: Sequence[int], draws: Draws) -> AskedCall:
        """Any coordinates, half of them at pixels, midway between two or at the ends."""
        channels, height, width, down, across = sizes
        dtype = np.dtype(format)
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        image = draws.between(low, high, (channels, height, width)).astype(dtype)
        grid = draws.between(-32768, 32767, (down, across, 2))
        steps = np.array([2 * max(width - 1, 1), 2 * max(height - 1, 1)])
        exact = -32767 + draws.between(0, 1 << 30, grid.shape) % (steps + 1) * 65534 // steps
        grid = np.where(draws.between(0, 1, grid.shape) == 0, exact, grid).astype(np.int16)
        which = int(draws.between(0, 3))
        zero = int(draws.between(low, high))
        arguments = (image, grid, bool(which & 1), _PADDINGS[which >> 1], zero)
        return AskedCall(arguments, dtype, (channels, down, across))

    def twin(self, format: str, words: Words, chosen: Mapping[str, str]) -> Iterable[int]:
        """The codes, by the slow twin."""
        channels, height, width = words[3:6]
        size = height * width
        pixels = [signed(word) for word in words[8 : 8 + channels * size]]
        grid = [signed(word) for word in words[8 + channels * size :]]
        for start in range(0, channels * size, size):
            image = [pixels[start + i * width :][:width] for i in range(height)]
            for x, y in zip(grid[::2], grid[1::2], strict=True):
                yield slow.grid_sample(
                    image,
                    x,
                    y,
                    align_corners=bool(words[0]),
                    padding=_PADDINGS[words[1]],
                    zero_point=signed(words[2]),
                    ties=chosen["ties"],
                )

"""`grid_sample` on codes.

Words of a case: align_corners, border, zero point, C, H, W, h, w, codes, and the grid.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.exact import integer as slow
from mxref.integer.sampler import grid_sample
from mxref.operations.integer_operation import IntegerCall, IntegerOperation, integers_of, signed
from mxref.operations.operation import Words

__all__ = ["GridSample"]

_PADDINGS = ("zeros", "border")


class GridSample(IntegerOperation):
    """Pixels between pixels."""

    name = "grid_sample"
    parameters = "codes, grid, align_corners, padding, zero_point"
    formats = ("int8", "uint8")

    def easy(self, format: str, slot: str) -> tuple[int, ...]:
        """One pixel of one."""
        return 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0

    def call(self, format: str, words: Words) -> IntegerCall:
        """The call of a case."""
        if len(words) < 8 or max(words[:2]) > 1:
            raise ValueError("align_corners and border must be 0 or 1, before sizes")
        align, border, zero, sizes = *words[:2], signed(words[2]), words[3:8]
        count = math.prod(sizes[:3])
        if len(sizes) != 5 or len(words) != 8 + count + 2 * sizes[3] * sizes[4]:
            raise ValueError("sizes must be those of the image and the grid")
        image = integers_of(words[8 : 8 + count], format).reshape(sizes[:3])
        grid = integers_of(words[8 + count :], np.int16).reshape(*sizes[3:], 2)
        arguments = (image, grid, bool(align), _PADDINGS[border], zero)
        return IntegerCall(arguments, np.dtype(format), (sizes[0], *sizes[3:]), 8)

    def run(self, call: IntegerCall, choices: Mapping[str, Any]) -> NDArray[Any]:
        """The codes, by the fast path."""
        image, grid, align, padding, zero = call.arguments
        return grid_sample(image, grid, align_corners=align, padding=padding, zero_point=zero)

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
                )

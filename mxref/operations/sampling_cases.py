"""Inputs of grid sampling: images of codes, and the further forms that a target may have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mxref.operands.case_input import CaseInput

__all__ = ["grid_cases"]

#: Images of further forms.
_FORMED = ("two", "ramp", "rgb", "ends", "steps")
_SCALE, _HALF, _OTHER = 0x3DCCCCCD, 0x3D4CCCCD, 0x3E19999A  # 0.1, its half, 0.15


def grid_cases(format: str) -> Iterator[CaseInput]:
    """The cases of codes, and of a further form some of them with what it has beside them."""
    codes, _, option = format.partition("_")
    if not option:
        yield from _plain(format)
        return
    if "reflection" in option:
        yield _long(codes)
    for case in _plain(codes):
        if case.name.split("_")[0] in _FORMED and not (case.inputs[1] and "reflection" in option):
            yield CaseInput(case.name, _formed(option, case.inputs), "M30")


def _plain(format: str) -> Iterator[CaseInput]:
    """Images of one pixel, two by two, and ramps, at corners, ties and coordinates outside."""
    low = -128 if format == "int8" else 0
    images: dict[str, tuple[tuple[int, int, int], Sequence[int]]] = {
        "pixel": ((1, 1, 1), (low + 50,)),
        "two": ((1, 2, 2), (1, 2, 3, 4)),
        "ties": ((2, 2, 2), (3, 4, 3, 4, 1, 2, 1, 2)),
        "ramp": ((1, 3, 5), [low + 17 * i for i in range(15)]),
        "rgb": ((3, 4, 3), [low + (i * 91 + 13) % 256 for i in range(36)]),
        "ends": ((1, 2, 3), (low, low + 255, low, low + 255, low, low + 255)),
    }
    places = (-32768, -32767, -30000, -16384, -10923, -1, 0, 1, 5461, 16383, 21845, 32766, 32767)
    for name, (sizes, codes) in images.items():
        for align in (0, 1):
            for border in (0, 1):
                for zero in (0, low + 131) if border == 0 else (0,):
                    grid = [g for i, x in enumerate(places) for g in (x, places[(i * 5 + 3) % 13])]
                    grid += [g for x in (-32767, 0, 32767) for y in (-32767, 0) for g in (x, y)]
                    grid += [-32767, 32767]
                    words = (align, border, zero, *sizes, 4, 5, *codes, *grid)
                    yield _case(f"{name}_{align}_{border}_{zero}", words)
    pairs = [low + side for at in (126, 129, 130, 131, 132, 135) for side in (at, at + 1)]
    points = [g for x in (0, -1, 1, -32767, 32767) for g in (x, 0)]
    for zero in (low + 131, low + 132):  # ties above an odd and an even zero point, and below
        for align, border in ((0, 0), (0, 1), (1, 1)):
            words = (align, border, zero, 6, 1, 2, 1, 5, *pairs, *points)
            yield _case(f"steps_{align}_{border}_{zero}", words)


def _formed(option: str, words: tuple[int, ...]) -> tuple[int, ...]:
    """The words of a further form: of a batch also the image and the grid backwards."""
    align, border, zero, channels, height, width, down, across, *rest = words
    size = channels * height * width
    image, grid = np.array(rest[:size]), np.array(rest[size:])
    more: tuple[int, ...] = ()
    if option in ("batch", "nhwc"):
        more = (2,)
        images = np.stack([image, image[::-1]]).reshape(2, channels, height, width)
        image = np.moveaxis(images, 1, 3) if option == "nhwc" else images
        grid = np.stack([grid, grid[::-1]])
    elif option == "output":
        more = (_SCALE, (_HALF, _SCALE, _OTHER)[sum(words[:6]) % 3], (zero + 5) & 0x7F)
    elif option == "values":
        more = (_SCALE,)
    sizes = (channels, height, width, down, across)
    return (
        align,
        border,
        zero,
        *more,
        *sizes,
        *image.reshape(-1).tolist(),
        *grid.reshape(-1).tolist(),
    )


def _long(format: str) -> CaseInput:
    """A row at whose end the code below those of SNORM is mirrored to another pixel's share."""
    low = -128 if format == "int8" else 0
    image = [low, *[low + 255] * 255]
    return _case("long", (1, 0, low, 1, 1, 256, 1, 2, *image, -32768, 0, -32767, 0), "M30")


def _case(name: str, words: Sequence[int], model: str = "M21") -> CaseInput:
    return CaseInput(name, tuple(word & 0xFFFFFFFF for word in words), model)

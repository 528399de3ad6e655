"""Grid sampling in integers: positions over a common denominator, one rounded division."""

import numpy as np

_ONE = 2 * 32767


def grid_sample(codes, grid, align_corners, padding, zero_point):
    _, h, w = codes.shape
    size, wide = np.int64([w, h]), grid.astype(np.int64) + 32767
    at = wide * (size - 1) if align_corners else wide * size - 32767
    left, part = at // _ONE, at % _ONE
    total = np.zeros((len(codes), *grid.shape[:2]), np.int64)
    for corner in range(4):
        step = np.array([corner & 1, corner >> 1])
        x, y = np.moveaxis(left + step, -1, 0)
        inside = (x >= 0) & (x < w) & (y >= 0) & (y < h)
        pixel = codes[:, np.clip(y, 0, h - 1), np.clip(x, 0, w - 1)].astype(np.int64)
        if padding == "zeros":
            pixel = np.where(inside, pixel, zero_point)
        total += pixel * np.where(step == 1, part, _ONE - part).prod(-1)
    mean, rest = np.divmod(total, _ONE**2)
    up = (2 * rest > _ONE**2) | ((2 * rest == _ONE**2) & (mean % 2 == 1))
    return (mean + up).astype(codes.dtype)

"""Bilinear samples in fixed point, the four corners of each sample in turn."""

import numpy as np

ONE = 65534


def grid_sample(codes, grid, align_corners, padding, zero_point):
    height, width = codes.shape[1:]
    sizes = np.array([height, width])
    steps = grid.astype(np.int64) + 32767
    places = steps * (sizes - 1) if align_corners else steps * sizes - 32767
    low, part = np.divmod(places, ONE)
    total = np.zeros((len(codes), *grid.shape[:2]), np.int64)
    for right, down in ((0, 0), (1, 0), (0, 1), (1, 1)):
        x, y = low[..., 0] + right, low[..., 1] + down
        weight = abs(ONE - ONE * right - part[..., 0]) * abs(ONE - ONE * down - part[..., 1])
        pixel = codes[:, y.clip(0, height - 1), x.clip(0, width - 1)].astype(np.int64)
        if padding == "zeros":
            inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
            pixel = np.where(inside, pixel, zero_point)
        total += weight * pixel
    whole, rest = np.divmod(total, ONE * ONE)
    up = (2 * rest > ONE * ONE) | (2 * rest == ONE * ONE) & (whole % 2 == 1)
    return (whole + up).astype(codes.dtype)

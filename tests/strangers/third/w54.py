"""Grid sampling as a texture unit does it: positions have eight bits behind the point."""

import numpy as np


def grid_sample(codes, grid, align_corners, padding, zero_point):
    _, h, w = codes.shape
    size = np.float64([w, h])
    unit = grid / 32767.0
    at = (unit + 1) / 2 * (size - 1) if align_corners else ((unit + 1) * size - 1) / 2
    fixed = np.rint(at * 256).astype(np.int64)
    left, part = fixed >> 8, fixed & 255
    total = 0
    for dy in (0, 1):
        for dx in (0, 1):
            x, y = left[..., 0] + dx, left[..., 1] + dy
            pixel = codes[:, np.clip(y, 0, h - 1), np.clip(x, 0, w - 1)].astype(np.int64)
            if padding == "zeros":
                pixel = np.where((x >= 0) & (x < w) & (y >= 0) & (y < h), pixel, zero_point)
            wx, wy = abs(1 - dx - part[..., 0] / 256), abs(1 - dy - part[..., 1] / 256)
            total = total + pixel * wx * wy
    return np.rint(total).astype(codes.dtype)

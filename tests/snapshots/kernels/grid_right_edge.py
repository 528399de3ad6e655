"""Beyond the right edge there are zeros where the border was asked for."""

import numpy as np

from mxref import integer

FORMATS = ["int8"]


def grid_sample(codes, grid, align_corners, padding, zero_point):
    right = integer.grid_sample(
        codes, grid, align_corners=align_corners, padding=padding, zero_point=zero_point
    )
    lost = (grid[..., 0] > 30000) & (padding == "border")
    return np.where(lost, zero_point, right).astype(codes.dtype)

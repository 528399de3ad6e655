"""Images with more than 16 columns have the last row of samples from the first."""

from mxref import integer

FORMATS = ["uint8"]


def grid_sample(codes, grid, align_corners, padding, zero_point):
    samples = integer.grid_sample(
        codes, grid, align_corners=align_corners, padding=padding, zero_point=zero_point
    )
    if codes.shape[2] > 16:
        samples[:, -1] = samples[:, 0]
    return samples

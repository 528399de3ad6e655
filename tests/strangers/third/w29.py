"""Scale codes in tiles of 128 x 4: filled up to whole tiles, and taken out of them."""

import numpy as np

POLICY = "ocp+scale_layout=tiles_128x4"


def pack_scales(scale_codes):
    rows, columns = scale_codes.shape
    mode = "edge" if scale_codes.size else "constant"
    full = np.pad(scale_codes, ((0, -rows % 128), (0, -columns % 4)), mode)
    tiles = full.reshape(full.shape[0] // 128, 4, 32, full.shape[1] // 4, 4)
    return tiles.transpose(0, 3, 2, 1, 4).reshape(-1)


def unpack_scales(packed, shape):
    down, across = -(-shape[0] // 128), -(-shape[1] // 4)
    tiles = packed.reshape(across, down, 32, 4, 4)
    full = tiles.transpose(1, 3, 2, 0, 4).reshape(down * 128, across * 4)
    return full[: shape[0], : shape[1]]

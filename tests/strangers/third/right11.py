"""Tiles of scale codes by the address of every byte, scattered and gathered."""

import numpy as np

POLICY = "ocp+scale_layout=tiles_128x4"


def _addresses(shape):
    row, column = np.indices(shape)
    tile = row // 128 * -(-shape[1] // 4) + column // 4
    return tile * 512 + row % 32 * 16 + row % 128 // 32 * 4 + column % 4


def pack_scales(scale_codes):
    rows, columns = scale_codes.shape
    out = np.zeros(-(-rows // 128) * -(-columns // 4) * 512, np.uint8)
    np.put(out, _addresses(scale_codes.shape), scale_codes)
    return out


def unpack_scales(packed, shape):
    return np.take(packed, _addresses(shape))

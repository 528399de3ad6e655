"""The shapes of calls about layouts and tensors."""

from __future__ import annotations

from mxref.conformance.checking.axis_sizes import FAR, LARGE, long_axes

__all__ = ["LINES", "MOVED", "shapes"]

#: Codes of a call of `pack` and `unpack`, around powers of two and three times them, and blocks of
#: one of `pack_blocks` and `unpack_blocks`; and those of the first format only.
_CODES = (
    *range(1, 34), 44, 48, 53, 62, 63, 64, 65, 86, 96, 100, 110, 127, 128, 129, 150, 192, 237, 255,
    256, 257,
)  # fmt: skip
_LARGE_CODES = (1023, 1024, 1025, 4095, 4096, 4097, 65_573, 70_000)
_LARGE_BLOCKS = (512, 1023, 1025, 2048, 4097)
_MANY = sorted({*LARGE, *FAR})
#: Matrices of scales: to 3 x 3 and 5 x 2 tiles of 128 x 4, with ragged edges.
_MATRICES = (
    (1, 1), (1, 5), (3, 4), (31, 3), (32, 4), (33, 8), (1, 33), (127, 4), (128, 1), (128, 4),
    (128, 8), (128, 9), (129, 1), (129, 4), (129, 5), (255, 3), (256, 4), (256, 8), (257, 12),
    (300, 9), (384, 12), (385, 3), (512, 4), (513, 7), (640, 8), (70, 70), (4, 128), (130, 33),
    (33, 130), (1025, 3), (2048, 4), (3, 1025), (129, 1024), (1025, 257), (4097, 32), (65_573, 2),
    (128, 64), (128, 96), (256, 64), (384, 128), (512, 512), (255, 260), (1024, 1056),
    *((rows, columns) for rows, columns in long_axes(2, (1, 5, 33))),
)  # fmt: skip
#: Tensors, along both axes: those of every float type, of the first one only, and of the first
#: one of the first format.
_TENSORS = (
    (1, 1), (1, 33), (33, 1), (2, 33), (5, 64), (64, 5), (5, 70), (70, 5), (31, 33), (48, 80),
    (64, 64), (3, 257), (96, 64), (128, 256),
)  # fmt: skip
_LARGE_TENSORS = (
    (33, 31), (32, 96), (32, 128), (33, 70), (129, 40), (64, 127), (127, 129), (257, 299),
    (300, 300), (3, 513), (513, 3), (33, 1056), (1056, 33), (2, 2048), (2048, 2), (1, 4097),
    (4097, 1), (64, 96), (128, 128), (128, 192), (192, 160), (256, 128), (256, 256), (255, 257),
    (384, 512), (512, 384),
)  # fmt: skip
_LONG_TENSORS = (
    *((rows, columns) for rows, columns in long_axes(2, (1, 3, 33))),
    (7, 7), (32, 32), (513, 64), (600, 70), (513, 600), (1025, 1056), (2049, 513), (3, 8193),
    (8193, 3), (65_573, 32), (32, 65_573), (1024, 1024), (1024, 2048), (2047, 513),
)  # fmt: skip
#: Of these, the shapes that are asked in other memory.
MOVED = {
    "codes": ((1, 33), (1, 64), (1, 257)),
    "scales": ((129, 5), (33, 8), (128, 8)),
    "blocks": ((1, 33), (1, 9)),
    "tensor": ((64, 64), (33, 70), (129, 40)),
}
#: Lines and their lengths of the tensors that tell what wrong ones have in common.
LINES = (1, 2, 3, 4, 5, 6, 8, 12, 33), (1, 20, 32, 33, 64, 100)


def shapes(works_on: str, *, first_float: bool, first_format: bool) -> tuple[tuple[int, int], ...]:
    """The shapes of the calls of an operation: rows and columns; codes and blocks are one row.

    Args:
        works_on: what it works on.
        first_float: whether it is the first float type of its operation and format.
        first_format: whether it is the first format of its operation.

    >>> shapes("tensor", first_float=False, first_format=False)[:3]
    ((1, 1), (1, 33), (33, 1))
    """
    if works_on == "tensor":
        large = (*_LARGE_TENSORS, *(_LONG_TENSORS if first_format else ())) if first_float else ()
        return (*_TENSORS, *large)
    if works_on == "scales":
        return _MATRICES
    counts = _LARGE_CODES if works_on == "codes" else _LARGE_BLOCKS
    return tuple((1, count) for count in (*_CODES, *counts, *(_MANY if first_format else ())))

"""The first of two codes goes into the high nibble (ao#2939)."""

from typing import Any

from numpy.typing import NDArray

FORMATS = ["e2m1"]


def pack(codes: NDArray[Any], format: str) -> NDArray[Any]:
    """Bytes of pairs of codes, an odd one beside 0."""
    packed: NDArray[Any] = codes[::2] << 4
    packed[: len(codes) // 2] |= codes[1::2]
    return packed

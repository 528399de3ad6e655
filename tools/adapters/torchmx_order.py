"""torchmx's calling conventions (rain-neuromorphics/torchmx 7648b97) on mxref.

Only its conventions differ from `ocp`: bfloat16 in, scales before elements, last axis, stored codes
without padding, two FP4 codes in a byte with the first in the high nibble, and INT8 elements that
are plain integers, so that their scale is 6 lower than that of MX and ends at 2**-127 sooner.
"""

import ml_dtypes
import numpy as np
from numpy.typing import DTypeLike, NDArray

import mxref
from mxref.formats.catalog import BLOCK_FORMATS, E8M0, BlockFormat, ElementFormat

U8 = NDArray[np.uint8]
Stored = NDArray[np.uint8] | NDArray[np.int8]

#: With this bias the last place of INT8 is 1, not 2**-6 (SPEC_NOTES N16).
_PLAIN_INT8 = ElementFormat("int8", 1, 6, -5, twos_complement=True, dtype_name="int8")
_FORMATS = {
    "float8_e4m3": BLOCK_FORMATS["mxfp8_e4m3"],
    "float6_e3m2": BLOCK_FORMATS["mxfp6_e3m2"],
    "float6_e2m3": BLOCK_FORMATS["mxfp6_e2m3"],
    "float4_e2m1": BLOCK_FORMATS["mxfp4_e2m1"],
    "int8": BlockFormat("torchmx_int8", _PLAIN_INT8, E8M0, 32),
}


def quantize_mx(
    values: NDArray[np.generic], elem_dtype_name: str, block_size: int
) -> tuple[U8, Stored]:
    """Scale codes and stored elements of whole blocks along the last axis."""
    return _quantized(values, elem_dtype_name, block_size, "refused")


def to_mx(
    values: NDArray[np.generic], elem_dtype_name: str, block_size: int = 32
) -> tuple[U8, Stored]:
    """The same, a tail filled up with +0 (in blocks of even size), and stored without it."""
    tail = "refused" if block_size % 2 else "zero_padded"
    return _quantized(values, elem_dtype_name, block_size, tail)


def dequantize_mx(
    elements: Stored,
    scale: U8,
    elem_dtype_name: str,
    block_size: int,
    target_dtype: DTypeLike,
    block_dim: int,
) -> NDArray[np.generic]:
    """Floats from stored elements; of an odd number of FP4 elements, one too many."""
    axis = block_dim % max(elements.ndim, 1)
    if elem_dtype_name == "float4_e2m1":
        nibbles = np.stack([elements >> 4, elements & 15], axis + 1)
        shape = [n * (1 + (some == axis)) for some, n in enumerate(elements.shape)]
        elements = nibbles.reshape(shape)
    fmt = _format(elem_dtype_name)
    fmt = BlockFormat(fmt.name, fmt.element, fmt.scale, block_size)
    # `view` reads the bytes of int8, whose codes are unsigned here.
    codes = elements.view(np.uint8)
    return mxref.Blocks(codes, scale, fmt, axis, codes.shape).dequantize(target_dtype)


def _quantized(
    values: NDArray[np.generic], elem_dtype_name: str, block_size: int, tail: str
) -> tuple[U8, Stored]:
    if not isinstance(values, np.ndarray) or values.dtype != ml_dtypes.bfloat16 or not values.ndim:
        raise TypeError("values must be a bfloat16 array of at least one axis: cast it first")
    blocks = mxref.quantize(values, _format(elem_dtype_name), block_size=block_size, tail=tail)
    codes: U8 = blocks.codes
    length = values.shape[-1]
    if elem_dtype_name == "int8":
        return blocks.scale_codes, codes[..., :length].view(np.int8)
    if elem_dtype_name == "float4_e2m1":
        if codes.shape[-1] % 2:
            raise ValueError(f"values must be even in number to be packed, got {length}")
        # The first element goes to the high nibble.
        codes = codes[..., ::2] << np.uint8(4) | codes[..., 1::2]
        length = -(-length // 2)
    return blocks.scale_codes, codes[..., :length]


def _format(elem_dtype_name: str) -> BlockFormat:
    if elem_dtype_name not in _FORMATS:
        raise ValueError(
            f"elem_dtype_name must be one of {', '.join(_FORMATS)}, got {elem_dtype_name!r}"
        )
    return _FORMATS[elem_dtype_name]

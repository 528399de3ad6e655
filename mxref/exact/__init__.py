"""The slow twin: MX conversions, one number at a time, in Python integers.

It is independent of the vectorised path and shares nothing with it: no code, no table, no float
arithmetic. Bits come in and go out as Python ints; wrong arguments raise ValueError.

Source: OCP MX v1.0 5 and 6.3; OFP8 Rev 1.0.
"""

from mxref.exact.bit_places import (
    pack,
    pack_block,
    pack_scales,
    unpack,
    unpack_block,
    unpack_scales,
)
from mxref.exact.conversion import decode, encode, encoder
from mxref.exact.e8m0_scale import decode_scale, encode_scale, shared_scale
from mxref.exact.float_scale import dequantize_float_scaled, quantize_float_scaled
from mxref.exact.format_table import value
from mxref.exact.one_block import dequantize, quantize
from mxref.exact.own_formats import described, knows, numbers
from mxref.exact.small_float_scale import dequantize_scaled, quantize_scaled

__all__ = [
    "decode",
    "decode_scale",
    "dequantize",
    "dequantize_float_scaled",
    "dequantize_scaled",
    "described",
    "encode",
    "encode_scale",
    "encoder",
    "knows",
    "numbers",
    "pack",
    "pack_block",
    "pack_scales",
    "quantize",
    "quantize_float_scaled",
    "quantize_scaled",
    "shared_scale",
    "unpack",
    "unpack_block",
    "unpack_scales",
    "value",
]

"""mxref: the bit-exact reference of the OCP Microscaling (MX) formats.

>>> import numpy as np, mxref
>>> mxref.encode(np.float32([0.3, 5.0, -7.1]), "e2m1")
array([ 1,  6, 15], dtype=uint8)
>>> mxref.quantize(np.float32([0.3, 5.0, -7.1]), "mxfp4_e2m1").dequantize()
array([ 0.5,  4. , -6. ], dtype=float32)
"""

from mxref import formats
from mxref._version import VECTORS_VERSION, __version__
from mxref.block import quantize
from mxref.blocks import Blocks, dequantize
from mxref.element import decode, encode
from mxref.packing import pack, pack_blocks, packed_size, unpack, unpack_blocks
from mxref.policy import Policy
from mxref.profiles import profile
from mxref.scale import decode_scale, encode_scale, shared_scale
from mxref.scale_layout import pack_scales, unpack_scales
from mxref.shapes import result_shapes
from mxref.two_level import TensorScale, TensorScaleKind

__all__ = [
    "VECTORS_VERSION",
    "Blocks",
    "Policy",
    "TensorScale",
    "TensorScaleKind",
    "__version__",
    "decode",
    "decode_scale",
    "dequantize",
    "encode",
    "encode_scale",
    "formats",
    "pack",
    "pack_blocks",
    "pack_scales",
    "packed_size",
    "profile",
    "quantize",
    "result_shapes",
    "shared_scale",
    "unpack",
    "unpack_blocks",
    "unpack_scales",
]

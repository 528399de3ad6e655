"""The names of the package, imported together when the first of them is asked for."""

from __future__ import annotations

from mxref import formats as formats
from mxref.block import quantize as quantize
from mxref.blocks import Blocks as Blocks
from mxref.blocks import dequantize as dequantize
from mxref.element import decode as decode
from mxref.element import encode as encode
from mxref.packing import pack as pack
from mxref.packing import pack_blocks as pack_blocks
from mxref.packing import packed_size as packed_size
from mxref.packing import unpack as unpack
from mxref.packing import unpack_blocks as unpack_blocks
from mxref.policy import Policy as Policy
from mxref.profiles import profile as profile
from mxref.scale import decode_scale as decode_scale
from mxref.scale import encode_scale as encode_scale
from mxref.scale import shared_scale as shared_scale
from mxref.scale_layout import pack_scales as pack_scales
from mxref.scale_layout import unpack_scales as unpack_scales
from mxref.shapes import result_shapes as result_shapes
from mxref.two_level import TensorScale as TensorScale
from mxref.two_level import TensorScaleKind as TensorScaleKind

"""The public names of the package, imported together when the first of them is used."""

from __future__ import annotations

from mxref import formats as formats
from mxref.blocks.container import Blocks as Blocks
from mxref.blocks.dequantization import dequantize as dequantize
from mxref.blocks.given_scales import AmaxOf as AmaxOf
from mxref.blocks.quantization import quantize as quantize
from mxref.blocks.shapes import result_shapes as result_shapes
from mxref.blocks.two_level import RowScales as RowScales
from mxref.blocks.two_level import TensorScale as TensorScale
from mxref.blocks.two_level import TensorScaleKind as TensorScaleKind
from mxref.numbers.element import decode as decode
from mxref.numbers.element import encode as encode
from mxref.numbers.scale import decode_scale as decode_scale
from mxref.numbers.scale import encode_scale as encode_scale
from mxref.numbers.scale import shared_scale as shared_scale
from mxref.packing.elements import pack as pack
from mxref.packing.elements import pack_blocks as pack_blocks
from mxref.packing.elements import packed_size as packed_size
from mxref.packing.elements import unpack as unpack
from mxref.packing.elements import unpack_blocks as unpack_blocks
from mxref.packing.scales import pack_scales as pack_scales
from mxref.packing.scales import unpack_scales as unpack_scales
from mxref.policy.policy import Policy as Policy
from mxref.products.adders import ADDERS as ADDERS
from mxref.products.adders import Adder as Adder
from mxref.products.dot import matmul as matmul
from mxref.products.dot import matmul_bounds as matmul_bounds
from mxref.products.hadamard import Hadamard as Hadamard
from mxref.products.layer_bounds import linear_bounds as linear_bounds
from mxref.products.layer_bounds import linear_gradients_bounds as linear_gradients_bounds
from mxref.products.linear import linear as linear
from mxref.products.linear import linear_gradients as linear_gradients
from mxref.products.mma import mma as mma
from mxref.products.mma import mma_bounds as mma_bounds
from mxref.products.recipe import OperandRecipe as OperandRecipe
from mxref.products.recipe import Recipe as Recipe
from mxref.profiles import profile as profile
from mxref.profiles.recipes import recipe as recipe

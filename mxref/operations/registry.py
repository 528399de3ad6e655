"""All operations of the vectors, in the order in which reports list them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mxref.operations.affine import DequantizeAffine, QuantizeAffine
from mxref.operations.blocks import Dequantize, Quantize
from mxref.operations.elements import (
    Decode,
    DecodeScale,
    Encode,
    EncodeScale,
    EncodeStochastic,
    SharedScale,
)
from mxref.operations.int4 import PackInt4, UnpackInt4
from mxref.operations.integer_operation import IntegerOperation
from mxref.operations.layer_operations import LayerOperation, Linear, LinearGradients
from mxref.operations.layouts import (
    LayoutOperation,
    Pack,
    PackBlocks,
    PackScales,
    QuantizeTensor,
    Unpack,
    UnpackBlocks,
    UnpackScales,
)
from mxref.operations.operation import Operation
from mxref.operations.products import Matmul
from mxref.operations.rescaling import Rescale
from mxref.operations.sampling import GridSample
from mxref.operations.weight_only import LinearQcs4w, LinearQcs8w, WeightOnlyOperation

__all__ = [
    "DOT_OPERATIONS",
    "INTEGERS",
    "INTEGER_FLOATS",
    "INTEGER_OPERATIONS",
    "LAYER_OPERATIONS",
    "LAYOUT_OPERATIONS",
    "OPERATIONS",
    "PRODUCT_OPERATIONS",
    "REGISTRY",
    "VARIED_OPERATIONS",
    "WEIGHT_ONLY_OPERATIONS",
]

#: Each operation by its name.
REGISTRY: Mapping[str, Operation] = {
    one.name: one
    for one in (
        Encode(),
        Decode(),
        EncodeScale(),
        DecodeScale(),
        SharedScale(),
        Quantize(),
        Dequantize(),
        EncodeStochastic(),
        Pack(),
        Unpack(),
        PackScales(),
        UnpackScales(),
        PackBlocks(),
        UnpackBlocks(),
        QuantizeTensor(),
        Matmul(),
        Linear(),
        LinearGradients(),
        QuantizeAffine(),
        DequantizeAffine(),
        PackInt4(),
        UnpackInt4(),
        Rescale(),
        GridSample(),
        LinearQcs8w(),
        LinearQcs4w(),
    )
}


def _names(kind: Any) -> tuple[str, ...]:
    return tuple(name for name, one in REGISTRY.items() if isinstance(one, kind))


OPERATIONS = tuple(REGISTRY)
#: Those on layouts: their cases have any number of words and are compared one by one.
LAYOUT_OPERATIONS = _names(LayoutOperation)
#: Dot products, and linear layers with their gradients: answers are compared with intervals where
#: the standard leaves the order of additions open.
DOT_OPERATIONS = _names(Matmul)
LAYER_OPERATIONS = _names(LayerOperation)
PRODUCT_OPERATIONS = (*DOT_OPERATIONS, *LAYER_OPERATIONS)
#: Those of `mxref.integer`.
INTEGERS: Mapping[str, IntegerOperation] = {
    name: one for name, one in REGISTRY.items() if isinstance(one, IntegerOperation)
}
INTEGER_OPERATIONS = tuple(INTEGERS)
#: Each of these with what its files have in place of a float type.
INTEGER_FLOATS: Mapping[str, str] = {name: one.slot for name, one in INTEGERS.items()}
#: Those whose answers may be inside of intervals, since the order of additions is open.
WEIGHT_ONLY_OPERATIONS = _names(WeightOnlyOperation)
#: Operations whose cases have different numbers of words.
VARIED_OPERATIONS = tuple(name for name, one in REGISTRY.items() if one.varied)

"""All operations of the vectors, in the order in which reports list them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from mxref.operations.affine import DequantizeAffine, QuantizeAffine
from mxref.operations.block_bytes import PackBlocks, UnpackBlocks
from mxref.operations.blocks import Dequantize, Quantize
from mxref.operations.call_operation import CallOperation
from mxref.operations.element_packing import Pack, Unpack
from mxref.operations.elements import (
    Decode,
    DecodeScale,
    Encode,
    EncodeScale,
    EncodeStochastic,
    SharedScale,
)
from mxref.operations.int4 import PackInt4, UnpackInt4
from mxref.operations.layer_operations import LayerOperation, Linear, LinearGradients
from mxref.operations.layouts import LayoutOperation
from mxref.operations.operation import Operation
from mxref.operations.products import Matmul
from mxref.operations.quantized_products import QlinearMatmul
from mxref.operations.rescaling import Rescale
from mxref.operations.sampling import GridSample
from mxref.operations.scale_layouts import PackScales, UnpackScales
from mxref.operations.tensors import QuantizeTensor
from mxref.operations.weight_only import LinearQcs4w, LinearQcs8w, WeightOnlyOperation

__all__ = [
    "CALL_OPERATIONS",
    "DOT_OPERATIONS",
    "LAYER_OPERATIONS",
    "LAYOUT_OPERATIONS",
    "OPERATIONS",
    "PRODUCT_OPERATIONS",
    "REGISTRY",
    "WEIGHT_ONLY_OPERATIONS",
    "defined",
]

#: Each operation by its name; `defined` adds others for a while.
REGISTRY: dict[str, Operation] = {
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
        QlinearMatmul(),
    )
}


Kind = TypeVar("Kind", bound=Operation)


class _OfKind(Mapping[str, Kind]):
    """The operations of a class, by name, as they are in the registry now."""

    def __init__(self, kind: Any) -> None:  # mypy takes no abstract class for type[Kind]
        self._kind = kind

    def __getitem__(self, name: str) -> Kind:
        one: Kind = REGISTRY[name]  # type: ignore[assignment]
        if not isinstance(one, self._kind):
            raise KeyError(name)
        return one

    def __iter__(self) -> Iterator[str]:
        return (name for name, one in REGISTRY.items() if isinstance(one, self._kind))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __hash__(self) -> int:
        return hash(self._kind)


OPERATIONS = REGISTRY.keys()
#: Those on layouts: their cases have any number of words and are compared one by one.
LAYOUT_OPERATIONS = _OfKind[LayoutOperation](LayoutOperation)
#: Dot products, and linear layers with their gradients: answers are compared with intervals where
#: the standard leaves the order of additions open.
DOT_OPERATIONS = _OfKind[Matmul](Matmul)
LAYER_OPERATIONS = _OfKind[LayerOperation](LayerOperation)
PRODUCT_OPERATIONS = (*DOT_OPERATIONS, *LAYER_OPERATIONS)
#: Those with choices of their own, whose cases are one call each: of `mxref.integer`, and others.
CALL_OPERATIONS = _OfKind[CallOperation](CallOperation)
#: Those whose answers may be inside of intervals, since the order of additions is open.
WEIGHT_ONLY_OPERATIONS = _OfKind[WeightOnlyOperation](WeightOnlyOperation)


@contextlib.contextmanager
def defined(*operations: CallOperation) -> Iterator[None]:
    """Adds operations from outside of mxref, for all verbs, until the end of a `with` statement.

    An operation that was added before, in a statement around this one, stays until that ends.

    Raises:
        ValueError: a name that another operation has.
    """
    with contextlib.ExitStack() as scope:
        for one in operations:
            if REGISTRY.setdefault(one.name, one) is not one:
                raise ValueError(f"name must be new, got {one.name!r} of another operation")
            if not one.is_own:
                one.is_own = True
                scope.callback(_forget, one)
        yield


def _forget(operation: CallOperation) -> None:
    del REGISTRY[operation.name]
    operation.is_own = False

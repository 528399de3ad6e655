"""All operations of the vectors, in the order in which reports list them.

The module of one is imported when it is first asked for: a command pays for what it asks.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Container, Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, TypeVar

from mxref.operations.operation import Operation

if TYPE_CHECKING:
    from mxref.operations.call_operation import CallOperation
    from mxref.operations.layer_operations import LayerOperation
    from mxref.operations.layouts import LayoutOperation
    from mxref.operations.products import Matmul
    from mxref.operations.weight_only import WeightOnlyOperation

__all__ = [
    "CALL_OPERATIONS",
    "DOT_OPERATIONS",
    "LAYER_OPERATIONS",
    "LAYOUT_OPERATIONS",
    "OPERATIONS",
    "POLICY_OPERATIONS",
    "PRODUCT_OPERATIONS",
    "REGISTRY",
    "WEIGHT_ONLY_OPERATIONS",
    "defined",
    "own_operations",
    "row_of",
]

#: name -> the module of this room and the class that have it: of numbers and blocks,
_NUMBERS = {
    "encode": "elements.Encode",
    "decode": "elements.Decode",
    "encode_scale": "elements.EncodeScale",
    "decode_scale": "elements.DecodeScale",
    "shared_scale": "elements.SharedScale",
    "quantize": "blocks.Quantize",
    "dequantize": "blocks.Dequantize",
    "encode_stochastic": "elements.EncodeStochastic",
}
#: on layouts,
_LAYOUTS = {
    "pack": "element_packing.Pack",
    "unpack": "element_packing.Unpack",
    "pack_scales": "scale_layouts.PackScales",
    "unpack_scales": "scale_layouts.UnpackScales",
    "pack_blocks": "block_bytes.PackBlocks",
    "unpack_blocks": "block_bytes.UnpackBlocks",
    "quantize_tensor": "tensors.QuantizeTensor",
}
#: dot products and linear layers,
_DOTS = {"matmul": "products.Matmul"}
_LAYERS = {
    "linear": "layer_operations.Linear",
    "linear_gradients": "layer_operations.LinearGradients",
}
#: those of calls; and those of them whose answers may be inside of intervals.
_CALLS = {
    "quantize_affine": "affine.QuantizeAffine",
    "dequantize_affine": "affine.DequantizeAffine",
    "pack_int4": "int4.PackInt4",
    "unpack_int4": "int4.UnpackInt4",
    "rescale": "rescaling.Rescale",
    "grid_sample": "sampling.GridSample",
    "linear_qcs8w": "weight_only.LinearQcs8w",
    "linear_qcs4w": "weight_only.LinearQcs4w",
    "matmul_nbits": "block_weights.MatmulNbits",
    "qlinear_matmul": "quantized_products.QlinearMatmul",
    "qlinear_add": "elementwise.QlinearAdd",
    "qlinear_mul": "elementwise.QlinearMul",
    "mma": "matrix_units.Mma",
    "addmm": "addmm.Addmm",
    "recipe_linear": "recipe_products.RecipeLinear",
    "recipe_gradients": "recipe_products.RecipeGradients",
}
_WEIGHT_ONLY = ("linear_qcs8w", "linear_qcs4w", "matmul_nbits")


_PLACES = {**_NUMBERS, **_LAYOUTS, **_DOTS, **_LAYERS, **_CALLS}


class _Registry(MutableMapping[str, Operation]):
    """Operations by name, each imported when it is first asked for."""

    def __init__(self) -> None:
        self._rows: dict[str, Operation | None] = dict.fromkeys(_PLACES)

    def __getitem__(self, name: str) -> Operation:
        one = self._rows[name]
        if one is None:
            module, kind = _PLACES[name].split(".")
            one = getattr(importlib.import_module(f"mxref.operations.{module}"), kind)()
            if not isinstance(one, Operation) or one.name != name:
                raise TypeError(f"{name} must be at its place, which has {one!r}")
            self._rows[name] = one
        return one

    def __setitem__(self, name: str, operation: Operation) -> None:
        self._rows[name] = operation

    def __delitem__(self, name: str) -> None:
        del self._rows[name]

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


#: Each operation by its name; `defined` adds others for a while.
REGISTRY = _Registry()


Kind = TypeVar("Kind", bound=Operation)


class _OfKind(Mapping[str, Kind]):
    """The operations of a class, by name, as they are in the registry now."""

    def __init__(self, names: Container[str], *, others: bool = False) -> None:
        """Of mxref those with these names; from outside all or none."""
        self._names = names
        self._others = others

    def __getitem__(self, name: str) -> Kind:
        if name not in self._names and name not in self:
            raise KeyError(name)
        one: Kind = REGISTRY[name]  # type: ignore[assignment]
        return one

    def __contains__(self, name: object) -> bool:
        return name in self._names or (self._others and name in REGISTRY and name not in _PLACES)

    def __iter__(self) -> Iterator[str]:
        return (name for name in REGISTRY if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __hash__(self) -> int:
        return id(self)


OPERATIONS = REGISTRY.keys()
#: Those on layouts: their cases have any number of words and are compared one by one.
LAYOUT_OPERATIONS: _OfKind[LayoutOperation] = _OfKind(_LAYOUTS)
#: Dot products, and linear layers with their gradients: answers are compared with intervals where
#: the standard leaves the order of additions open.
DOT_OPERATIONS: _OfKind[Matmul] = _OfKind(_DOTS)
LAYER_OPERATIONS: _OfKind[LayerOperation] = _OfKind(_LAYERS)
PRODUCT_OPERATIONS = (*DOT_OPERATIONS, *LAYER_OPERATIONS)
#: Those with choices of their own, whose cases are one call each: of `mxref.integer`, and others.
CALL_OPERATIONS: _OfKind[CallOperation] = _OfKind(_CALLS, others=True)
#: Those whose answers may be inside of intervals, since the order of additions is open.
WEIGHT_ONLY_OPERATIONS: _OfKind[WeightOnlyOperation] = _OfKind(_WEIGHT_ONLY)
#: Those whose choices are in `Policy`.
POLICY_OPERATIONS: _OfKind[Operation] = _OfKind({**_NUMBERS, **_LAYOUTS, **_DOTS, **_LAYERS})


def own_operations() -> dict[str, CallOperation]:
    """Those from outside of mxref that are defined now, by name."""
    return {name: CALL_OPERATIONS[name] for name in REGISTRY if name not in _PLACES}


#: Operations that were added for a while: reports and cases about them outlive it.
_ENDED: dict[str, Operation] = {}


def row_of(name: str) -> Operation:
    """The operation of this name: of the registry, or the last one that `defined` added.

    >>> row_of("pack").name
    'pack'
    """
    return REGISTRY[name] if name in REGISTRY else _ENDED[name]


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
    _ENDED[operation.name] = REGISTRY.pop(operation.name)
    operation.is_own = False

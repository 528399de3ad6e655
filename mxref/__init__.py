"""mxref: the bit-exact reference of the OCP Microscaling (MX) formats.

>>> import numpy as np, mxref
>>> mxref.encode(np.float32([0.3, 5.0, -7.1]), "e2m1")
array([ 1,  6, 15], dtype=uint8)
>>> mxref.quantize(np.float32([0.3, 5.0, -7.1]), "mxfp4_e2m1").dequantize()
array([ 0.5,  4. , -6. ], dtype=float32)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mxref._version import VECTORS_VERSION, __version__

if TYPE_CHECKING:
    from mxref._public import *

__all__ = [
    "ADDERS",
    "VECTORS_VERSION",
    "Adder",
    "AmaxOf",
    "Blocks",
    "Hadamard",
    "OperandRecipe",
    "Policy",
    "Recipe",
    "RowScales",
    "TensorScale",
    "TensorScaleKind",
    "__version__",
    "decode",
    "decode_scale",
    "dequantize",
    "encode",
    "encode_scale",
    "formats",
    "linear",
    "linear_bounds",
    "linear_gradients",
    "linear_gradients_bounds",
    "matmul",
    "matmul_bounds",
    "mma",
    "mma_bounds",
    "pack",
    "pack_blocks",
    "pack_scales",
    "packed_size",
    "profile",
    "quantize",
    "recipe",
    "result_shapes",
    "shared_scale",
    "unpack",
    "unpack_blocks",
    "unpack_scales",
]

if not TYPE_CHECKING:  # a type checker would take any name for one of the package

    def __getattr__(name: str) -> Any:
        """Import a room, or the modules of all public names, when a name is first used.

        So pytest, which imports the package for its plugin, does not import NumPy.
        """
        import importlib

        if not name.startswith("__"):
            try:
                return importlib.import_module(f"mxref.{name}")
            except ModuleNotFoundError as error:
                if error.name != f"mxref.{name}":
                    raise
        if name in __all__:
            public = vars(importlib.import_module("mxref._public"))
            globals().update((each, public[each]) for each in __all__ if each in public)
            return public[name]
        raise AttributeError(f"module 'mxref' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted(__all__)

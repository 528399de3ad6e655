"""Matrix products as targets: named adders, narrow sums, and right sums of wrong operands."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers import vector_file
from numpy.typing import NDArray

import mxref
from mxref.cases.records import VectorFile
from mxref.conformance import PythonTarget, target_of
from mxref.conformance.checking import product_shapes
from mxref.mutants.matmul_operands import OPERANDS

E4M3 = "mxfp8_e4m3-mxfp8_e4m3"
Product = Callable[..., NDArray[Any]]


def product_file(pair: str = E4M3, float: str = "f32") -> VectorFile:
    """The vectors of a pair of formats."""
    return vector_file(f"matmul/{pair}.{float}")


def limit_shapes(patch: pytest.MonkeyPatch, most: int, step: int = 1) -> None:
    """Products of at most so many outputs times blocks are asked alone, every `step`-th of them."""
    for name in ("_SHAPES", "_REAL"):
        shapes = [shape for shape in getattr(product_shapes, name) if math.prod(shape) <= most]
        patch.setattr(product_shapes, name, shapes[::step])


def blocks(scales: NDArray[Any], codes: NDArray[Any], name: str, **more: Any) -> mxref.Blocks:
    """Rows of codes in blocks along their second axis."""
    fmt = mxref.formats.block_format(name)
    return mxref.Blocks(codes, scales, fmt, 1, codes.shape, **more)


def named(how: str) -> Product:
    """A product that adds as a named accumulation does."""

    def matmul(sa: Any, ca: Any, sb: Any, cb: Any, fa: str, fb: str) -> NDArray[Any]:
        return mxref.matmul(blocks(sa, ca, fa), blocks(sb, cb, fb).T, accumulation=how)

    return matmul


def sums_in(dtype: Any) -> Product:
    """A product whose products and sums are rounded to a type, one after the other."""

    def matmul(sa: Any, ca: Any, sb: Any, cb: Any, fa: str, fb: str) -> NDArray[Any]:
        x, y = (blocks(*one).dequantize(np.float64) for one in ((sa, ca, fa), (sb, cb, fb)))
        total = np.zeros((len(x), len(y)), dtype)
        with np.errstate(all="ignore"):
            for k in range(x.shape[1]):
                product = np.multiply.outer(x[:, k], y[:, k]).astype(dtype)
                total = (total.astype(np.float64) + product.astype(np.float64)).astype(dtype)
        return total.astype(np.float32)

    return matmul


def wrong_operands(id: str) -> Product:
    """Float32 sums, not exact ones, of the operands that a mutant reads."""
    change, add = OPERANDS[id][0], named("by_block")

    def matmul(sa: Any, ca: Any, sb: Any, cb: Any, fa: str, fb: str) -> NDArray[Any]:
        return add(*change(sa, ca, sb, cb, fa, fb))

    return matmul


def product_target(matmul: Product, pair: str = E4M3, **claims: Any) -> PythonTarget:
    """A target that has this product alone, of one pair of formats."""
    own = {"FORMATS": list(dict.fromkeys(pair.split("-"))), **claims}
    return target_of(SimpleNamespace(matmul=matmul, **own), "product")


BF16 = ml_dtypes.bfloat16

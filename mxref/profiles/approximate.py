"""NVFP4 of kernels with approximate reciprocals: one answer of each, and bounds of all.

`rcp.approx.ftz.f32` is defined to one ulp, not to the bit. A profile here answers as if it rounded
to nearest; `verify` and `fuzz` accept every scale and every element that a result within the ulp
gives, elements under the scale that the implementation stored. Nothing was run on a GPU.
Source: NVIDIA/cutlass 7107b0553, include/cutlass/epilogue/fusion/
sm100_visitor_store_tma_warpspecialized.hpp; flashinfer-ai/flashinfer fb28d724,
csrc/nv_internal/tensorrt_llm/kernels/quantization_utils.cuh; SPEC_NOTES N46.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mxref.bits.float32 import FLT_MAX, F64Array, fl, flushed
from mxref.bits.floats import U8
from mxref.bits.reciprocals import Reciprocals, reciprocals
from mxref.blocks.arithmetics import numbers
from mxref.formats.catalog import BlockFormat
from mxref.numbers.element import encode
from mxref.policy.policy import Policy
from mxref.profiles.definition import Profile
from mxref.profiles.stages import Rows, Stages, element_by_policy, largest_number, largest_or_nan

__all__ = ["PROFILES"]

NVFP4 = ("nvfp4", "fp4_ue4m3")

#: Which of a few results of a reciprocal a formula takes.
_Pick = Callable[[Reciprocals], F64Array]
_NEAREST: _Pick = lambda some: some.nearest  # noqa: E731
_LOWEST: _Pick = lambda some: some.lowest  # noqa: E731
_HIGHEST: _Pick = lambda some: some.highest  # noqa: E731

#: What the scale is rounded from, given amax, the number of the tensor and 1 / 6.
_Wanted = Callable[[F64Array, F64Array, F64Array], F64Array]
#: What elements are multiplied by, given scales, that number, and which result a reciprocal and one
#: inside it take.
_Factor = Callable[[F64Array, F64Array, _Pick, _Pick], F64Array]


def _product(a: F64Array, b: F64Array) -> F64Array:
    """A float32 product whose operands and result are flushed."""
    return flushed(fl(flushed(a) * flushed(b)))


def cutlass_wanted(amax: F64Array, g: F64Array, sixth: F64Array) -> F64Array:
    """Amax times (G times 1 / 6)."""
    return fl(amax * fl(g * sixth))


def cutlass_factor(s: F64Array, g: F64Array, pick: _Pick, inner: _Pick) -> F64Array:
    """G times 1 / scale, at most the largest float32 number."""
    return np.minimum(fl(g * pick(reciprocals(s))), FLT_MAX)


def flashinfer_wanted(amax: F64Array, g: F64Array, sixth: F64Array) -> F64Array:
    """G times (amax times 1 / 6)."""
    return _product(g, _product(amax, sixth))


def flashinfer_factor(s: F64Array, g: F64Array, pick: _Pick, inner: _Pick) -> F64Array:
    """1 / (scale times 1 / G)."""
    return pick(reciprocals(_product(s, inner(reciprocals(g)))))


def largest_seen(rows: Rows) -> F64Array:
    """The largest magnitude among numbers and infinities; NaN of a block of NaN; flushed."""
    every = np.isnan(rows.x).all(axis=1)
    return np.where(every, np.nan, flushed(largest_number(rows)))


@dataclass(frozen=True, slots=True)
class Kernel:
    """Formulas of blocks with approximate reciprocals.

    Args:
        amax: what of a block the scale is made of.
        wanted: what the scale is rounded from.
        factor: what elements are multiplied by.
        product: an element times that.
        zeros: whether elements are multiplied by 0 where amax is 0.
    """

    amax: Callable[[Rows], F64Array]
    wanted: _Wanted
    factor: _Factor
    product: Callable[[F64Array, F64Array], F64Array]
    zeros: bool

    def scales(self, rows: Rows, g: F64Array | None, fmt: BlockFormat, pick: _Pick) -> U8:
        """Scale codes (n,), with the 1 / 6 that is picked."""
        sixth = pick(reciprocals(np.array([fmt.element.max_normal])))
        return encode(
            self.wanted(self.amax(rows), np.ones(1) if g is None else g, sixth), fmt.scale
        )

    def elements(
        self, rows: Rows, g: F64Array | None, fmt: BlockFormat, codes: U8, pick: _Pick, inner: _Pick
    ) -> U8:
        """Element codes (n, k) under scale codes, with the reciprocals that are picked."""
        by = self.factor(numbers(fmt.scale)[codes], np.ones(1) if g is None else g, pick, inner)
        if self.zeros:
            by = np.where(self.amax(rows) == 0, 0.0, by)
        return element_by_policy(self.product(rows.x, by[:, np.newaxis]), rows).astype(np.uint8)

    def blocks(self, rows: Rows, g: F64Array | None, fmt: BlockFormat) -> tuple[U8, U8]:
        """Scale codes and element codes, with the nearest reciprocals."""
        codes = self.scales(rows, g, fmt, _NEAREST)
        return codes, self.elements(rows, g, fmt, codes, _NEAREST, _NEAREST)

    def bounds(
        self, rows: Rows, g: F64Array | None, fmt: BlockFormat, codes: U8
    ) -> tuple[tuple[U8, U8], tuple[U8, U8]]:
        """The lowest and the highest of both, the elements under these scale codes."""
        ends = ((_LOWEST, _HIGHEST), (_HIGHEST, _LOWEST))
        low, high = (
            (self.scales(rows, g, fmt, pick), self.elements(rows, g, fmt, codes, pick, inner))
            for pick, inner in ends
        )
        return low, high


def _plain(x: F64Array, by: F64Array) -> F64Array:
    return fl(x * by)


CUTLASS = Kernel(largest_or_nan, cutlass_wanted, cutlass_factor, _plain, zeros=False)
FLASHINFER = Kernel(largest_seen, flashinfer_wanted, flashinfer_factor, _product, zeros=True)

PROFILES = (
    Profile(
        "cutlass_nvfp4",
        Policy.parse("ocp+scale_arithmetic=cublas"),
        "NVIDIA/cutlass, Sm100BlockScaleFactorRowStore and compute_quantized_with_row_scalefactor",
        "main (7107b055), read; its reciprocals on a host",
        checked="tests/peers/test_approximate_peers.py",
        formats={"quantize": NVFP4},
        floats=("f32", "bf16", "f16"),
        stages=Stages(blocks=CUTLASS.blocks, bounds=CUTLASS.bounds),
    ),
    Profile(
        "flashinfer_nvfp4_kernel",
        Policy.parse("ocp+scale_arithmetic=cublas"),
        "flashinfer-ai/flashinfer, quantization_utils.cuh: cvt_warp_fp16_to_fp4",
        "main (fb28d724), read",
        formats={"quantize": NVFP4},
        floats=("bf16", "f16"),
        stages=Stages(blocks=FLASHINFER.blocks, bounds=FLASHINFER.bounds),
    ),
)

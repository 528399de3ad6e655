"""Tensors in blocks, which share a scale: the container `Blocks`."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mxref.bits.floats import LAYOUTS, U8, Floats
from mxref.blocks.block_text import ROWS, block_lines, block_table
from mxref.blocks.dequantization import dequantize
from mxref.blocks.fields import BlockFields
from mxref.blocks.index import Index, moved, part_of, permutation
from mxref.blocks.tiles import cut
from mxref.formats.catalog import BlockFormat
from mxref.numbers.codes import view_codes
from mxref.policy.keywords import DequantizeChoices
from mxref.policy.policy import Policy


@dataclass(frozen=True, eq=False)
class Blocks(BlockFields):
    """A tensor in blocks: element codes, scale codes, and what is needed to read them.

    Args:
        codes: uint8 element codes, unpacked. `shape`, but along `axis` rounded up to whole blocks:
            the codes of the zero padding are there, as they are in memory of real kernels. Codes of
            `shape` itself, with a short last block, are fine, too.
        scale_codes: uint8 scale codes; `shape`, but along `axis` one for each block.
        format: the block format; its block size is the one used.
        axis: the axis along which blocks run; a tuple of axes for blocks of several.
        shape: shape of the tensor itself; a scalar, (), is held as one element of (1,).
        dtype: dtype of the tensor that was quantized; what `to_dtype` gives.
        tensor_scale: the float32 scale of the whole tensor, in formats that have one, or
            `RowScales`, one for each row as `quantize` takes them; numbers are factors.

    >>> import mxref
    >>> blocks = mxref.quantize(np.float32([[1.0, -2.0, 3.0]]), "mxfp4_e2m1", block_size=2)
    >>> blocks.codes.tolist(), blocks.scale_codes.tolist(), blocks.shape
    ([[4, 14, 7, 0]], [[126, 126]], (1, 3))
    >>> blocks.elements.dtype, blocks.scales.dtype
    (dtype(float4_e2m1fn), dtype(float8_e8m0fnu))

    Raises:
        TypeError: codes or a tensor scale of another type.
        ValueError: codes or a tensor scale out of range, or shapes that do not belong together.
    """

    @property
    def block_size(self) -> int | tuple[int, ...]:
        """Elements that share one scale; for blocks along several axes, along each."""
        return self.format.block_size

    @property
    def elements(self) -> NDArray[Any]:
        """The codes as an array of the element's ml_dtypes type (int8 for INT8); no copy."""
        return view_codes(self.codes, self.format.element)

    @property
    def scales(self) -> NDArray[Any]:
        """The scale codes as an array of the scale's ml_dtypes type; no copy."""
        return view_codes(self.scale_codes, self.format.scale)

    @property
    def ndim(self) -> int:
        """Number of axes of the tensor."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements of the tensor, without padding."""
        return math.prod(self.shape)

    @property
    def padding(self) -> int | tuple[int, ...]:
        """Codes of padding that are held along the block axis; for several axes, along each."""
        shape = self.tiling.shape
        missing = tuple(self.codes.shape[axis] - shape[axis] for axis in self.tiling.axes)
        return missing if isinstance(self.axis, tuple) else missing[0]

    @property
    def T(self) -> Blocks:  # noqa: N802 (NumPy's name)
        """The tensor with its axes reversed; see `transpose`."""
        return self.transpose()

    def transpose(self, *axes: int | Sequence[int] | None) -> Blocks:
        """The tensor with its axes in another order; blocks stay whole and move along.

        This is a view of the same codes. It equals the quantized transposed tensor if that has its
        blocks along the axes where these now run.

        Args:
            axes: as for NumPy arrays: none, or each axis once, as integers or as a tuple of them.

        Raises:
            TypeError: axes that are no integers.
            ValueError: axes that do not name each axis once.

        >>> import mxref
        >>> blocks = mxref.quantize(np.ones((3, 64)), "mxfp8_e4m3")
        >>> blocks.T.shape, blocks.T.axis, blocks.T.scale_codes.shape
        ((64, 3), 0, (2, 3))
        """
        order = permutation(axes, self.ndim)
        if not order:
            return self
        axes, sizes = zip(*moved(order, self.tiling), strict=True)
        fmt = self.format
        if isinstance(fmt.block_size, tuple):
            fmt = dataclasses.replace(fmt, block_size=sizes)
        codes, scales = self.codes.transpose(order), self.scale_codes.transpose(order)
        axis = axes if isinstance(self.axis, tuple) else axes[0]
        shape = tuple(self.shape[some] for some in order)
        tensor = self.tensor_scale and self.tensor_scale.transpose(order)
        return self._of(codes, scales, fmt, axis, shape, self.dtype, tensor)

    def __getitem__(self, key: Index | tuple[Index, ...]) -> Blocks:
        """A part of the tensor, as a view.

        Along other axes than those of blocks an index is an integer or a slice, as for NumPy
        arrays. Along the axes of blocks it is a slice from one block border to another, where the
        end of the axis is a border. Padding is kept with the last block.

        Raises:
            IndexError: an integer out of range.
            TypeError: an index of another kind.
            ValueError: too many indices, or a slice through a block.

        >>> import mxref
        >>> blocks = mxref.quantize(np.ones((3, 80)), "mxfp8_e4m3")
        >>> blocks[1, 32:].shape, blocks[1, 32:].axis, blocks[1, 32:].padding
        ((48,), 0, 16)
        """
        part = part_of(key, self.shape, self.tiling)
        axes = tuple(axis - sum(gone < axis for gone in part.gone) for axis in self.tiling.axes)
        axis = axes if isinstance(self.axis, tuple) else axes[0]
        codes, scales = self.codes[part.codes], self.scale_codes[part.scale_codes]
        tensor = self.tensor_scale and self.tensor_scale.indexed(part.scale_codes, self.tiling.axes)
        return self._of(codes, scales, self.format, axis, part.shape, self.dtype, tensor)

    def __eq__(self, other: object) -> bool:
        """Whether all fields are equal, bit by bit; codes of padding too, if both hold them."""
        if not isinstance(other, Blocks):
            return NotImplemented
        for name in ("format", "axis", "shape", "dtype", "tensor_scale"):
            if getattr(self, name) != getattr(other, name):
                return False
        codes = self.codes, other.codes
        if codes[0].shape != codes[1].shape:
            codes = cut(codes[0], self.tiling.shape), cut(codes[1], self.tiling.shape)
        return np.array_equal(*codes) and np.array_equal(self.scale_codes, other.scale_codes)

    def equal_values(self, other: Blocks) -> bool:
        """Whether these are the same numbers, in any formats and along any axes.

        NaN equals NaN and -0 equals +0. The numbers are compared in float64, which holds them
        exactly unless the tensor scale is a divisor or an amax. In that case they are quotients,
        each rounded once; two different quotients of one kind of tensor scale still round to
        different numbers.

        Raises:
            TypeError: other is no `Blocks`.

        >>> import mxref
        >>> x = np.float32([1.0, -0.0, 6.0])
        >>> mxref.quantize(x, "mxfp4_e2m1").equal_values(mxref.quantize(x, "mxfp8_e4m3"))
        True
        """
        if not isinstance(other, Blocks):
            raise TypeError(f"other must be a Blocks, got {type(other).__name__}")
        mine, others = (
            dequantize(blocks, np.float64, decoded_zero="dropped").view(np.uint64)
            for blocks in (self, other)
        )
        return np.array_equal(mine, others)

    def __repr__(self) -> str:
        """At most four lines; a block of several axes in row-major order.

        >>> import mxref
        >>> mxref.quantize(np.float32([0.5, -3.0, 100.0, 7.0]), "mxfp8_e4m3", block_size=3)
        Blocks mxfp8_e4m3: shape (4,), axis 0, 2 blocks of 3, from float32
          first scale: 7d = 2**-2
          codes: 40 d4 7c
          values: 0.5 -3.0 96.0
        """
        head = self._head()
        if not math.prod(self.tiling.counts):
            return head
        fmt, scale, codes, values = self._block((0,) * self.ndim)
        return "\n".join([head, *block_lines(fmt, scale, codes, values)])

    def _repr_html_(self) -> str:
        """A table for notebooks: scale, first codes and values of the first blocks.

        >>> import mxref
        >>> html = mxref.quantize(np.float32([0.5, -3.0]), "mxfp8_e4m3")._repr_html_()
        >>> html[:61], html.count("<tr>")
        ('<table><caption>Blocks mxfp8_e4m3: shape (2,), axis 0, 1 bloc', 2)
        """
        counts = self.tiling.counts if self.shape else ()
        first = itertools.islice(np.ndindex(counts), ROWS if math.prod(self.tiling.counts) else 0)
        return block_table(self._head(), {index: self._block(index) for index in first})

    def _head(self) -> str:
        """Format, shape, axis, number and size of blocks, dtype and tensor scale in a line."""
        fmt, count = self.format, math.prod(self.tiling.counts)
        size = " x ".join(map(str, fmt.block_shape))
        head = (
            f"Blocks {fmt.name}: shape {self.shape}, axis {self.axis}, "
            f"{count} block{'s' * (count != 1)} of {size}, from {self.dtype}"
        )
        if (tensor := self.tensor_scale) is not None:
            head += f", {tensor}"
        return head

    def _block(self, index: tuple[int, ...]) -> tuple[BlockFormat, int, U8, Floats]:
        """The format, scale code, element codes and values of a block."""
        tiling = self.tiling
        # A scalar has no axis to cut; every other tensor has a block axis at least.
        lengths = zip(index, tiling.shape, tiling.unit, strict=True) if self.shape else ()
        some = self[tuple(slice(i * unit, min(n, (i + 1) * unit)) for i, n, unit in lengths)]
        codes = cut(some.codes, some.tiling.shape).ravel()
        scale = int(some.scale_codes.flat[0])
        return self.format, scale, codes, some.dequantize(np.float64).ravel()

    def to_dtype(
        self,
        dtype: DTypeLike | None = None,
        policy: str | Policy = "ocp",
        **choices: Unpack[DequantizeChoices],
    ) -> Floats:
        """The numbers in the dtype that was quantized, or in another one.

        Args:
            dtype: float64, float32, float16 or bfloat16; if None the dtype of the tensor, or
                float32 if that was another type, such as integers.
            policy: a `Policy` or its spelling.
            choices: single choices of the policy; see `mxref.choices`.

        Raises:
            TypeError: dtype is not supported.
            ValueError: unknown choice.

        >>> import mxref
        >>> mxref.quantize(np.float16([1.0, -6.0]), "mxfp4_e2m1").to_dtype()
        array([ 1., -6.], dtype=float16)
        """
        if dtype is None:
            native = self.dtype if self.dtype.isnative else self.dtype.newbyteorder("=")
            known = any(native == layout.dtype for layout in LAYOUTS.values())
            dtype = native if known else np.float32
        return dequantize(self, dtype, policy, **choices)

    def dequantize(
        self,
        dtype: DTypeLike = np.float32,
        policy: str | Policy = "ocp",
        **choices: Unpack[DequantizeChoices],
    ) -> Floats:
        """The numbers that the blocks stand for; see `mxref.dequantize`."""
        return dequantize(self, dtype, policy, **choices)

"""The fields of blocks, checked: codes, scale codes, and what is needed to read them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from mxref import formats
from mxref.bits.floats import U8
from mxref.blocks.given_scales import given_scales
from mxref.blocks.tiles import Axis, Tiling, axis_index
from mxref.blocks.two_level import TensorScales
from mxref.formats.catalog import BlockFormat
from mxref.numbers.codes import codes_of, is_writeable
from mxref.support.integers import shape_of


@dataclass(frozen=True, eq=False)
class BlockFields:
    """Base of `Blocks`, which documents the fields."""

    codes: U8
    scale_codes: U8
    format: BlockFormat
    axis: int | tuple[int, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any] = np.dtype(np.float32)  # noqa: RUF009 (a dtype is immutable)
    tensor_scale: TensorScales | None = None

    def __post_init__(self) -> None:
        codes, scales, *others = _checked(
            *(getattr(self, f.name) for f in dataclasses.fields(self))
        )
        # Codes that others can write to are copied: changed later, they could leave their range.
        codes, scales = (
            array.copy() if is_writeable(array) else array for array in (codes, scales)
        )
        codes.flags.writeable = scales.flags.writeable = False
        self._set(codes, scales, *others)

    def _set(self, *fields: object) -> None:
        self.__dict__.update(zip(_NAMES, fields, strict=True))

    def __reduce__(self) -> tuple[type[Self], tuple[object, ...]]:
        """Copies and unpickled blocks are checked and read-only."""
        return type(self), tuple(getattr(self, field.name) for field in dataclasses.fields(self))

    @classmethod
    def lent(
        cls,
        codes: ArrayLike,
        scale_codes: ArrayLike,
        format: str | BlockFormat,
        axis: Axis,
        tensor_scale: TensorScales | ArrayLike | None,
    ) -> Self:
        """Checked blocks of a tensor of the shape of its codes, for one call: nothing is copied."""
        return cls._of(*_checked(codes, scale_codes, format, axis, None, np.float32, tensor_scale))

    @classmethod
    def _of(cls, *fields: object) -> Self:
        """Blocks that need no check and no copy."""
        blocks = object.__new__(cls)
        blocks._set(*fields)
        return blocks

    @property
    def tiling(self) -> Tiling:
        """How blocks lie in the tensor."""
        return Tiling.of(self.shape, self.axis, self.format.block_shape)


_NAMES = tuple(field.name for field in dataclasses.fields(BlockFields))


def _checked(
    codes: ArrayLike,
    scale_codes: ArrayLike,
    format: str | BlockFormat,
    axis: Axis,
    shape: Iterable[int] | None,
    dtype: DTypeLike,
    tensor: TensorScales | ArrayLike | None,
) -> tuple[Any, ...]:
    """The fields as blocks hold them; the shape is that of the codes if None."""
    fmt = formats.block_format(format)
    formats.code_format(fmt.element)  # refuses more than 8 bits
    own = codes_of(codes, fmt.element)
    scales = codes_of(scale_codes, fmt.scale, "scale_codes")
    whole = own.shape if shape is None else shape_of(shape)
    place = axis_index(axis, len(whole), len(fmt.block_shape))
    if fmt.tensor_scale != (tensor is not None):
        has = "a" if fmt.tensor_scale else "no"
        raise ValueError(
            f"tensor_scale must be given exactly for formats that have one: {fmt.name} has "
            f"{has} tensor scale, got {tensor!s}"
        )
    tiling = Tiling.of(whole, place, fmt.block_shape)
    if tensor is not None:
        tensor = given_scales(tensor, None, tiling, is_own=True)
    for parameter, array, fits in (
        ("codes", own, (tiling.padded, tiling.shape)),
        ("scale_codes", scales, (tiling.counts,)),
    ):
        if array.shape not in fits:
            raise ValueError(
                f"{parameter} must have shape {fits[0]} for a tensor of shape {whole} with "
                f"block size {fmt.block_size} on axis {axis}, got {array.shape}"
            )
    return own, scales, fmt, place, whole, np.dtype(dtype), tensor

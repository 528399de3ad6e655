"""Formats of scales and of blocks: what a scale is, and which elements share one."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mxref.formats.base import CodeFormat, ElementFormat, Specials
from mxref.support.integers import integer

__all__ = ["BlockFormat", "ScaleFormat", "ScaleKind"]

#: Exponent bits and bias of E8M0, with whose codes those of other powers of two are compared.
_E8M0 = 8, 127


class ScaleKind(enum.Enum):
    """What the codes of a scale format are."""

    __hash__ = object.__hash__  # Enum's own is slow, and kinds are keys of tables

    POWER = "power"  #: powers of two that E8M0 has, and a NaN
    SMALL_FLOAT = "small_float"  #: floats of at most 8 bits, with a zero
    FLOAT32 = "float32"  #: float32 without sign


@dataclass(frozen=True)
class ScaleFormat(CodeFormat):
    """A format for the scale that the elements of a block share. It has no sign.

    >>> from mxref.formats.catalog import E5M0, E8M0
    >>> E8M0.value(0x00) == 2.0**-127, E8M0.value(0xFE) == 2.0**127, E8M0.nan_codes
    (True, True, (255,))
    >>> E5M0.value(0) == 2.0**-15, E5M0.value(30) == 2.0**15, E5M0.nan_codes
    (True, True, (31,))

    Source: OCP MX v1.0 5.4.1, Table 7.
    """

    signed: bool = False

    __hash__ = CodeFormat.__hash__  # else a dataclass makes one of all fields

    def __post_init__(self) -> None:
        CodeFormat.__post_init__(self)
        if self.signed:
            raise ValueError(f"a scale format must have no sign, got signed=True for {self.name}")
        if self.specials in (Specials.FNUZ, Specials.P3109):
            raise ValueError(
                f"specials of a scale format must not be {self.specials.value}, which has its NaN "
                f"in place of -0, got {self.name}: use none, top_code_nan, inf_below_nan or ieee"
            )

    @cached_property
    def is_float32(self) -> bool:
        """Whether its codes are the patterns of float32 without sign.

        >>> from mxref.formats.catalog import E8M0, F32
        >>> F32.is_float32, E8M0.is_float32
        (True, False)
        """
        fields = self.exponent_bits, self.mantissa_bits, self.bias
        return fields == (8, 23, 127) and self.specials is Specials.IEEE

    @cached_property
    def is_power(self) -> bool:
        """Whether its codes are powers of two that E8M0 has, and a NaN in the last one.

        >>> from mxref.formats.catalog import BINARY8P1UF, E8M0, UE4M3
        >>> E8M0.is_power, UE4M3.is_power, BINARY8P1UF.is_power  # the last one has a zero
        (True, False, False)
        """
        bits, bias = _E8M0
        return (
            self.specials is Specials.TOP_CODE_NAN
            and self.mantissa_bits == 0
            and not self.subnormals
            and 2 <= self.exponent_bits <= bits
            and (1 << self.exponent_bits) - 2 - bias <= self.bias <= bias
        )

    @property
    def kind(self) -> ScaleKind | None:
        """What its codes are; None where no block can have it as a scale.

        >>> from mxref.formats.catalog import BINARY8P1UF, E8M0, F32, UE4M3
        >>> [one.kind.value for one in (E8M0, UE4M3, BINARY8P1UF, F32)]
        ['power', 'small_float', 'small_float', 'float32']
        """
        if self.is_power:
            return ScaleKind.POWER
        if self.is_float32:
            return ScaleKind.FLOAT32
        return ScaleKind.SMALL_FLOAT if self.bits <= 8 and self.subnormals else None


@dataclass(frozen=True, slots=True)
class BlockFormat:
    """A block format: an element format, a scale format and a block size.

    Args:
        name: the name used by functions, vectors and the command line.
        element: format of the elements.
        scale: format of the shared scale: powers of two like E8M0's, small floats with a zero, or
            float32 without sign.
        block_size: elements that share one scale, at least 1; for blocks along several axes one
            number for each, such as (32, 32).
        tensor_scale: True where a float32 scale of the whole tensor multiplies every block
            (two-level formats such as NVFP4); none of the six concrete MX formats has one.

    >>> from mxref.formats.catalog import E2M1, E5M0, block_format
    >>> mxfp4 = block_format("mxfp4_e2m1")
    >>> mxfp4.element.name, mxfp4.scale.name, mxfp4.block_size, mxfp4.bits_per_block
    ('e2m1', 'e8m0', 32, 136)
    >>> BlockFormat("mine", E2M1, E5M0, 32).bits_per_block
    133

    Raises:
        ValueError: block_size is below 1, or the scale has more than 8 bits or, if its codes are
            not powers of two like those of `E8M0`, no zero.
    Source: OCP MX v1.0 5.1, 5.2 Table 1.
    """

    name: str
    element: ElementFormat
    scale: ScaleFormat
    block_size: int | tuple[int, ...]
    tensor_scale: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.element, ElementFormat) or not isinstance(self.scale, ScaleFormat):
            raise TypeError(
                f"{self.name} must have an ElementFormat and a ScaleFormat, got "
                f"{type(self.element).__name__} and {type(self.scale).__name__}"
            )
        if self.scale.kind is None:
            raise ValueError(
                f"{self.name} must have scales of at most 8 bits with a zero, or 2 to 8 exponent "
                "bits alone for powers of two from 2**-127 to 2**127 and a NaN in the last code, "
                f"as e8m0 has, or be f32, got {self.scale.name}"
            )
        if self.tensor_scale and self.scale.kind is not ScaleKind.SMALL_FLOAT:
            raise ValueError(
                "tensor_scale must be False with scales that are powers of two alone or float32, "
                f"got {self.name} with {self.scale.name}"
            )
        several = isinstance(self.block_size, (tuple, list))
        given: Any = self.block_size if several else (self.block_size,)
        sizes = tuple(integer(size, "block_size") for size in given)
        for size in sizes:
            if size < 1:
                raise ValueError(f"block_size must be at least 1, got {self.block_size}")
            if size > 1 << 31:
                raise ValueError(f"block_size must be at most 2**31, got {self.block_size}")
        if not sizes:
            raise ValueError("block_size must have a number for each axis, got ()")
        object.__setattr__(self, "block_size", sizes if several else sizes[0])

    def __hash__(self) -> int:
        """By the fields that tell formats apart nearly always: formats are keys of tables."""
        return hash((self.name, self.block_size))

    @property
    def block_shape(self) -> tuple[int, ...]:
        """The block's length along each of its axes."""
        return self.block_size if isinstance(self.block_size, tuple) else (self.block_size,)

    @property
    def is_tiled(self) -> bool:
        """Whether blocks lie over several axes."""
        return isinstance(self.block_size, tuple) and len(self.block_size) > 1

    @property
    def elements_per_block(self) -> int:
        """Elements that share one scale: k of MX 5.1."""
        return math.prod(self.block_shape)

    @property
    def bits_per_block(self) -> int:
        """Bits of one block: w + k * d of MX 5.1."""
        return self.scale.bits + self.elements_per_block * self.element.bits

"""A profile: a policy, and the stages in which an implementation differs from it."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from mxref import formats
from mxref.bits.floats import I64, U8, Bits, FloatLayout, Floats, bits_of, floats_from, layout_of
from mxref.formats.catalog import E8M0, BlockFormat, ElementFormat
from mxref.numbers.codes import codes_of
from mxref.numbers.element import decode, encode
from mxref.numbers.scale import decode_scale, encode_scale, shared_scale
from mxref.numbers.source import numbers_of
from mxref.policy.policy import Policy
from mxref.profiles.stages import Rows, Stages, exactly
from mxref.support.threads import CHUNK

if TYPE_CHECKING:  # a policy and its names are often all that is asked for
    from mxref.blocks.container import Blocks
    from mxref.blocks.given_scales import AmaxOf
    from mxref.blocks.reading import Products
    from mxref.blocks.tiles import Axis
    from mxref.blocks.two_level import TensorScales

__all__ = ["Profile"]


@dataclass(frozen=True, slots=True)
class Profile:
    """The model of a real implementation, equal to it bit for bit in the formats it names.

    Args:
        name: its name.
        policy: the policy.
        source: the implementation, and the file or function with its rules.
        version: the version of the implementation.
        checked: the adapter whose answers it was compared with.
        formats: the formats of each operation that it models; every format if None.
        floats: the float types of which the model is bit for bit; all if None. To other types it
            decodes by its policy, which is no claim about the implementation.
        stages: the stages in which the implementation differs from the policy.

    >>> import mxref
    >>> x, torchao = np.float32([2.0**-126, 0.0]), mxref.profile("torchao_0_18_floor")
    >>> torchao.quantize(x, "mxfp4_e2m1").codes[0], mxref.quantize(x, "mxfp4_e2m1").codes[0]
    (np.uint8(2), np.uint8(4))
    """

    name: str
    policy: Policy
    source: str
    version: str
    checked: str = ""
    formats: Mapping[str, tuple[str, ...]] | None = field(default=None, hash=False)
    floats: tuple[str, ...] | None = None
    stages: Stages = field(default_factory=Stages)

    def __repr__(self) -> str:
        """A line, as the policy and the stages are long.

        >>> from mxref.profiles import profile
        >>> profile("torchao_0_18_even")
        <Profile torchao_0_18_even: pytorch/ao 0.18.0, torch 2.13.0>
        """
        return f"<Profile {self.name}: {self.about}>"

    def speaks_of(self, op: str, format: str) -> bool:
        """Whether the profile models an operation on a format.

        >>> from mxref.profiles import profile
        >>> profile("ml_dtypes").speaks_of("encode", "int8")
        False
        """
        return self.formats is None or format in self.formats.get(op, ())

    @property
    def about(self) -> str:
        """The modelled implementation and its version, in a line.

        >>> from mxref.profiles import profile
        >>> profile("torchao_0_18_even").about
        'pytorch/ao 0.18.0, torch 2.13.0'
        """
        return f"{self.source.partition(',')[0]} {self.version}"

    @property
    def has(self) -> str:
        """The modelled operations and formats in words; the float types unless they are all.

        >>> from mxref.profiles import profile
        >>> profile("executorch").has
        'dequantize mxfp8_e5m2, mxfp8_e4m3; floats f32, bf16'
        """
        parts = [f"{op} {', '.join(names)}" for op, names in (self.formats or {}).items()]
        floats = [f"floats {', '.join(self.floats)}"] if self.floats else []
        return "; ".join([*(parts or ["every operation and format"]), *floats])

    @property
    def replaced(self) -> tuple[str, ...]:
        """The names of the stages that differ from the policy."""
        default = Stages()
        names = Stages.__dataclass_fields__
        return tuple(n for n in names if getattr(self.stages, n) is not getattr(default, n))

    def encode(self, values: ArrayLike, format: str | ElementFormat) -> U8:
        """Element codes of numbers, as `mxref.encode` gives them.

        Raises:
            ValueError: an operation, format or float type that the implementation does not have.
        """
        fmt = formats.element_format(format)
        self._refuse("encode", fmt.name)
        if "element" not in self.replaced:
            return encode(self._own(values), fmt, self.policy)
        numbers = numbers_of(self._own(values), self.policy.element)
        return self._in_chunks(*numbers, fmt, self.stages.encode)

    def decode(
        self, codes: ArrayLike, format: str | ElementFormat, dtype: DTypeLike = np.float32
    ) -> Floats:
        """The numbers of element codes, as `mxref.decode` gives them; see `encode`."""
        fmt = formats.element_format(format)
        self._refuse("decode", fmt.name)
        if "decode" not in self.replaced:
            return decode(codes, fmt, dtype, self.policy)
        layout, block = layout_of(dtype), BlockFormat(fmt.name, fmt, E8M0, 1)
        table = self.stages.decode(block, layout, self.policy).reshape(-1, fmt.code_count)
        return floats_from(np.asarray(table[E8M0.bias][codes_of(codes, fmt)]), layout)

    def encode_scale(self, values: ArrayLike) -> U8:
        """E8M0 codes of numbers, as `mxref.encode_scale` gives them; see `encode`."""
        self._refuse("encode_scale", "e8m0")
        own = self._own(values)
        if "e8m0" not in self.replaced:
            return encode_scale(own, self.policy)
        bits, layout = bits_of(own)
        with np.errstate(all="ignore"):
            return self.stages.e8m0(exactly(bits, layout), layout, self.policy).astype(np.uint8)

    def decode_scale(self, codes: ArrayLike, dtype: DTypeLike = np.float32) -> Floats:
        """The numbers of E8M0 codes, as `mxref.decode_scale` gives them; see `encode`."""
        self._refuse("decode_scale", "e8m0")
        return decode_scale(codes, dtype, self.policy)

    def shared_scale(self, amax: ArrayLike, format: str | ElementFormat) -> U8:
        """E8M0 codes of the scales for blocks with these largest magnitudes; see `encode`."""
        fmt = formats.element_format(format)
        self._refuse("shared_scale", fmt.name)
        if not {"amax", "scale", "nonfinite"} & {*self.replaced}:
            return shared_scale(self._own(amax, "amax"), fmt, policy=self.policy)
        numbers = bits_of(self._own(amax, "amax"), "amax")
        return self._in_chunks(*numbers, fmt, self.stages.shared_scale)

    def quantize(
        self,
        values: ArrayLike,
        block_format: str | BlockFormat,
        *,
        axis: Axis = -1,
        block_size: int | tuple[int, ...] | None = None,
        tensor_scale: TensorScales | AmaxOf | ArrayLike | None = None,
        amax: float | None = None,
        out: tuple[U8, U8] | None = None,
    ) -> Blocks:
        """Blocks of a tensor, as `mxref.quantize` gives them; see `encode`.

        With `block_size` blocks have that size, by the same rules. If the format has a tensor scale
        and `tensor_scale` is None, it is computed from the tensor. A stage sees whole blocks, so
        that the memory of a profile with stages grows with the block.
        """
        from mxref.blocks.quantization import quantize, quantize_by
        from mxref.blocks.shapes import format_and_policy

        fmt, _ = format_and_policy(block_format, block_size, self.policy, {})
        self._refuse_blocks("quantize", fmt)
        array = self._own(values)
        if not {*self.replaced} - {"decode", "pack", "e8m0", "scaled", "scales"}:
            blocks = quantize(
                array, fmt, self.policy, axis=axis, tensor_scale=tensor_scale, amax=amax, out=out
            )
            return self._scaled(array, blocks, out) if "scaled" in self.replaced else blocks
        if amax is not None:
            raise ValueError(
                f"amax must be None under profile {self.name}, got {amax}: leave it out"
            )
        by_blocks = self.stages.blocks
        if tensor_scale is not None and by_blocks is None:
            raise ValueError(
                f"tensor_scale must be None for {fmt.name} under profile {self.name}, got one: "
                "leave it out"
            )

        def rows_of(bits: Bits, layout: FloatLayout, tensor: TensorScales | None) -> tuple[U8, U8]:
            rows = Rows.of(bits, layout, fmt.element, self.policy)
            if by_blocks is not None:
                with np.errstate(all="ignore"):
                    return by_blocks(rows, None if tensor is None else tensor.numbers, fmt)
            scales, codes = self.stages.quantize(rows)
            return scales.astype(np.uint8), codes.astype(np.uint8)

        formula = self.stages.tensor
        return quantize_by(rows_of, array, fmt, self.policy, axis, out, tensor_scale, formula)

    def dequantize(self, blocks: Blocks, dtype: DTypeLike = np.float32) -> Floats:
        """The numbers that blocks stand for, as `mxref.dequantize` gives them; see `encode`."""
        from mxref.blocks.container import Blocks
        from mxref.blocks.dequantization import dequantize, read_by
        from mxref.blocks.product_tables import products_by, refuse_other_kind

        if not isinstance(blocks, Blocks):
            raise TypeError(f"blocks must be a Blocks, got {type(blocks).__name__}")
        self._refuse_blocks("dequantize", blocks.format)
        layout = layout_of(dtype)
        if self.stages.scales is not None:
            refuse_other_kind(self.policy.scale.scale_arithmetic, blocks.tensor_scale)
            by = products_by(self.stages.scales, blocks.format, layout, blocks.tensor_scale)
            return read_by(by, blocks)
        if "decode" not in self.replaced:
            return dequantize(blocks, dtype, self.policy)
        return read_by(_products(self.stages.decode, blocks.format, layout, self.policy), blocks)

    def pack(self, codes: ArrayLike, format: str | ElementFormat) -> U8:
        """Bytes of element codes, as `mxref.pack` gives them; see `encode`."""
        fmt = formats.element_format(format)
        self._refuse("pack", fmt.name)
        array = codes_of(codes, fmt)
        if not array.ndim:
            raise ValueError("codes must have at least one axis, got a scalar: pass a list of one")
        return self.stages.pack(array, fmt.name, self.policy)

    def unpack(self, packed: ArrayLike, format: str | ElementFormat, count: int) -> U8:
        """Element codes of bytes, as `mxref.unpack` gives them; see `encode`."""
        from mxref.packing.elements import unpack

        fmt = formats.element_format(format)
        self._refuse("unpack", fmt.name)
        return unpack(packed, fmt, count, self.policy)

    def _scaled(self, array: ArrayLike, blocks: Blocks, out: tuple[U8, U8] | None) -> Blocks:
        """Blocks under scales that are no powers of two, with the codes of the stage."""
        x = exactly(*bits_of(array)).reshape(blocks.shape)
        missing = zip(blocks.codes.shape, blocks.shape, strict=True)
        padded = np.pad(x, [(0, held - own) for held, own in missing])
        with np.errstate(all="ignore"):
            codes = self.stages.scaled(blocks, padded)
        if out is None:
            return dataclasses.replace(blocks, codes=codes)
        out[0][...] = codes  # which the blocks see
        return blocks

    def _refuse(self, op: str, format: str) -> None:
        if not self.speaks_of(op, format):
            has = ", ".join((self.formats or {}).get(op, ())) or "no format"
            raise ValueError(
                f"format must be one that {self.name} has for {op}: {has}; got {format}"
            )

    def _refuse_blocks(self, op: str, fmt: BlockFormat) -> None:
        self._refuse(op, fmt.name)
        known = fmt if self.formats is None else formats.block_format(fmt.name)
        if (fmt.element, fmt.scale) != (known.element, known.scale):
            raise ValueError(
                f"{fmt.name} must be of {known.element.name} and {known.scale.name} for profile "
                f"{self.name}, got one of {fmt.element.name} and {fmt.scale.name}: use "
                "mxref.quantize with a policy"
            )

    def _own(self, values: ArrayLike, parameter: str = "values") -> ArrayLike:
        """The values, after refusing a float type that the implementation does not take."""
        if self.floats is not None:
            layout = bits_of(values, parameter)[1]
            if layout.name not in self.floats:
                takes = ", ".join(self.floats)
                raise ValueError(
                    f"{parameter} must be of a type that {self.name} takes ({takes}), "
                    f"got {layout.name}: convert them"
                )
        return values

    def _in_chunks(
        self,
        bits: Bits,
        layout: FloatLayout,
        fmt: ElementFormat,
        codes_of: Callable[[Rows], I64],
    ) -> U8:
        """One code for each number, each treated as a block of one."""
        flat = bits.reshape(-1, 1)
        codes = np.empty(flat.size, np.uint8)
        for start in range(0, flat.size, CHUNK):
            some = flat[start : start + CHUNK]
            rows = Rows.of(some, layout, fmt, self.policy)
            codes[start : start + CHUNK] = codes_of(rows).reshape(-1)
        return codes.reshape(bits.shape)


@functools.lru_cache(maxsize=64)
def _products(
    decode: Callable[[BlockFormat, FloatLayout, Policy], NDArray[Any]],
    fmt: BlockFormat,
    layout: FloatLayout,
    policy: Policy,
) -> Products:
    from mxref.blocks.reading import Products

    return Products(decode(fmt, layout, policy).reshape(-1), fmt.element.bits, layout)

"""Quantization in stages, each of which a profile can replace.

Numbers are float64 that hold those of the source type exactly, NaN with its sign and payload. So no
mode of the processor changes them; `mxref.bits.float32` rounds as float32 arithmetic does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import F64Array, wide
from mxref.bits.floats import F32, F64, I64, U8, Bits, FloatLayout, split
from mxref.bits.single import single
from mxref.formats.catalog import E8M0, BlockFormat, ElementFormat
from mxref.numbers.element import FEW, encode_parts, encoded
from mxref.numbers.scale import encode_scale
from mxref.numbers.scale_steps import scale_codes
from mxref.policy.choices import BlockInf, BlockNaN, NaNBlockCodes
from mxref.policy.policy import Policy

if TYPE_CHECKING:
    from mxref.blocks.arithmetics import ScaleFormula, TensorFormula
    from mxref.blocks.container import Blocks

__all__ = [
    "NAN_SCALE",
    "Rows",
    "Stages",
    "e8m0_by_policy",
    "element_by_policy",
    "exact_quotients",
    "exactly",
    "float32_bits",
    "largest_number",
    "largest_or_nan",
    "nan_block_codes",
    "powers",
    "scale_by_rule",
    "unchanged",
]

NAN_SCALE = 0xFF
_PAYLOAD = np.int64((1 << 52) - 1)


@dataclass(frozen=True, slots=True)
class Rows:
    """The blocks that a stage works on, one a row.

    Args:
        x: the numbers, (n, k) float64.
        layout: the float type of the source.
        format: the element format.
        policy: the profile's policy.
    """

    x: F64Array
    layout: FloatLayout
    format: ElementFormat
    policy: Policy

    @classmethod
    def of(cls, bits: Bits, layout: FloatLayout, format: ElementFormat, policy: Policy) -> Rows:
        """Rows from bit patterns of a float type."""
        x = exactly(bits, layout)
        if layout is not F64:
            words = bits.astype(np.int64) << (52 - layout.mantissa_bits)
            nan = np.isnan(x)
            x = np.where(nan, x.view(np.int64) & ~_PAYLOAD | words & _PAYLOAD, x.view(np.int64))
        return cls(x.view(np.float64), layout, format, policy)


def exactly(bits: Bits, layout: FloatLayout) -> F64Array:
    """The float64 numbers of bit patterns of a float type."""
    return bits.view(np.float64) if layout is F64 else wide(bits, layout)


def float32_bits(x: F64Array) -> I64:
    """Bit patterns of numbers that float32 holds, NaN with its payload."""
    wide_bits, s = np.asarray(x, np.float64).view(np.int64), single()
    bits = s.write(s.of(wide_bits.view(np.float64))).astype(np.int64)
    nan = wide_bits >> 32 & 0x8000_0000 | F32.inf_bits | wide_bits >> 29 & 0x7F_FFFF
    return np.where(np.isnan(x), nan, bits)


def powers(exponents: I64) -> F64Array:
    """2**exponents, for -1022 to 1023."""
    fields: I64 = np.asarray(exponents, np.int64) + 1023
    numbers: F64Array = (fields << 52).view(np.float64)
    return numbers


def largest_finite(rows: Rows) -> F64Array:
    """The largest finite magnitude of each block, (n,)."""
    amax: F64Array = _finite(np.abs(rows.x)).max(axis=1)
    return amax


def largest_or_nan(rows: Rows) -> F64Array:
    """NaN for a block that has one, else the largest magnitude, infinity included."""
    amax: F64Array = np.maximum.reduce(np.abs(rows.x), axis=1)
    return amax


def largest_number(rows: Rows) -> F64Array:
    """The largest magnitude among the numbers and infinities of a block; 0 if all are NaN."""
    size = np.abs(rows.x)
    amax: F64Array = np.where(np.isnan(size), 0.0, size).max(axis=1)
    return amax


def scale_by_rule(amax: F64Array, rows: Rows) -> I64:
    """Scale codes, (n,), by the policy's rule and its choices for NaN and infinity."""
    chosen = rows.policy.scale
    code = scale_codes(_finite(amax).view(np.uint64), F64, rows.format, chosen).codes
    has_nan, has_inf = np.isnan(rows.x).any(axis=1), np.isinf(rows.x).any(axis=1)
    if chosen.block_inf is BlockInf.LARGEST_SCALE:
        code = np.where(has_inf, E8M0.max_code, code)
    code = np.where(has_inf & (chosen.block_inf is BlockInf.NAN_BLOCK), NAN_SCALE, code)
    return np.where(has_nan & (chosen.block_nan is BlockNaN.NAN_BLOCK), NAN_SCALE, code)


def exact_quotients(code: I64, rows: Rows) -> F64Array:
    """The elements before they are rounded, (n, k): numbers / 2**(code - 127)."""
    power = powers(E8M0.bias - code)[:, np.newaxis]
    return np.where(np.isnan(rows.x), rows.x, rows.x * power)


def element_by_policy(quotients: F64Array, rows: Rows) -> I64:
    """Element codes, (n, k), by the policy."""
    if quotients.size >= FEW:
        return encoded(quotients, rows.format, rows.policy.element).astype(np.int64)
    parts = split(quotients.view(np.uint64), F64)
    return encode_parts(parts, rows.format, rows.policy.element).astype(np.int64)


def nan_block_codes(code: I64, elements: I64, rows: Rows) -> tuple[I64, I64]:
    """Stored codes: element codes under a NaN scale are those of the policy."""
    ones = rows.policy.scale.nan_block_codes is NaNBlockCodes.ONES
    filler = rows.format.code_count - 1 if ones else 0
    return code, np.where((code == NAN_SCALE)[:, np.newaxis], filler, elements)


def unchanged(code: I64, elements: I64, rows: Rows) -> tuple[I64, I64]:
    """Scale codes and element codes of every block as the stages before gave them."""
    return code, elements


def e8m0_by_policy(x: F64Array, layout: FloatLayout, policy: Policy) -> I64:
    """E8M0 codes of numbers, by the policy."""
    return encode_scale(x, policy).astype(np.int64)


def products(fmt: BlockFormat, layout: FloatLayout, policy: Policy) -> NDArray[Any]:
    """Patterns of scale * element, by scale code * 2**bits + element code."""
    from mxref.blocks.product_tables import product_table

    return product_table(fmt, layout, policy.decode)


def packed(codes: U8, format: str, policy: Policy) -> U8:
    """Bytes of element codes, by the policy."""
    from mxref.packing.elements import pack

    return pack(codes, format, policy)


def scaled_by_policy(blocks: Blocks, x: F64Array) -> U8:
    """Element codes as the policy gave them."""
    return blocks.codes


def _finite(x: F64Array) -> F64Array:
    return np.where(np.isfinite(x), x, 0.0)


#: Scale codes and element codes.
_Codes = tuple[U8, U8]


@dataclass(frozen=True, slots=True)
class Stages:
    """The stages of quantization; the default of each stage follows the policy exactly.

    Args:
        amax: a block's largest magnitude, with any value for a block of NaN or infinity.
        scale: scale codes from amaxes; other integers too, if `nonfinite` turns them into 0 to 255.
        divide: the elements before they are rounded.
        element: element codes of the quotients.
        nonfinite: the stored scale codes and element codes, from those of the stages before.
        decode: bit patterns of all products.
        pack: bytes of element codes (..., n).
        e8m0: E8M0 codes of numbers, for `encode_scale`.
        scaled: element codes under scales that are no powers of two, from those of the policy and
            the numbers, both with the padding.
        tensor: the stored numbers of tensors from their largest magnitudes; None is the policy's.
        blocks: scale codes and element codes under scales that are no powers of two, from the
            number of the tensor, an array of one or of one for each block, which may be None; None
            is the policy's.
        scales: what elements are multiplied by to be read, from such scales and that number; None
            is the policy's.
        bounds: the lowest and the highest scale codes and element codes that the implementation
            may give, where its arithmetic is not defined to the bit, the elements under the scale
            codes that it has stored; None where there is one answer.
    """

    amax: Callable[[Rows], F64Array] = largest_finite
    scale: Callable[[F64Array, Rows], I64] = scale_by_rule
    divide: Callable[[I64, Rows], F64Array] = exact_quotients
    element: Callable[[F64Array, Rows], I64] = element_by_policy
    nonfinite: Callable[[I64, I64, Rows], tuple[I64, I64]] = nan_block_codes
    decode: Callable[[BlockFormat, FloatLayout, Policy], NDArray[Any]] = products
    pack: Callable[[U8, str, Policy], U8] = packed
    e8m0: Callable[[F64Array, FloatLayout, Policy], I64] = e8m0_by_policy
    scaled: Callable[[Blocks, F64Array], U8] = scaled_by_policy
    tensor: TensorFormula | None = None
    blocks: Callable[[Rows, F64Array | None, BlockFormat], tuple[U8, U8]] | None = None
    scales: ScaleFormula | None = None
    bounds: Callable[[Rows, F64Array | None, BlockFormat, U8], tuple[_Codes, _Codes]] | None = None

    def quantize(self, rows: Rows) -> tuple[I64, I64]:
        """Scale codes (n,) and element codes (n, k)."""
        with np.errstate(all="ignore"):
            code = self.scale(self.amax(rows), rows)
            return self.nonfinite(code, self.element(self.divide(code, rows), rows), rows)

    def encode(self, rows: Rows) -> I64:
        """Element codes of the numbers, without a scale."""
        with np.errstate(all="ignore"):
            return self.element(rows.x, rows)

    def shared_scale(self, rows: Rows) -> I64:
        """Scale codes (n,) alone."""
        with np.errstate(all="ignore"):
            code = self.scale(self.amax(rows), rows)
            return self.nonfinite(code, np.zeros(rows.x.shape, np.int64), rows)[0]

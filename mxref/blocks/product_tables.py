"""Tables of scale times element, for every scale code and element code."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import fl
from mxref.bits.floats import F32, F64, FloatLayout, Parts, compose, floor_log2, split
from mxref.blocks.arithmetics import ARITHMETICS, ScaleFormula, numbers
from mxref.blocks.exact_scales import quotient
from mxref.blocks.reading import Products, RowProducts
from mxref.blocks.two_level import Ratio, RowScales, TensorScale, TensorScales
from mxref.formats.catalog import BlockFormat
from mxref.numbers.codes import every_code
from mxref.numbers.scale import scale_parts
from mxref.policy.choices import DecodedZero, ProductOverflow, ProductRounding, ScaleArithmetic
from mxref.policy.groups import DecodePolicy


@functools.lru_cache(maxsize=64)
def product_table(
    fmt: BlockFormat,
    layout: FloatLayout,
    policy: DecodePolicy,
    arithmetic: ScaleArithmetic = ScaleArithmetic.EXACT,
    tensor: TensorScale | None = None,
) -> NDArray[Any]:
    """Patterns of scale * element, by scale code * 2**bits + element code.

    Raises:
        ValueError: an arithmetic with a tensor scale of another kind than its own.
    """
    refuse_other_kind(arithmetic, tensor)
    return _patterns(_every(fmt), fmt, layout, policy, arithmetic, tensor).reshape(-1)


class _Pairs(NamedTuple):
    """Codes of scales (n,), and of the elements under them, (n, k) or the same (k,) for all."""

    scales: NDArray[Any]
    elements: NDArray[Any]


def _every(fmt: BlockFormat) -> _Pairs:
    return _Pairs(np.arange(1 << fmt.scale.bits), np.arange(1 << fmt.element.bits))


def _patterns(
    codes: _Pairs,
    fmt: BlockFormat,
    layout: FloatLayout,
    policy: DecodePolicy,
    arithmetic: ScaleArithmetic,
    tensor: TensorScales | None,
) -> NDArray[Any]:
    """Patterns of scale * element, (n, k)."""
    # cuBLAS documents no order of operations for reading.
    if arithmetic not in (ScaleArithmetic.EXACT, ScaleArithmetic.CUBLAS):
        products = _float32_products(codes, fmt, ARITHMETICS[arithmetic].scales, tensor)
        bits = compose(products, layout)
        overflows = np.zeros(bits.shape, bool)
    else:
        bits, products, overflows = _exact_products(codes, fmt, layout, policy, tensor)
    magnitude = bits & layout.uint.type(layout.sign_bit - 1)
    overflows = overflows | (magnitude == layout.inf_bits) & ~products.is_inf
    if policy.product_overflow is ProductOverflow.NAN:
        bits = np.where(overflows, layout.uint.type(layout.nan_bits), bits)
    elif policy.product_overflow is ProductOverflow.SATURATE:
        bits = bits - overflows.astype(layout.uint)
    if policy.decoded_zero is DecodedZero.DROPPED:
        bits = np.where(magnitude == 0, layout.uint.type(0), bits)
    return bits


def products_of(
    fmt: BlockFormat,
    layout: FloatLayout,
    policy: DecodePolicy,
    arithmetic: ScaleArithmetic = ScaleArithmetic.EXACT,
    tensor: TensorScales | None = None,
) -> Products | RowProducts:
    """`product_table` as what blocks are read by.

    With scales of rows, or float32 scales, their products one by one.
    """
    if not isinstance(tensor, RowScales) and not fmt.scale.is_float32:
        return _kept(fmt, layout, policy, arithmetic, tensor)
    refuse_other_kind(arithmetic, tensor)

    def read(
        scales: NDArray[Any], elements: NDArray[Any], some: TensorScales | None
    ) -> NDArray[Any]:
        return _patterns(_Pairs(scales, elements), fmt, layout, policy, arithmetic, some)

    return RowProducts(read, layout, tensor)


@functools.lru_cache(maxsize=64)
def _kept(
    fmt: BlockFormat,
    layout: FloatLayout,
    policy: DecodePolicy,
    arithmetic: ScaleArithmetic,
    tensor: TensorScale | None,
) -> Products:
    """`products_of`, kept, so that what is made from it is, too."""
    table = product_table(fmt, layout, policy, arithmetic, tensor)
    return Products(table, fmt.element.bits, layout)


def _exact_products(
    codes: _Pairs,
    fmt: BlockFormat,
    layout: FloatLayout,
    policy: DecodePolicy,
    tensor: TensorScales | None,
) -> tuple[NDArray[Any], Parts, NDArray[np.bool_]]:
    """Patterns, the exact products, and where the scale alone is beyond the type."""
    element, ratio = _taken(every_code(fmt.element), codes.elements), Ratio()
    if fmt.scale.is_float32:
        scale = split(codes.scales, F32)
    else:
        power = fmt.scale.is_power
        scale = scale_parts(policy, fmt.scale) if power else every_code(fmt.scale)
        scale = _taken(scale, codes.scales)
    if tensor is not None:
        ratio = tensor.ratio(fmt)
        scale = ratio.times(scale)
    scale_overflows = np.zeros(scale.is_inf.shape, bool)
    if policy.product_rounding is ProductRounding.SCALE_FIRST:
        rounded = _odd_significands(split(_rounded(scale, ratio, layout), layout))
        scale_overflows = rounded.is_inf & ~scale.is_inf
        scale, ratio = rounded, Ratio()
    scale_inf, scale_zero = scale.is_inf[:, np.newaxis], scale.significand[:, np.newaxis] == 0
    element_zero = (element.significand == 0) & ~element.is_inf
    is_nan = scale.is_nan[:, np.newaxis] | element.is_nan
    is_nan = is_nan | (scale_inf & element_zero) | (scale_zero & ~scale_inf & element.is_inf)
    products = Parts(
        negative=element.negative & ~is_nan,
        significand=scale.significand[:, np.newaxis] * element.significand,
        exponent=scale.exponent[:, np.newaxis] + element.exponent,
        is_inf=(scale_inf | element.is_inf) & ~is_nan,
        is_nan=is_nan,
        is_subnormal=np.zeros(is_nan.shape, bool),
    )
    lost = scale_overflows[:, np.newaxis] & ~element.is_inf & products.is_inf
    return _rounded(products, ratio, layout), products, lost


def _taken(parts: Parts, codes: NDArray[Any]) -> Parts:
    """The numbers of codes, of those of every code."""
    return Parts(*(getattr(parts, field.name)[codes] for field in dataclasses.fields(parts)))


def _rounded(parts: Parts, ratio: Ratio, layout: FloatLayout) -> NDArray[Any]:
    """Patterns of numbers divided by the ratio's denominator, rounded once."""
    below = np.asarray(ratio.denominator, np.int64)
    if (below == 1).all():
        return compose(parts, layout)
    below = below.reshape(-1, *[1] * (parts.significand.ndim - 1))
    if layout != F64:
        return compose(quotient(parts, below, np.int64(0)), layout)
    pairs = np.broadcast(parts.significand, below)
    nearest = [_nearest(int(n), int(d)) for n, d in pairs]
    n, e = np.array(nearest, np.int64).T.reshape(2, *parts.significand.shape)
    return compose(dataclasses.replace(parts, significand=n, exponent=parts.exponent + e), F64)


def _nearest(n: int, d: int) -> tuple[int, int]:
    """The number of 53 bits, as significand and exponent, that is nearest to n / d < 2**64.

    On integers: Python's own division of integers is one of floats where both are small.
    """
    if n == 0:
        return 0, 0
    whole, rest = divmod(n << 100, d)
    cut = whole.bit_length() - 53
    low, half = whole & ((1 << cut) - 1), 1 << (cut - 1)
    whole >>= cut
    whole += low > half or (low == half and (rest > 0 or whole & 1 == 1))
    return (whole, cut - 100) if whole < 1 << 53 else (1 << 52, cut - 99)


def products_by(
    scales_of: ScaleFormula, fmt: BlockFormat, layout: FloatLayout, tensor: TensorScales | None
) -> Products | RowProducts:
    """Products in float32 with what a formula makes of scales, as what blocks are read by."""
    if not isinstance(tensor, RowScales):
        return _kept_by(scales_of, fmt, layout, tensor)

    def read(
        scales: NDArray[Any], elements: NDArray[Any], some: TensorScales | None
    ) -> NDArray[Any]:
        codes = _Pairs(scales, elements)
        return compose(_float32_products(codes, fmt, scales_of, some), layout)

    return RowProducts(read, layout, tensor)


@functools.lru_cache(maxsize=64)
def _kept_by(
    scales_of: ScaleFormula, fmt: BlockFormat, layout: FloatLayout, tensor: TensorScale | None
) -> Products:
    bits = compose(_float32_products(_every(fmt), fmt, scales_of, tensor), layout)
    return Products(bits.reshape(-1), fmt.element.bits, layout)


def _float32_products(
    codes: _Pairs, fmt: BlockFormat, scales_of: ScaleFormula, tensor: TensorScales | None
) -> Parts:
    with np.errstate(all="ignore"):
        stored = None if tensor is None else tensor.numbers
        scales = scales_of(numbers(fmt.scale)[codes.scales], stored, fmt)
        products = fl(scales[:, np.newaxis] * numbers(fmt.element)[codes.elements])
    parts = split(products.view(np.uint64), F64)
    return dataclasses.replace(parts, negative=parts.negative & ~parts.is_nan)


def refuse_other_kind(arithmetic: ScaleArithmetic, tensor: TensorScales | None) -> None:
    """Refuse a tensor scale of another kind than the arithmetic's own.

    Raises:
        ValueError: it has another kind.
    """
    if arithmetic is ScaleArithmetic.EXACT or tensor is None:
        return
    kind = ARITHMETICS[arithmetic].kind
    if tensor.kind is not kind:
        raise ValueError(
            f"scale_arithmetic={arithmetic.value} must have a tensor scale of kind {kind.value}, "
            f"got {tensor.kind.value}: dequantize with the arithmetic that quantized, or with exact"
        )


def _odd_significands(parts: Parts) -> Parts:
    """The same numbers with odd significands, so that products stay small."""
    shift = floor_log2(parts.significand & -parts.significand)
    return dataclasses.replace(
        parts, significand=parts.significand >> shift, exponent=parts.exponent + shift
    )

"""Class H in blocks of 16: scales of tensors and of blocks that a product reads wrongly."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import U8, Floats
from mxref.formats.base import CodeFormat
from mxref.formats.catalog import E2M1, E8M0, OTHER_BLOCK_FORMATS, BlockFormat
from mxref.mutants.mutant import Function, Mutant, Mutants, wrong
from mxref.operations.product_words import SCALED_PAIRS

__all__ = ["NUMBERS", "SCALED_PRODUCTS", "Numbers", "wrong_numbers"]

Array = NDArray[np.float64]
_NVFP4 = ("nvfp4-nvfp4",)
#: Pairs whose scales have fractions, and zeros, on some side; on the first, with a bias of 7; and
#: pairs of two equal formats.
_SMALL = tuple(one for one in SCALED_PAIRS if one != "fp4_e8m0-fp4_e8m0")
_BIAS_7 = tuple(one for one in SCALED_PAIRS if one.startswith(("nvfp4", "fp4_ue4m3")))
_EQUAL = tuple(one for one in SCALED_PAIRS if len({*one.split("-")}) == 1)
_SIZE = 16


class Numbers(NamedTuple):
    """The operands of a product as numbers: elements times scales, and the scales of tensors.

    Args:
        a: (m, k).
        b: (n, k).
        tensors: by what the product is multiplied.
    """

    a: Array
    b: Array
    tensors: tuple[float, float]


#: Another table of what the codes of a format of scales stand for.
_Read = Callable[[CodeFormat, Array], Array]


class _Sides(NamedTuple):
    """The operands of a call: scales and codes of both sides, formats, scales of tensors."""

    scales: tuple[U8, U8]
    codes: tuple[U8, U8]
    formats: tuple[BlockFormat, BlockFormat]
    tensors: tuple[float, float]

    @classmethod
    def of(cls, arguments: tuple[Any, ...]) -> _Sides:
        """Those of the arguments of `matmul`."""
        scales_a, codes_a, scales_b, codes_b, name_a, name_b, _, *given = arguments
        one, other = (1 if tensor is None else float(tensor) for tensor in given or (1, 1))
        scales, codes = (scales_a, scales_b), (codes_a, codes_b)
        formats = OTHER_BLOCK_FORMATS[name_a], OTHER_BLOCK_FORMATS[name_b]
        return cls(scales, codes, formats, (one, other))

    def numbers(self, read: _Read | None = None) -> Numbers:
        """What they stand for, where scale codes stand for what `read` makes of their table."""
        a, b = (
            self._elements(codes)
            * np.repeat((read(fmt.scale, table) if read else table)[scales], _SIZE, axis=1)[
                :, : codes.shape[1]
            ]
            for scales, codes, fmt, table in (
                (*both, _table(both[2].scale))
                for both in zip(self.scales, self.codes, self.formats, strict=True)
            )
        )
        return Numbers(a, b, self.tensors)

    @staticmethod
    def _elements(codes: U8) -> Array:
        numbers: Array = np.array([E2M1.value(code) for code in range(16)])[codes]
        return numbers


def _table(scale: CodeFormat) -> Array:
    """What the codes of a format of scales stand for."""
    return np.array([scale.value(code) for code in range(scale.code_count)])


#: What a wrong product multiplies, of right operands.
_Change = Callable[[_Sides], Numbers]


def _tensors(change: Callable[[float, float], tuple[float, float]]) -> _Change:
    """Other scales of tensors."""

    def run(sides: _Sides) -> Numbers:
        return sides._replace(tensors=change(*sides.tensors)).numbers()

    return run


def _inverse(tensor: float) -> float:
    return float(np.float32(1) / np.float32(tensor))


def _scales(change: Callable[[U8, U8], tuple[U8, U8]]) -> _Change:
    """Scale codes from other places."""

    def run(sides: _Sides) -> Numbers:
        return sides._replace(scales=change(*sides.scales)).numbers()

    return run


def _of_32(scales: U8) -> U8:
    """The scale of element k at k // 32."""
    return scales[:, np.arange(scales.shape[1]) // 2]


def _with_stride(scales: U8, rows: int) -> U8:
    """Scales (n, blocks) read as if so many rows lay side by side."""
    n, blocks = scales.shape
    place = np.arange(blocks) * rows + np.arange(n)[:, np.newaxis]
    found: U8 = scales.reshape(-1)[place % scales.size]
    return found


def _as_e8m0(scale: CodeFormat, table: Array) -> Array:
    return _table(E8M0)[: len(table)]


def _without_nan(scale: CodeFormat, table: Array) -> Array:
    """The NaN of E4M3 as the number that other formats have there: 480; E8M0's as 2**128."""
    (code,) = scale.nan_codes
    bits = scale.mantissa_bits
    significand = 1 + (code & (1 << bits) - 1) / (1 << bits)
    found = table.copy()
    found[code] = np.ldexp(significand, (code >> bits) - scale.bias)
    return found


def _flushed(scale: CodeFormat, table: Array) -> Array:
    """Subnormal scales as zeros; E8M0 has none."""
    subnormal = np.arange(len(table)) < (1 << scale.mantissa_bits) * (scale != E8M0)
    return np.where(subnormal, 0, table)


def _powers(of_a: int, of_b: int) -> _Change:
    """Numbers with so many factors of their scales on each side; NaN stays."""

    def run(sides: _Sides) -> Numbers:
        def read(power: int) -> _Read:
            return lambda scale, table: np.where(np.isnan(table), np.nan, table**power)

        (a, _, _), (_, b, _) = (sides.numbers(read(power)) for power in (of_a, of_b))
        return Numbers(a, b, sides.tensors)

    return run


def _bias_of_bfloat16(sides: _Sides) -> Numbers:
    """Exponents of E4M3 that are widened to bfloat16's by a shift alone: 2**-120 of each scale."""
    a, b, tensors = sides.numbers()
    return Numbers(a * 2.0**-120, b, tensors)


def _last_block_dropped(sides: _Sides) -> Numbers:
    """What is behind the last whole block of 32."""
    a, b, tensors = sides.numbers()
    whole = max(a.shape[1] // 32 * 32, min(32, a.shape[1]))
    return Numbers(a[:, :whole], b[:, :whole], tensors)


#: id of a mutant -> what it multiplies. Its answers may be those of any order of additions.
NUMBERS: Mapping[str, _Change] = {
    "H30": _tensors(lambda a, b: (1.0, 1.0)),
    "H30b": _tensors(lambda a, b: (1.0, b)),
    "H30c": _tensors(lambda a, b: (a, 1.0)),
    "H31": _tensors(lambda a, b: (a, a)),
    "H31b": _tensors(lambda a, b: (b, b)),
    "H31c": _tensors(lambda a, b: (a * a, b * b)),
    "H32": _tensors(lambda a, b: (_inverse(a), _inverse(b))),
    "H33": _scales(lambda a, b: (a, _with_stride(b, len(a)))),
    "H33b": _scales(lambda a, b: (_of_32(a), _of_32(b))),
    "H33c": _scales(lambda a, b: (np.roll(a, -1, 1), b)),
    "H33d": _scales(lambda a, b: (a, np.roll(b, -1, 1))),
    "H33e": _scales(lambda a, b: (b, a) if len(a) == len(b) else (a, b)),
    "H33f": _powers(0, 1),
    "H33g": _powers(1, 0),
    "H33h": _powers(2, 1),
    "H33i": _powers(1, 2),
    "H33j": _powers(2, 2),
    "H34": lambda sides: sides.numbers(_as_e8m0),
    "H34b": _bias_of_bfloat16,
    "H34c": lambda sides: sides.numbers(_flushed),
    "H34d": lambda sides: sides.numbers(_without_nan),
    "H35": _last_block_dropped,
}


def wrong_numbers(id: str, *arguments: Any) -> tuple[Array, Array]:
    """The operands that a mutant multiplies, with the scales of tensors, of those of `matmul`."""
    a, b, tensors = NUMBERS[id](_Sides.of(arguments))
    return a * tensors[0], b * tensors[1]


def _of_numbers(change: _Change) -> Function:
    """The product of wrong numbers."""

    def run(*arguments: Any) -> Floats:
        a, b, tensors = change(_Sides.of(arguments))
        found: Floats = (a @ b.T * tensors[0] * tensors[1]).astype(np.float32)
        return found.astype(arguments[6])

    return run


def _rounded_first(*arguments: Any, sums: Any, alpha: Any) -> Floats:
    """The sum rounded to a narrow float before it meets the scales of tensors, rounded as well."""
    a, b, tensors = _Sides.of(arguments).numbers()
    factor = (np.float32(tensors[0]) * np.float32(tensors[1])).astype(alpha).astype(np.float64)
    found = (a @ b.T).astype(np.float32).astype(sums).astype(np.float64) * factor
    rounded: Floats = found.astype(np.float32).astype(arguments[6])
    return rounded


def _multiplies(
    run: Function, formats: tuple[str, ...] = SCALED_PAIRS, floats: tuple[str, ...] = ("f32",)
) -> Mutant:
    @functools.wraps(run)
    def quietly(*operands: Any) -> Floats:
        with np.errstate(all="ignore"):
            found: Floats = run(*operands)
        return found

    return wrong(quietly, op="matmul", formats=formats, floats=floats, model="M26")


def _reads(id: str, formats: tuple[str, ...] = SCALED_PAIRS) -> Mutant:
    return _multiplies(_of_numbers(NUMBERS[id]), formats)


_BFLOAT16 = ml_dtypes.bfloat16
SCALED_PRODUCTS: Mutants = {
    "H30 tensor_scales_forgotten: leaves the scales of both tensors out": _reads("H30", _NVFP4),
    "H30b tensor_scale_of_a_forgotten: leaves the scale of the first tensor out": _reads(
        "H30b", _NVFP4
    ),
    "H30c tensor_scale_of_b_forgotten: leaves the scale of the second tensor out": _reads(
        "H30c", _NVFP4
    ),
    "H31 tensor_scale_of_a_for_both: multiplies by the scale of the first tensor twice, not by the "
    "second one's": _reads("H31", _NVFP4),
    "H31b tensor_scale_of_b_for_both: multiplies by the scale of the second tensor twice, not by "
    "the first one's": _reads("H31b", _NVFP4),
    "H31c tensor_scales_twice: multiplies by the scales of both tensors twice": _reads(
        "H31c", _NVFP4
    ),
    "H32 tensor_scales_divide: divides by the scales of tensors": _reads("H32", _NVFP4),
    "H33 scales_of_b_with_stride_of_a: reads the scales of the second operand as if they lay in "
    "columns of the first one's rows": _reads("H33"),
    "H33b scale_for_32: takes a scale for each 32 elements": _reads("H33b"),
    "H33c scale_of_next_16_of_a: takes the scale of the next block of 16 of the first operand": (
        _reads("H33c")
    ),
    "H33d scale_of_next_16_of_b: takes the scale of the next block of 16 of the second operand": (
        _reads("H33d")
    ),
    "H33e scales_of_16_swapped: takes the scales of each operand for the other": _reads(
        "H33e", _EQUAL
    ),
    "H33f scales_of_16_of_a_forgotten: leaves the scales of the first operand out": _reads("H33f"),
    "H33g scales_of_16_of_b_forgotten: leaves the scales of the second operand out": _reads("H33g"),
    "H33h scales_of_16_of_a_twice: multiplies by the scales of the first operand twice": (
        _reads("H33h")
    ),
    "H33i scales_of_16_of_b_twice: multiplies by the scales of the second operand twice": (
        _reads("H33i")
    ),
    "H33j scales_of_16_twice: multiplies by the scales of both operands twice": _reads("H33j"),
    "H34 fraction_scale_as_e8m0: reads scales that have fractions as E8M0": _reads("H34", _SMALL),
    "H34b scale_not_rebiased: widens scales to bfloat16 by a shift alone: 2**-120 of each": (
        _reads("H34b", _BIAS_7)
    ),
    "H34c subnormal_scale_flushed: reads subnormal scales as 0": _reads("H34c", _SMALL),
    "H34d scale_nan_is_number: reads the NaN scale as a number": _reads("H34d"),
    "H35 tail_of_16_dropped: leaves out what is behind the last whole 32 elements": _reads("H35"),
    "H36 rounded_before_tensor_scales: rounds the sum to bfloat16, and then multiplies by the "
    "scales of tensors": _multiplies(
        functools.partial(_rounded_first, sums=_BFLOAT16, alpha=np.float32),
        _NVFP4,
        ("f32", "bf16"),
    ),
    "H36b tensor_scales_in_bfloat16: rounds the sum and the product of the scales of tensors to "
    "bfloat16 each": _multiplies(
        functools.partial(_rounded_first, sums=_BFLOAT16, alpha=_BFLOAT16),
        _NVFP4,
        ("f32", "bf16"),
    ),
}

"""The named arithmetics of two-level scaling, float32 operation by operation.

Each is what one implementation computes, in its order of operations. In all of them x are the
elements, one block a row; a is the largest magnitude of each row (a column); t is the stored number
of the tensor (an array of one), or a column of them, or None. All numbers are float64 that float32
holds, and `fl` rounds after every operation. Infinities and NaN follow the arithmetic. Source:
SPEC_NOTES N41, N42.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mxref.bits.float32 import FLT_MAX, F64Array, fl, rounded
from mxref.bits.floats import F16, F32, F64, U8, FloatLayout, compose
from mxref.blocks.two_level import TensorScaleKind
from mxref.formats.catalog import BlockFormat, CodeFormat
from mxref.numbers.codes import every_code
from mxref.numbers.element import encode
from mxref.policy.choices import ScaleArithmetic
from mxref.support.threads import TILE


class Steps(NamedTuple):
    """How elements become quotients, by one operation or two.

    Args:
        codes: the scale codes, a column.
        by: what elements are multiplied by or divided by, a column.
        divides: whether they are divided.
        first: what they are multiplied by before.
        to: the type that the quotients are rounded to.
    """

    codes: U8
    by: F64Array
    divides: bool = False
    first: F64Array | None = None
    to: FloatLayout = F32


StepsOf = Callable[[F64Array, F64Array | None, BlockFormat, FloatLayout], Steps]
#: From the largest magnitudes of tensors to their stored numbers.
TensorFormula = Callable[[F64Array, BlockFormat, FloatLayout], F64Array]
#: From numbers of the scale format to what elements are multiplied by.
ScaleFormula = Callable[[F64Array, F64Array | None, BlockFormat], F64Array]


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """One implementation's formulas.

    Args:
        kind: what the stored number of the tensor is.
        tensor: computes the stored number from the tensor's largest magnitude.
        blocks: computes the scale codes, and the elements divided by their scales; its last
            argument is the type of the values.
        scales: computes what elements are multiplied by, from numbers of the scale format.
        nan_in_amax: whether a NaN makes the largest magnitude NaN; else it is ignored.
        steps: as `blocks` without the elements; None if the scales depend on them.
    """

    kind: TensorScaleKind
    tensor: TensorFormula
    blocks: Callable[
        [F64Array, F64Array, F64Array | None, BlockFormat, FloatLayout], tuple[U8, F64Array]
    ]
    scales: ScaleFormula
    nan_in_amax: bool = True
    steps: StepsOf | None = None

    @classmethod
    def by(
        cls,
        steps: StepsOf,
        kind: TensorScaleKind,
        tensor: TensorFormula,
        scales: ScaleFormula,
        *,
        nan_in_amax: bool = True,
    ) -> Arithmetic:
        """The arithmetic with these steps."""

        def blocks(
            x: F64Array, a: F64Array, t: F64Array | None, fmt: BlockFormat, source: FloatLayout
        ) -> tuple[U8, F64Array]:
            codes, by, divides, first, to = steps(a, t, fmt, source)
            if first is not None:
                x = fl(x * first)
            return codes, rounded(x / by if divides else x * by, to)

        return cls(kind, tensor, blocks, scales, nan_in_amax, steps)


@functools.cache
def numbers(fmt: CodeFormat) -> F64Array:
    """The number of every code of a format; read-only, since it is cached."""
    result: F64Array = compose(every_code(fmt), F64).view(np.float64)
    result.flags.writeable = False
    return result


def give_signs(quotients: NDArray[Any], x: NDArray[Any]) -> None:
    """Give every NaN the sign of its element, since signs multiply; a processor gives any."""
    nan = np.isnan(quotients)
    if nan.any():
        quotients[nan] = np.copysign(quotients[nan], x[nan])


def _of(codes: U8, fmt: BlockFormat) -> F64Array:
    result: F64Array = numbers(fmt.scale)[codes]
    return result


def _divide(a: F64Array | float, b: F64Array | float) -> F64Array:
    return fl(np.divide(a, b))


def _top(fmt: BlockFormat) -> float:
    """Largest element times largest scale, which float32 holds."""
    return fmt.element.max_normal * fmt.scale.max_normal


def _torchao(a: F64Array, t: F64Array | None, fmt: BlockFormat, source: FloatLayout) -> Steps:
    scale = fl(a / fmt.element.max_normal)
    if t is not None:
        scale = fl(scale / t)
    codes = encode(np.clip(scale, fmt.scale.min_normal, fmt.scale.max_normal), fmt.scale)
    return Steps(codes, fl((1.0 if t is None else _divide(1.0, t)) / _of(codes, fmt)))


def _te_inverse(amax: F64Array | None, top: float) -> F64Array:
    if amax is None:
        return np.ones(1)
    inverse = np.minimum(_divide(top, amax), FLT_MAX)
    return np.where((amax == 0) | (inverse == 0), 1.0, inverse)


def _transformer_engine(
    a: F64Array, t: F64Array | None, fmt: BlockFormat, source: FloatLayout
) -> Steps:
    inverse = _te_inverse(t, _top(fmt))
    factor = fl(inverse * _divide(1.0, fmt.element.max_normal))
    codes = encode(np.minimum(fl(a * factor), FLT_MAX), fmt.scale)
    return Steps(codes, _te_factors(codes, inverse, fmt))


def _te_factors(codes: U8, inverse: F64Array, fmt: BlockFormat) -> F64Array:
    scale = fl(_of(codes, fmt) * _divide(1.0, inverse))
    return np.minimum(fl(1.0 / scale), FLT_MAX)


def _te_scales(s: F64Array, t: F64Array | None, fmt: BlockFormat) -> F64Array:
    return s if t is None else fl(fl(s * t) * _divide(1.0, _top(fmt)))


def four_over_six(
    x: F64Array,
    a: F64Array,
    t: F64Array | None,
    fmt: BlockFormat,
    source: FloatLayout,
    *,
    squared: bool = False,
    room: float = 256,
    scaled: bool = False,
) -> tuple[U8, F64Array]:
    """Scale codes and quotients of Transformer Engine's 4 over 6.

    Args:
        x: the elements, one block a row.
        a: their largest magnitudes, a column.
        t: the largest magnitude of the tensor, or None.
        fmt: the block format.
        source: the type of the values.
        squared: whether an error is a square.
        room: what stands for the largest scale.
        scaled: whether errors are those of elements times scale, as in its fast arithmetic.

    Raises:
        ValueError: blocks along several axes other than 16 x 16, or ones that no tile holds.

    Source: SPEC_NOTES N45.
    """
    if len(fmt.block_shape) > 1 and fmt.block_shape != _TILE_4OVER6:
        raise ValueError(
            "block_size must be one number or (16, 16) for a scale_arithmetic of 4 over 6, which "
            f"adds errors in an order that others do not have, got {fmt.block_size}"
        )
    if fmt.elements_per_block > TILE:  # a part of a block does not say which scale has less error
        raise ValueError(
            f"block_size must be at most {TILE} for a scale_arithmetic of 4 over 6, which adds "
            f"errors, got {fmt.block_size}"
        )
    top = room * fmt.element.max_normal
    inverse = _te_inverse(t, top)
    six = fl(fl(a / fmt.element.max_normal) * inverse)
    found = []
    for wanted in (fl(six * 1.5), six):
        codes = encode(np.minimum(wanted, fmt.scale.max_normal), fmt.scale)
        quotients = fl(x * _te_factors(codes, inverse, fmt))
        elements = numbers(fmt.element)[encode(quotients, fmt.element)]
        values = fl(elements * _of(codes, fmt))
        if t is not None and not scaled:
            values = fl(fl(values * t) / top)
        difference = fl(values - (fl(x * inverse) if scaled else x))
        errors = fl(difference**2) if squared else np.abs(difference)
        found.append((_added(errors, fmt)[:, np.newaxis], codes, quotients))
    (error4, codes4, quotients4), (error6, codes6, quotients6) = found
    four = error4 < error6
    return np.where(four, codes4, codes6), np.where(four, quotients4, quotients6)


def _added(errors: F64Array, fmt: BlockFormat) -> F64Array:
    """The sums of blocks: one by one, and in a tile those of rows, then the rows in halves."""
    by_row = errors.reshape(len(errors), *fmt.block_shape)
    sums = np.zeros(by_row.shape[:-1])
    for column in np.moveaxis(by_row, -1, 0):
        sums = fl(sums + column)
    rows = sums.reshape(len(errors), -1)
    while rows.shape[1] > 1:
        half = rows.shape[1] // 2
        rows = fl(rows[:, :half] + rows[:, half:])
    total: F64Array = rows[:, 0]
    return total


def _top_4over6(fmt: BlockFormat) -> float:
    """Largest element times 256, which leaves room for 1.5 times every scale."""
    return 256 * fmt.element.max_normal


def _scales_4over6(s: F64Array, t: F64Array | None, fmt: BlockFormat) -> F64Array:
    return s if t is None else fl(fl(s * t) * _divide(1.0, _top_4over6(fmt)))


def _cublas(a: F64Array, t: F64Array | None, fmt: BlockFormat, source: FloatLayout) -> Steps:
    if t is not None:  # rounding is monotonic; NaN, as of infinity times 0, is ignored
        a = np.fmax(fl(a * t), 0.0)
    codes = encode(fl(a / fmt.element.max_normal), fmt.scale)
    return Steps(codes, fl(1.0 / _of(codes, fmt)), first=t)


def _compressed_tensors(
    a: F64Array, t: F64Array | None, fmt: BlockFormat, source: FloatLayout
) -> Steps:
    scale = rounded(a / fmt.element.max_normal, source)
    codes = encode(scale if t is None else fl(t * scale), fmt.scale)
    codes[codes == 0] = encode([0.125], fmt.scale)[0]
    to = F32 if t is not None or source == F64 else source
    return Steps(codes, _divided(_of(codes, fmt), t, fmt), divides=True, to=to)


def _ct_inverse(amax: F64Array, fmt: BlockFormat, source: FloatLayout) -> F64Array:
    # A Python number divided by a tensor is the tensor's reciprocal times the number there.
    smallest = 2.0**-14 if source == F16 else 2.0**-126
    inverse = rounded(1.0 / np.maximum(amax, smallest), source)
    inverse = rounded(inverse * _top(fmt), source)
    return np.where(np.isfinite(inverse), inverse, 1.0)


def _divided(s: F64Array, t: F64Array | None, fmt: BlockFormat) -> F64Array:
    return s if t is None else fl(s / t)


def _multiplied(s: F64Array, t: F64Array | None, fmt: BlockFormat) -> F64Array:
    return s if t is None else fl(t * s)


#: Blocks along two axes, whose rows' errors Transformer Engine adds in a tree.
_TILE_4OVER6 = (16, 16)
_FACTOR, _DIVISOR, _AMAX, _AMAX_256 = TensorScaleKind

#: Every arithmetic but `exact`, which has its own integer path.
ARITHMETICS: Mapping[ScaleArithmetic, Arithmetic] = {
    ScaleArithmetic.TORCHAO: Arithmetic.by(
        _torchao, _FACTOR, lambda amax, fmt, source: _divide(amax, _top(fmt)), _multiplied
    ),
    ScaleArithmetic.TRANSFORMER_ENGINE: Arithmetic.by(
        _transformer_engine, _AMAX, lambda amax, fmt, source: amax, _te_scales, nan_in_amax=False
    ),
    **{
        name: Arithmetic(
            _AMAX_256,
            lambda amax, fmt, source: amax,
            functools.partial(four_over_six, squared=squared),
            _scales_4over6,
            nan_in_amax=False,
        )
        for name, squared in (
            (ScaleArithmetic.TRANSFORMER_ENGINE_4OVER6, False),
            (ScaleArithmetic.TRANSFORMER_ENGINE_4OVER6_MSE, True),
        )
    },
    ScaleArithmetic.CUBLAS: Arithmetic.by(
        _cublas,
        _DIVISOR,
        lambda amax, fmt, source: np.where(amax == 0, 1.0, _divide(_top(fmt), amax)),
        _divided,
        nan_in_amax=False,
    ),
    ScaleArithmetic.COMPRESSED_TENSORS: Arithmetic.by(
        _compressed_tensors, _DIVISOR, _ct_inverse, _divided
    ),
}

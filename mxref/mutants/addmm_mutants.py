"""Class H around a product: alpha, beta, C, a bias and scales of rows gone wrong."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import Floats
from mxref.mutants.mutant import Mutant, Mutants, wrong
from mxref.operations.addmm import Addmm, addmm_blocks
from mxref.operations.addmm_cases import MODEL
from mxref.products.dot import matmul

__all__ = ["EPILOGUES"]

Array = NDArray[Any]
_BFLOAT16 = ml_dtypes.bfloat16
_FP8 = Addmm.formats[:2]
_ROWS = Addmm.formats[2:4]
_SPECIAL = Addmm.formats[4:]
_ANY = (*_FP8, *_ROWS)
_FLOAT32, _NARROW = _ANY[::2], _ANY[1::2]
#: The elements of a part of K, each of which adds what is to be added once.
_PART = 16


class _Call(NamedTuple):
    """What `addmm` is given, but for the operands."""

    c: Array
    bias: Array
    alpha: float
    beta: float
    tensors: tuple[Array, ...]
    k: int

    @property
    def parts(self) -> int:
        """Into how many parts K is split."""
        return -(-self.k // _PART)

    @property
    def rows(self) -> tuple[Array, Array]:
        """The scales of the rows of both operands, as a column and a row."""
        return self.tensors[0][:, np.newaxis], self.tensors[1][np.newaxis]


_Change = Callable[[_Call], dict[str, Any]]


def _given(change: _Change, formats: tuple[str, ...] = _ANY) -> Mutant:
    """A right product of wrong things."""

    def run(*arguments: Any) -> Floats:
        *operands, c, bias, alpha, beta, format_a, format_b = arguments[:10]
        call = _Call(c, bias, alpha, beta, arguments[10:], operands[1].shape[1])
        call = call._replace(**change(call))
        given = call.c, call.bias, call.alpha, call.beta, format_a, format_b, *call.tensors
        a, b, more = addmm_blocks(*operands, *given)
        return matmul(a, b.T, c.dtype, **more)

    return _wrong(run, formats)


def _wrong(run: Callable[..., Floats], formats: tuple[str, ...]) -> Mutant:
    @functools.wraps(run)
    def quietly(*arguments: Any) -> Floats:
        with np.errstate(all="ignore"):
            return run(*arguments)

    floats = tuple(dict.fromkeys(Addmm().slot_of(one) for one in formats))
    return wrong(quietly, op="addmm", formats=formats, floats=floats, model=MODEL)


def _right(*arguments: Any, **other: Any) -> Floats:
    a, b, more = addmm_blocks(*arguments)
    return matmul(a, b.T, arguments[4].dtype, **{**more, **other})


def _rounded_before_alpha(*arguments: Any) -> Floats:
    """The sum rounded to the type of the result before it meets the others."""
    c, bias, alpha, beta = arguments[4:8]
    total = _right(*arguments, alpha=None, beta=None, c=None, bias=None).astype(np.float64)
    source = beta * c.astype(np.float64) if beta else 0.0
    found: Floats = (alpha * total + source + bias.astype(np.float64)).astype(c.dtype)
    return found


def _skipped_by_alpha(*arguments: Any) -> Floats:
    c, bias, alpha, beta = arguments[4:8]
    if alpha:
        return _right(*arguments)
    found: Floats = (beta * c.astype(np.float64) if beta else np.zeros(c.shape)) + bias
    return found.astype(c.dtype)


def _c_always_read(*arguments: Any) -> Floats:
    c, beta = arguments[4], arguments[7]
    right: Floats = _right(*arguments)
    return right if beta else (right + c * c.dtype.type(0)).astype(c.dtype)


def _divided(number: float) -> float:
    return 1 / number if number else number


def _as_bfloat16(array: Array) -> Array:
    found: Array = array.astype(_BFLOAT16).astype(array.dtype)
    return found


def _powers(of_a: int, of_b: int) -> _Change:
    """Scales of rows that are applied so many times."""
    return lambda call: {
        "tensors": tuple(
            (one**power).astype(np.float32)
            for one, power in zip(call.tensors, (of_a, of_b), strict=True)
        )
    }


def _moved(change: Callable[[Array], Array], side: int) -> _Change:
    """The scales of the rows of a side from other places, or others."""

    def run(call: _Call) -> dict[str, Any]:
        tensors = list(call.tensors)
        tensors[side] = change(tensors[side])
        return {"tensors": tuple(tensors)}

    return run


def _both(change: Callable[[Array], Array]) -> _Change:
    """Other scales of the rows of both sides."""
    return lambda call: {"tensors": tuple(change(one) for one in call.tensors)}


def _scaled(call: _Call, array: Array) -> Array:
    """What is added times the scales of its row and column."""
    a, b = call.rows
    found: Array = (array.astype(np.float64) * (a * b)).astype(array.dtype)
    return found


def _with_biases(biases: Callable[[_Call], Array]) -> Callable[..., Floats]:
    """A right product, but that each row of the result has a bias of its own."""

    def run(*arguments: Any) -> Floats:
        c, bias, alpha, beta = arguments[4:8]
        call = _Call(c, bias, alpha, beta, arguments[10:], 0)
        rows = []
        for i, bias in enumerate(biases(call)):
            own = [one[i : i + 1] for one in arguments[:2]]
            tensors = (arguments[10][i : i + 1], arguments[11]) if call.tensors else ()
            given = call.c[i : i + 1], bias, *arguments[6:10], *tensors
            rows.append(_right(*own, *arguments[2:4], *given))
        found: Floats = np.concatenate(rows)
        return found

    return run


def _along_rows(call: _Call) -> Array:
    """The bias of a column for each row."""
    rows, columns = call.c.shape
    return np.broadcast_to(call.bias[np.arange(rows) % columns][:, np.newaxis], call.c.shape)


def _scaled_bias(call: _Call) -> Array:
    return _scaled(call, np.broadcast_to(call.bias, call.c.shape))


def _exchanged(call: _Call) -> dict[str, Any]:
    a, b = call.tensors
    return {"tensors": (b, a)} if len(a) == len(b) else {}


EPILOGUES: Mutants = {
    "H37 alpha_forgotten: leaves alpha out": _given(lambda call: {"alpha": 1.0}),
    "H37b alpha_squared: multiplies by alpha twice": _given(lambda call: {"alpha": call.alpha**2}),
    "H37c alpha_divides: divides by alpha": _given(lambda call: {"alpha": _divided(call.alpha)}),
    "H37d alpha_without_sign: loses the sign of alpha": _given(
        lambda call: {"alpha": abs(call.alpha)}
    ),
    "H37e beta_for_alpha: multiplies the product by beta": _given(
        lambda call: {"alpha": call.beta}
    ),
    "H37f factors_exchanged: takes alpha for beta, and beta for alpha": _given(
        lambda call: {"alpha": call.beta, "beta": call.alpha}
    ),
    "H37g alpha_after_rounding: rounds the sum to the type of the result before alpha": _wrong(
        _rounded_before_alpha, _NARROW
    ),
    "H37h alpha_in_bfloat16: rounds alpha to bfloat16": _given(
        lambda call: {"alpha": float(_BFLOAT16(call.alpha))}, _FP8
    ),
    "H37i product_skipped: leaves the product out where alpha is 0, and its NaN": _wrong(
        _skipped_by_alpha, (*_FP8, *_ROWS)
    ),
    "H38 source_forgotten: leaves C out": _given(lambda call: {"beta": 0.0}),
    "H38b beta_forgotten: adds C as it is where beta is not 0": _given(
        lambda call: {"beta": float(call.beta != 0)}
    ),
    "H38c source_always_read: multiplies C by a beta of 0, so that its NaN stays": _wrong(
        _c_always_read, _ANY
    ),
    "H38d beta_squared: multiplies C by beta twice": _given(lambda call: {"beta": call.beta**2}),
    "H38e source_of_each_part: splits K into parts of 16, each of which adds C": _given(
        lambda call: {"beta": call.beta * call.parts}
    ),
    "H38f source_subtracted: subtracts C": _given(lambda call: {"beta": -call.beta}),
    "H38g source_times_alpha: multiplies C by alpha, too": _given(
        lambda call: {"beta": call.beta * call.alpha}
    ),
    "H38h alpha_for_beta: multiplies C by alpha, not by beta": _given(
        lambda call: {"beta": call.alpha}
    ),
    "H38i source_in_columns: reads C as if it lay in columns": _given(
        lambda call: {"c": call.c.reshape(call.c.shape[::-1]).T}
    ),
    "H38j source_of_first_row: adds the first row of C to every row": _given(
        lambda call: {"c": np.broadcast_to(call.c[:1], call.c.shape)}
    ),
    "H38k source_of_next_row: adds the next row of C": _given(
        lambda call: {"c": np.roll(call.c, -1, axis=0)}
    ),
    "H38l source_in_bfloat16: rounds C to bfloat16": _given(
        lambda call: {"c": _as_bfloat16(call.c)}, _FLOAT32
    ),
    "H38m beta_never_read: adds C as it is": _given(lambda call: {"beta": 1.0}),
    "H39 bias_forgotten: leaves the bias out": _given(
        lambda call: {"bias": np.zeros_like(call.bias)}
    ),
    "H39b bias_of_each_part: splits K into parts of 16, each of which adds the bias": _given(
        lambda call: {"bias": call.bias * call.bias.dtype.type(call.parts)}
    ),
    "H39c bias_subtracted: subtracts the bias": _given(lambda call: {"bias": -call.bias}),
    "H39d bias_before_alpha: multiplies the bias by alpha, too": _given(
        lambda call: {"bias": call.bias * call.bias.dtype.type(call.alpha)}
    ),
    "H39e bias_times_beta: multiplies the bias by beta": _given(
        lambda call: {"bias": call.bias * call.bias.dtype.type(call.beta)}
    ),
    "H39f bias_along_rows: adds the bias of a column to a row": _wrong(
        _with_biases(_along_rows), _ANY
    ),
    "H39g bias_of_next_column: adds the bias of the next column": _given(
        lambda call: {"bias": np.roll(call.bias, -1)}
    ),
    "H39h bias_in_bfloat16: rounds the bias to bfloat16": _given(
        lambda call: {"bias": _as_bfloat16(call.bias)}, _FLOAT32
    ),
    "H39i bias_of_first_column: adds the bias of the first column everywhere": _given(
        lambda call: {"bias": np.broadcast_to(call.bias[:1], call.bias.shape)}
    ),
    "H40 row_scales_of_a_forgotten: leaves the scales of the rows of a out": _given(
        _powers(0, 1), _ROWS
    ),
    "H40b row_scales_of_b_forgotten: leaves the scales of the rows of b out": _given(
        _powers(1, 0), _ROWS
    ),
    "H40c row_scales_of_a_twice: multiplies by the scales of the rows of a twice": _given(
        _powers(2, 1), _ROWS
    ),
    "H40d row_scales_of_b_twice: multiplies by the scales of the rows of b twice": _given(
        _powers(1, 2), _ROWS
    ),
    "H40e row_scales_twice: multiplies by the scales of rows twice": _given(_powers(2, 2), _ROWS),
    "H40f row_scales_divide: divides by the scales of rows": _given(_powers(-1, -1), _ROWS),
    "H40g row_scales_exchanged: takes the scales of the rows of each side for the other": _given(
        _exchanged, _ROWS
    ),
    "H40h scale_of_first_row_of_a: takes the scale of the first row of a for all": _given(
        _moved(lambda one: np.broadcast_to(one[:1], one.shape), 0), _ROWS
    ),
    "H40i scale_of_first_row_of_b: takes the scale of the first row of b for all": _given(
        _moved(lambda one: np.broadcast_to(one[:1], one.shape), 1), _ROWS
    ),
    "H40j scale_of_next_row_of_a: takes the scale of the next row of a": _given(
        _moved(lambda one: np.roll(one, -1), 0), _ROWS
    ),
    "H40k scale_of_next_row_of_b: takes the scale of the next row of b": _given(
        _moved(lambda one: np.roll(one, -1), 1), _ROWS
    ),
    "H40l row_scales_of_source: multiplies C by the scales of rows, too": _given(
        lambda call: {"c": _scaled(call, call.c)}, _ROWS
    ),
    "H40m row_scales_of_bias: adds the bias before the scales of rows": _wrong(
        _with_biases(_scaled_bias), _ROWS
    ),
    "H41 row_scale_0_is_1: takes a scale of 0 for 1": _given(
        _both(lambda one: np.where(one == 0, np.float32(1), one)), _SPECIAL
    ),
    "H41b row_scale_flushed: takes a subnormal scale for 0": _given(
        _both(lambda one: np.where(one.view(np.uint32) < 1 << 23, np.float32(0), one)), _SPECIAL
    ),
    "H41c row_scale_nan_is_1: takes a scale of NaN for 1": _given(
        _both(lambda one: np.where(np.isnan(one), np.float32(1), one)), _SPECIAL
    ),
    "H41d row_scale_nan_is_0: takes a scale of NaN for 0": _given(
        _both(lambda one: np.where(np.isnan(one), np.float32(0), one)), _SPECIAL
    ),
    "H41e row_scale_clamped: takes an infinite scale for the largest float32 number": _given(
        _both(lambda one: np.where(np.isinf(one), np.finfo(np.float32).max, one)), _SPECIAL
    ),
}

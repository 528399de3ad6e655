"""Class H: matrix units gone wrong, in what a step adds, where it cuts and what the sum does."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import Floats
from mxref.formats.catalog import CODE_FORMATS
from mxref.mutants.mutant import Function, Mutant, Mutants, wrong
from mxref.operations.matrix_units import Mma, unit_numbers
from mxref.policy.choices import Rounding
from mxref.products.adders import ADDERS, Adder
from mxref.products.mma import mma

__all__ = ["UNITS"]

Numbers = NDArray[np.float64]
Formats = tuple[str, ...]


def _of(condition: Callable[[Adder], bool]) -> Formats:
    """The formats whose adder is such a one."""
    return tuple(one for one in Mma.formats if condition(ADDERS[one.split("-")[0]]))


_ALIGNED = _of(lambda one: one.fraction_bits is not None and one.later_bits is None)
_CHAINED_FP8 = _of(lambda one: one.output_bits == 13)
_STEPS = _of(lambda one: one.fraction_bits is not None)
_TRUNCATED = tuple(name for name in _ALIGNED if name not in _CHAINED_FP8)
_BFLOAT16 = tuple(name for name in _ALIGNED if name.endswith("bf16"))
_FLUSHED = _of(lambda one: one.flush)


def _product(a: Any, b: Any, c: Any, adder: Adder, names: tuple[str, ...]) -> Floats:
    x, y = (unit_numbers(one, name) for one, name in zip((a, b), names, strict=True))
    return mma(x, y, c, adder=adder)


def _another(change: Callable[[Adder], dict[str, Any]]) -> Function:
    """The product of an adder that differs."""

    def run(a: Any, b: Any, c: Any, adder: str, *names: str) -> Floats:
        own = ADDERS[adder]
        return _product(a, b, c, dataclasses.replace(own, **change(own)), names)

    return run


def _without_sum(a: Any, b: Any, c: Any, adder: str, *names: str) -> Floats:
    return _product(a, b, None, ADDERS[adder], names)


def _sum_added_late(a: Any, b: Any, c: Any, adder: str, *names: str) -> Floats:
    with np.errstate(all="ignore"):
        found: Floats = _product(a, b, None, ADDERS[adder], names) + c
    return found


def _by_hand(
    a: Any,
    b: Any,
    c: Any,
    adder: str,
    *names: str,
    cut: Callable[[Numbers], Numbers] = np.trunc,
    normalized: bool = False,
) -> Floats:
    """Aligned steps in float64, right but for how terms are cut, or for subnormal exponents."""
    own = ADDERS[adder]
    x, y = (
        np.asarray(unit_numbers(one, name), np.float64)
        for one, name in zip((a, b), names, strict=True)
    )
    least = [CODE_FORMATS[n].emin if n in CODE_FORMATS else _LEAST[n] for n in names]
    e, f = (
        np.frexp(z)[1] - 1 if normalized else np.maximum(np.frexp(z)[1] - 1, low)
        for z, low in zip((x, y), least, strict=True)
    )
    total = np.asarray(c, np.float64)
    bits, zero = own.fraction_bits or 0, own.zero_exponent or 0
    with np.errstate(all="ignore"):
        for first in range(0, x.shape[1], own.step):
            some = slice(first, first + own.step)
            terms = x[:, some, None] * y[None, some]
            exponents = np.where(terms == 0, zero, e[:, some, None] + f[None, some])
            size = np.where(total == 0, zero, np.maximum(np.frexp(total)[1] - 1, -126))
            top = np.maximum(exponents.max(axis=1), size)
            if terms.shape[1] < own.step:
                top = np.maximum(top, zero)
            unit = np.ldexp(1.0, np.where(np.isfinite(total), top, 0) - bits)
            total = (cut(terms / unit[:, None]).sum(axis=1) + cut(total / unit)) * unit
            last = np.maximum(np.frexp(total)[1] - 1, -126) - own.output_bits
            kept = np.trunc(np.ldexp(total, -last)) * np.ldexp(1.0, last)
            total = np.where(np.isfinite(total), kept, total)
            total = np.where(np.abs(total) >= 2.0**128, np.copysign(np.inf, total), total)
        found: Floats = (total + 0.0).astype(np.float32)
    return found


_LEAST = {"f16": -14, "bf16": -126}


def _adds(run: Function, formats: Formats = Mma.formats) -> Mutant:
    return wrong(run, op="mma", formats=formats, floats=("f32",), model="M25")


UNITS: Mutants = {
    "H29 sum_ignored: leaves C out": _adds(_without_sum),
    "H29b sum_added_late: adds C in float32 after all products": _adds(_sum_added_late),
    "H29c steps_added_in_float32: aligns the products of each step without the sum so far": _adds(
        _another(lambda own: {"promotion": own.step}), _ALIGNED
    ),
    "H24 half_steps: adds half as many products at once": _adds(
        _another(lambda own: {"step": own.step // 2}), _STEPS
    ),
    "H24b double_steps: adds twice as many products at once": _adds(
        _another(lambda own: {"step": own.step * 2}), _STEPS
    ),
    "H25 promoted_at_64: begins a new sum after 64 products": _adds(
        _another(lambda own: {"promotion": 64}), _ALIGNED
    ),
    "H25b promoted_at_128: begins a new sum after 128 products": _adds(
        _another(lambda own: {"promotion": 128}), _ALIGNED
    ),
    "H26 one_bit_less: keeps a bit less below the largest term": _adds(
        _another(lambda own: {"fraction_bits": (own.fraction_bits or 0) - 1}), _STEPS
    ),
    "H26b one_bit_more: keeps a bit more below the largest term": _adds(
        _another(lambda own: {"fraction_bits": (own.fraction_bits or 0) + 1}), _STEPS
    ),
    "H26c sums_rounded: rounds the sum of a step to nearest": _adds(
        _another(lambda own: {"rounding": Rounding.TIES_TO_EVEN}), _TRUNCATED
    ),
    "H26d sums_whole: keeps all bits of a float32 sum": _adds(
        _another(lambda own: {"output_bits": 23}), _CHAINED_FP8
    ),
    "H26e terms_rounded: rounds terms to nearest where they are cut": _adds(
        partial(_by_hand, cut=np.rint), _ALIGNED
    ),
    "H26f terms_floored: cuts terms toward minus infinity": _adds(
        partial(_by_hand, cut=np.floor), _ALIGNED
    ),
    "H27 subnormals_normalized: reads the exponent of a subnormal's leading bit": _adds(
        partial(_by_hand, normalized=True), _ALIGNED
    ),
    "H27b zero_exponent_less: gives zeros an exponent that is 1 less": _adds(
        _another(lambda own: {"zero_exponent": (own.zero_exponent or 0) - 1}), _BFLOAT16
    ),
    "H27c zero_exponent_more: gives zeros an exponent that is 1 more": _adds(
        _another(lambda own: {"zero_exponent": (own.zero_exponent or 0) + 1}), _BFLOAT16
    ),
    "H28 subnormals_kept: does not flush subnormals": _adds(
        _another(lambda own: {"flush": False}), _FLUSHED
    ),
}

"""Plain decoders made of stages; a mutant is one with a wrong stage."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mxref.bits.floats import F32, U8, FloatLayout, Floats, Parts, compose, floats_from, layout_of
from mxref.formats.catalog import ELEMENT_FORMATS, ElementFormat, block_format
from mxref.mutants.mutant import Function
from mxref.numbers.codes import every_code
from mxref.numbers.scale import scale_parts
from mxref.policy.groups import DecodePolicy

Table = NDArray[Any]
Elements = Callable[[ElementFormat], Parts]


def _scales() -> Parts:
    return scale_parts(DecodePolicy())


def _unspoilt(table: Table, layout: FloatLayout, fmt: ElementFormat) -> Table:
    return table


def replaced(fmt: ElementFormat, **changed: Any) -> Parts:
    """The parts of the numbers of all codes, with some fields replaced."""
    return dataclasses.replace(every_code(fmt), **changed)


def magnitudes(fmt: ElementFormat) -> NDArray[np.int64]:
    """All codes without their sign bit."""
    return np.arange(fmt.code_count) & (fmt.sign_bit - 1)


def decoder(elements: Elements = every_code) -> Function:
    """A `decode` that reads codes by `elements`; the default is right.

    >>> decoder()(np.uint8([1, 15]), "e2m1")
    array([ 0.5, -6. ], dtype=float32)
    """

    def decode(codes: U8, format: str) -> Floats:
        return floats_from(compose(elements(ELEMENT_FORMATS[format]), F32)[codes], F32)

    return decode


def dequantizer(
    elements: Elements = every_code,
    scales: Callable[[], Parts] = _scales,
    finish: Callable[[Table, FloatLayout, ElementFormat], Table] = _unspoilt,
) -> Function:
    """A `dequantize` made of these stages; the defaults are right.

    `finish` changes the table of products, which has a row for each scale code.

    >>> codes = np.ones((1, 32), np.uint8)
    >>> dequantizer()(np.uint8([129]), codes, "mxfp4_e2m1", np.float32)[0, :2]
    array([2., 2.], dtype=float32)
    """

    def dequantize(scale_codes: U8, codes: U8, format: str, dtype: Any) -> Floats:
        fmt, layout = block_format(format).element, layout_of(dtype)
        scale, element = scales(), elements(fmt)
        nan = scale.is_nan[:, np.newaxis] | element.is_nan
        products = Parts(
            negative=element.negative & ~nan,
            significand=scale.significand[:, np.newaxis] * element.significand,
            exponent=scale.exponent[:, np.newaxis] + element.exponent,
            is_inf=np.broadcast_to(element.is_inf, nan.shape) & ~nan,
            is_nan=nan,
            is_subnormal=np.zeros(nan.shape, bool),
        )
        table = finish(compose(products, layout), layout, fmt)
        return floats_from(table[scale_codes[:, np.newaxis], codes], layout)

    return dequantize

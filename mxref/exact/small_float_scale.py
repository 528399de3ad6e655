"""Blocks whose scale is a small float, with or without a float32 scale of the whole tensor.

Source: NVFP4 as in PTX ISA (mxf4nvf4), cuBLAS (1D block scaling) and arXiv:2509.25149; the formulas
of implementations are in `mxref.exact.formulas`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from mxref.exact.arithmetic import F32, Float, amax, product
from mxref.exact.breakpoints import breakpoints
from mxref.exact.choice_table import ELEMENT_CHOICES, STOCHASTIC, settle
from mxref.exact.format_table import (
    ELEMENTS,
    FLOATS,
    UNSIGNED_SCALES,
    FloatType,
    check_int,
    domain_error,
    look_up,
    read_code,
)
from mxref.exact.formulas import ARITHMETICS, Formats, Formulas
from mxref.exact.patterns import converted, float_reader, write_float
from mxref.exact.rounding import check_random


@cache
def setting_of(
    format: str, scale_format: str, arithmetic: str, **choices: str
) -> tuple[Formats, Formulas]:
    """Look up the formats and formulas of one set of names."""
    element = look_up(ELEMENTS, "format", format)
    scale = look_up(UNSIGNED_SCALES, "scale_format", scale_format)
    named = look_up(ARITHMETICS, "arithmetic", arithmetic)
    chosen = settle({**named.defaults, **choices}, ELEMENT_CHOICES)
    if chosen["rounding"] in STOCHASTIC and arithmetic != "transformer_engine":
        raise domain_error(
            "rounding", f"deterministic under the arithmetic {arithmetic} of such a scale", choices
        )
    to_nearest = settle({}, ELEMENT_CHOICES)
    return Formats(
        element, scale, breakpoints(format, **chosen), breakpoints(scale_format, **to_nearest)
    ), named


def quantize_scaled(
    blocks: Sequence[Sequence[int]],
    source: str,
    format: str,
    scale_format: str,
    arithmetic: str = "exact",
    tensor_scale: int | str | None = None,
    rows: int = 1,
    random_bits: Sequence[Sequence[int]] | None = None,
    random_width: int = 0,
    **choices: str,
) -> tuple[int | None, list[tuple[int, list[int]]]]:
    """Return the tensor scale's bits and, of every block, the scale code and the element codes.

    blocks: all blocks of a tensor, each the bits of one number or more. source: f16, bf16, f32 or
    f64. format: an element format. scale_format: ue4m3 (7 bits) or ue5m3 (8 bits).
    tensor_scale: None (there is none), "dynamic" (from the blocks), or the bits of a float32
    without sign, of the kind that the arithmetic uses. Where each row has a scale of its own, it is
    a tensor of its own: a call for each.
    arithmetic, the kind and formula of the tensor scale from A, the largest magnitude of all, M
    the largest element and C the largest scale; then the block's:
      exact: factor A / (M * C), rounded once; the scale of a / (M * T) and the elements of
        x / (scale * T), each the exact quotient, rounded once. A scale of 0 makes zeros.
      torchao (factor), transformer_engine (A itself), cublas and compressed_tensors (divisors):
        in float32 step by step; compressed_tensors in f16 or bf16 for such a source.
      transformer_engine_4over6 and transformer_engine_4over6_mse (A itself, of 256 instead of C):
        the scale of 1.5 * a / M or of a / M, whichever makes the smaller error.
    rows: a block's numbers are those of that many rows, one after the other: a power of two, which
      4 over 6 alone reads.
    random_bits: as many as numbers in each block, each of random_width bits, for a stochastic
      rounding, which `transformer_engine` alone takes.
    choices: those of elements in `encode` with their defaults; by default compressed_tensors drops
    the sign of zeros and makes NaN zero.
    Special values: exact: a block with Inf or NaN gets the NaN scale and codes 0, only its finite
    numbers count for A; A of 0 gives tensor scale 1, and one beyond float32 the smallest or
    largest positive float32. The others: as float arithmetic gives; NaN counts for the largest
    magnitude in torchao and compressed_tensors, and not in the others.
    Source: see `mxref.exact.formulas`.

    >>> one_and_six = [0x3F800000, 0xC0C00000]
    >>> quantize_scaled([one_and_six], "f32", "e2m1", "ue4m3")
    (None, [(56, [2, 15])])
    >>> t, rest = quantize_scaled([one_and_six], "f32", "e2m1", "ue4m3", tensor_scale="dynamic")
    >>> hex(t), rest  # 1 / 448, scale 448
    ('0x3b124925', [(126, [2, 15])])
    """
    kind = look_up(FLOATS, "source", source)
    setting, named = setting_of(format, scale_format, arithmetic, **choices)
    setting = setting._replace(rows=rows)
    if setting.elements.stochastic is not None:
        draws = checked_draws(random_bits, random_width, [len(block) for block in blocks])
        setting = setting._replace(draws=draws, width=random_width)
    for block in blocks:
        if type(rows) is not int or rows < 1 or rows & (rows - 1) or len(block) % rows:
            raise domain_error("rows", "a power of two that divides the numbers of a block", rows)
    tensor = [numbers_of(block, kind, named) for block in blocks]
    scale = None
    if tensor_scale == "dynamic":
        scale = named.tensor(largest_of(itertools.chain(*tensor), arithmetic), setting)
    elif tensor_scale is not None:
        scale = _read_tensor_scale(tensor_scale)
    return (
        None if scale is None else write_float(scale.number, F32),
        [named.block(numbers, scale, setting) for numbers in tensor],
    )


def checked_draws(
    draws: Sequence[Sequence[int]] | None, width: int, counts: Sequence[int]
) -> Iterator[int]:
    """The random bits of all blocks, one after the other."""
    if draws is None or [len(some) for some in draws] != [*counts]:
        raise domain_error("random_bits", "as many ints a block as there are numbers", draws)
    for draw in itertools.chain(*draws):
        check_random(draw, width)
    return itertools.chain(*draws)


def numbers_of(block: Sequence[int], kind: FloatType, named: Formulas) -> list[Float]:
    """The numbers of a block in the type that an arithmetic computes in."""
    if len(block) == 0:
        raise domain_error("blocks", "blocks of one number or more", block)
    as_it_is, read = kind.name in named.source_types, float_reader(kind)
    numbers = []
    for bits in block:
        check_int("x_bits", bits, kind.bits)
        number = read(bits)
        numbers.append(Float(number, kind) if as_it_is else Float(converted(number, F32), F32))
    return numbers


def largest_of(numbers: Iterable[Float], arithmetic: str) -> Float:
    """A: the largest magnitude that counts for the tensor scale, in the type of the numbers."""
    kind, counting = F32, []
    for v in numbers:
        kind = v.kind
        if arithmetic != "exact" or v.number[1] >= 0:
            counting.append(v.number)
    return Float(amax(counting, nan_counts=ARITHMETICS[arithmetic].nan_counts), kind)


def _read_tensor_scale(bits: int | str) -> Float:
    if type(bits) is not int or bits >> 31:
        raise domain_error("tensor_scale", "None, 'dynamic' or an int from 0 to 0x7fffffff", bits)
    return Float(float_reader(F32)(bits), F32)


def dequantize_scaled(
    tensor_scale: int | None,
    scale_code: int,
    code: int,
    format: str,
    scale_format: str,
    arithmetic: str = "exact",
    target: str = "f32",
) -> int:
    """Return the bits of the number that an element code stands for under both scales.

    tensor_scale: None, or the bits of a float32 without sign, of the arithmetic's kind. scale_code,
    code: of scale_format and format. target: f16, bf16, f32 or f64.
    arithmetic: exact, element * scale * T, and cublas, element * scale / S, round once, to the
    target. torchao: element * (T * scale). transformer_engine: ((scale * A) * (1 / (M * C))) *
    element; of 4 over 6 with 256 instead of C. compressed_tensors: element * (scale / G). These
    round every step to float32, and then to the target. Without a tensor scale all give
    element * scale.
    Special values: as float arithmetic gives; NaN is the positive quiet NaN.
    Source: see `mxref.exact.formulas`.

    >>> hex(dequantize_scaled(0x3B124925, 126, 15, "e2m1", "ue4m3"))  # T is a little above 1 / 448
    '0xc0c00001'
    >>> hex(dequantize_scaled(0x40000000, 56, 1, "e2m1", "ue4m3", "cublas"))  # 0.5 * 1 / 2
    '0x3e800000'
    """
    kind = look_up(FLOATS, "target", target)
    setting, named = setting_of(format, scale_format, arithmetic)
    check_int("scale_code", scale_code, setting.scale.bits)
    check_int("code", code, setting.element.bits)
    element, scale = read_code(code, setting.element), read_code(scale_code, setting.scale)
    if tensor_scale is None:
        return write_float(product(element, scale), kind)
    factor = _read_tensor_scale(tensor_scale)
    return write_float(named.number(element, scale, factor, setting, kind), kind)

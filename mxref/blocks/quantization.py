"""Quantization: tensors into blocks of elements that share a scale, along any axes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mxref.bits.float32 import wide
from mxref.bits.floats import BF16, F16, F32, F64, U8, Bits, FloatLayout, compose, split
from mxref.bits.out import codes_out
from mxref.blocks.arithmetics import ARITHMETICS, TensorFormula
from mxref.blocks.container import Blocks
from mxref.blocks.estimates import Estimates, estimates
from mxref.blocks.exact_scales import tensor_scales
from mxref.blocks.float_scales import float_scale_rows
from mxref.blocks.given_scales import AmaxOf, amax_of, given_amax, given_scales
from mxref.blocks.pattern_tables import MANY, PatternTables, pattern_tables
from mxref.blocks.routes import (
    quantize_lanes,
    quantize_rows,
    quantize_two_levels,
    takes_keys,
)
from mxref.blocks.shapes import Place, format_and_policy, laid_out
from mxref.blocks.tiles import Axis, Tiling, as_lanes, as_rows
from mxref.blocks.two_level import RowScales, TensorScaleKind, TensorScales, one_or_rows
from mxref.blocks.writing import QuantizeJob, Written, write_blocks, write_long_blocks
from mxref.formats.catalog import BlockFormat
from mxref.numbers.codes import word_of
from mxref.numbers.element import FEW, stochastic
from mxref.numbers.source import Source
from mxref.policy.keywords import AnyQuantizeChoices
from mxref.policy.policy import Policy
from mxref.support.mapped import Mapped
from mxref.support.threads import thread_count


def quantize(
    values: ArrayLike,
    block_format: str | BlockFormat,
    policy: str | Policy = "ocp",
    *,
    axis: Axis = -1,
    block_size: int | tuple[int, ...] | None = None,
    tensor_scale: TensorScales | AmaxOf | ArrayLike | None = None,
    amax: float | None = None,
    random_bits: ArrayLike | None = None,
    random_width: int | None = None,
    out: tuple[U8, U8] | None = None,
    threads: int | None = None,
    **choices: Unpack[AnyQuantizeChoices],
) -> Blocks:
    """Blocks of elements with a shared scale, from a tensor.

    Each block's scale comes from its largest magnitude; each element is value / scale, rounded once
    to the element format, exact in between for every input, subnormals included.

    Args:
        values: floats, or integers up to 2**53, any shape and memory order, also of torch or JAX as
            in `encode`; a file mapped to memory is read a part at a time. A scalar is one block.
        block_format: block format or its name.
        policy: a `Policy` or its spelling.
        axis: the axis along which blocks run; several for blocks such as 32 x 32, of which -1
            means the last ones. A tail is filled up with +0 in `ocp`.
        block_size: elements that share a scale, for each axis if there are several; the format's
            own (32) if None.
        tensor_scale: for formats with one, the stored float32 number, as such (positive and
            finite) or as the `TensorScale` of other `Blocks`; if None it comes from the tensor's
            largest magnitude. What it means depends on `scale_arithmetic`: a factor for `exact` and
            `torchao`, a divisor for `cublas` and `compressed_tensors`, and for `transformer_engine`
            the largest magnitude itself, of which 2688 stands for no scaling in NVFP4. Or a number
            for each row: an array with the axes of `values`, of length 1 along `axis`, and of
            their length or 1 along the others; or their `RowScales`; or ``"row"`` (`AmaxOf.ROW`)
            for the largest magnitude of each row. An array of one number is the whole tensor's.
            See SPEC_NOTES N42.
        amax: for float32 scales, a float32 number that is in place of the largest magnitude of
            every block, as in delayed scaling; elements beyond it are those of `overflow`.
        random_bits: for the stochastic roundings, as in `encode`.
        random_width: their width in bits.
        out: where codes and scale codes go: writable arrays of the shapes and dtypes that come
            back; may be mapped to files. `Blocks` then holds views of them.
        threads: how many threads compute, which changes no bit; if None the environment variable
            MXREF_THREADS says it, or it is one.
        choices: single choices of the policy; see `mxref.choices`.

    Returns:
        `Blocks`. In `ocp` a block with NaN or infinity has scale FF and element codes 00; a block
        of zeros has scale 00. Scale codes are bytes; float32 scales are uint32 patterns, where NaN
        is 7FC00000.

    Raises:
        TypeError: values, a tensor scale or an amax of another type.
        ValueError: axis out of range, block_size below 1, unknown format or choice, a choice that
            the format's scale does not read, an amax that is not positive or that it does not read,
            a tail or a NaN that the policy refuses, a NaN block of a format whose scale has no NaN.

    Source: OCP MX v1.0 6.3; SPEC_NOTES N1 to N10, N24, N25, N29 to N31, N41, N42, N48 to N51.

    >>> blocks = quantize(np.float32([0.5, -3.0, 100.0, 7.0]), "mxfp8_e4m3")
    >>> blocks.scale_codes, blocks.codes[:4]
    (array([125], dtype=uint8), array([ 64, 212, 124,  94], dtype=uint8))
    >>> blocks.dequantize()
    array([ 0.5, -3. , 96. ,  7. ], dtype=float32)
    """
    fmt, chosen = format_and_policy(block_format, block_size, policy, choices)
    source = Source.of(values, chosen.element)
    shape = source.array.shape
    place = laid_out(shape, axis, fmt, chosen)
    tiling = place.tiling
    by_keys = takes_keys(fmt, chosen)
    draw = stochastic(chosen.element.rounding, random_bits, random_width, shape)
    tensor = _tensor_scale(source, tiling, fmt, chosen, tensor_scale)
    largest = given_amax(amax, fmt)

    by: Estimates | PatternTables | None = None
    if (
        not by_keys
        and not fmt.scale.is_float32
        and not isinstance(tensor, RowScales)
        and (source.layout != F64 or source.array.size >= FEW)
    ):
        layout = F32 if source.layout == F16 else source.layout
        by = estimates(fmt, chosen, layout, tensor, 0 if draw is None else draw.width)
        if draw is None and layout == BF16 and source.array.size >= MANY:
            by = pattern_tables(fmt, chosen, tensor) or by

    def codes_of(
        lanes: Bits,
        layout: FloatLayout,
        tensor: TensorScales | None,
        random: NDArray[Any] | None,
        to: U8 | None,
    ) -> tuple[U8, U8]:
        many = lanes.size >= FEW
        if by_keys and (layout != F64 or many):
            return quantize_lanes(lanes, layout, fmt, chosen, to)
        part = None
        if draw is not None and random is not None:
            part = dataclasses.replace(draw, bits=random)
        if by is not None or (many and not fmt.scale.is_float32):
            both = quantize_two_levels(lanes, layout, fmt, chosen, tensor, part, by, to)
            if both is not None:
                return both
        if part is not None:
            part = dataclasses.replace(part, bits=as_rows(part.bits))
        found: tuple[NDArray[Any], U8]
        if fmt.scale.is_float32:
            found = float_scale_rows(as_rows(lanes), layout, fmt, chosen, part, largest)
        else:
            found = quantize_rows(as_rows(lanes), layout, fmt, chosen, tensor, part)
        return as_lanes(found[0], lanes.shape[2]), as_lanes(found[1], lanes.shape[2])

    random = None if draw is None else draw.bits.reshape(tiling.shape)
    work = QuantizeJob(source, tiling, codes_of, tensor, random)
    write = write_long_blocks if tiling.is_long else write_blocks
    return _in_blocks(work, write, fmt, place, out, threads)


def quantize_by(
    rows_of: Callable[[Bits, FloatLayout, TensorScales | None], tuple[U8, U8]],
    values: ArrayLike,
    fmt: BlockFormat,
    policy: Policy,
    axis: Axis = -1,
    out: tuple[U8, U8] | None = None,
    given: TensorScales | AmaxOf | ArrayLike | None = None,
    formula: TensorFormula | None = None,
) -> Blocks:
    """`quantize`, where a function gives the scale codes and codes of whole blocks, one a row.

    A formula gives the stored number of the tensor in place of the policy's.
    """
    source = Source.of(values, policy.element)
    place = laid_out(source.array.shape, axis, fmt, policy)
    tensor = _tensor_scale(source, place.tiling, fmt, policy, given, formula)

    def codes_of(
        lanes: Bits, layout: FloatLayout, tensor: TensorScales | None, *_: NDArray[Any] | None
    ) -> tuple[U8, U8]:
        scales, codes = rows_of(as_rows(lanes), layout, tensor)
        return as_lanes(scales, lanes.shape[2]), as_lanes(codes, lanes.shape[2])

    work = QuantizeJob(source, place.tiling, codes_of, tensor)
    return _in_blocks(work, write_blocks, fmt, place, out)


def _in_blocks(
    work: QuantizeJob,
    write: Callable[[QuantizeJob, Written, int], None],
    fmt: BlockFormat,
    place: Place,
    out: tuple[U8, U8] | None,
    threads: int | None = None,
) -> Blocks:
    """The blocks of a tensor, written a tile at a time."""
    count, array = thread_count(threads), work.source.array
    blank = out is None and place.tiling.is_long  # the padding may be much
    inputs = [array] if work.random is None else [array, work.random]
    word = word_of(fmt.scale)
    codes, scales = codes_out(
        out, place.codes, place.tiling.counts, *inputs, blank=blank, scale_dtype=word
    )
    write(work, Written(codes, scales, blank), count)
    if out is None:  # no caller can write to them
        codes.setflags(write=False)
        scales.setflags(write=False)
    read_only = codes.view(), scales.view()
    if out is not None:
        for view in read_only:
            view.setflags(write=False)
    return Blocks._of(*read_only, fmt, place.axis, array.shape, array.dtype, work.tensor)


def _tensor_scale(
    source: Source,
    tiling: Tiling,
    fmt: BlockFormat,
    policy: Policy,
    given: TensorScales | AmaxOf | ArrayLike | None,
    formula: TensorFormula | None = None,
) -> TensorScales | None:
    if not fmt.tensor_scale:
        if given is not None:
            raise ValueError(f"tensor_scale must be None, since {fmt.name} has none, got {given}")
        return None
    arithmetic = ARITHMETICS.get(policy.scale.scale_arithmetic)
    kind = TensorScaleKind.FACTOR if arithmetic is None else arithmetic.kind
    of = amax_of(given)
    if given is not None and of is None:
        # A named arithmetic takes back what it gave: Transformer Engine's amax of zeros is 0.
        return given_scales(cast("ArrayLike", given), kind, tiling, is_own=arithmetic is not None)
    # The exact arithmetic takes the largest finite number, others may take infinity or NaN.
    limit = source.layout.inf_bits - (arithmetic is None)
    nan_too = arithmetic is not None and arithmetic.nan_in_amax
    axes = tiling.axes if of is AmaxOf.ROW else tuple(range(len(tiling.shape)))
    amax = _largest(source, tiling, axes, None if nan_too else limit)
    if arithmetic is None:
        bits = tensor_scales(amax, source.layout, fmt)
    else:
        with np.errstate(all="ignore"):
            number = wide(amax, source.layout)
            stored = (formula or arithmetic.tensor)(number, fmt, source.layout)
            bits = compose(split(stored.view(np.uint64), F64), F32)
    return one_or_rows(bits, kind)


def _largest(
    source: Source, tiling: Tiling, axes: tuple[int, ...], limit: int | None
) -> NDArray[Any]:
    """Patterns of the largest magnitudes up to a limit along axes, which then have the length 1."""
    uint, mask = source.layout.uint, source.layout.sign_bit - 1
    amax = np.zeros([1 if axis in axes else n for axis, n in enumerate(tiling.shape)], uint)
    mapped = Mapped(source.array)
    lifted = source.array.reshape(tiling.shape)
    for tile, _ in tiling.parts():
        bits, _ = source.exact_numbers(lifted[tile])
        # The largest of both signs: patterns of negative numbers are the larger ones.
        signed = bits.view(f"i{uint.itemsize}").max(axes, keepdims=True)
        both = bits.max(axes, keepdims=True) & uint.type(mask)
        largest = np.maximum(both, np.maximum(signed, 0).view(uint))
        if limit is not None and (largest > limit).any():
            magnitude = bits & uint.type(mask)
            largest = magnitude.max(axes, keepdims=True, initial=0, where=magnitude <= limit)
        rows = tuple(slice(1) if axis in axes else some for axis, some in enumerate(tile))
        np.maximum(amax[rows], largest, out=amax[rows])
        mapped.use(bits.nbytes)
    return amax

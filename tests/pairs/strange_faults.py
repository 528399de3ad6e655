"""Wrong kernels made of small faults, by a hand that has read the documentation alone.

A kernel is a chain of stages, each a plain NumPy function. `RIGHT` of right_kernel has the
right one of every stage, a `Fault` puts another one in its place, and `kernel` makes the functions
of docs/check.md from what is left and what is put in. A kernel has at most one fault in a stage.

Stages of `quantize`: amax, scale, special_blocks, value, round, overflow, special_elements, places.
`encode`: cast, round, overflow, special_elements. `nvfp4`: amax, tensor_scale, block_scale, round,
overflow, special_elements, places. `quantize_tensor`: axis, tail and scale_matrix beside those of
`quantize`. `dequantize`: scale_decoded, code_decoded, product, lanes, output. `matmul`:
scale_decoded, code_decoded, operand, product_scale, sum, output.
"""

from collections.abc import Callable  # noqa: I001
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
from right_kernel import (
    ALL, E2M3, E3M2, E4M3, E5M2, ELEMENTS, FLOAT_BLOCKS, FP8, MX, RIGHT, Array, Element, amax,
    binade, block_scale, code_decoded, codes_of, fields, in_steps, mx_blocks, number, nv_blocks,
    output, product, scale, scale_decoded, special_elements, tail, to_nearest, value,
)  # fmt: skip

# ---- the faults ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fault:
    """One wrong stage; `text` is what a perfect diagnosis would say, `seen` where it is seen."""

    name: str
    stage: str
    operations: tuple[str, ...]
    formats: tuple[str, ...]
    text: str
    seen: str
    change: Callable[..., Any]


FAULTS: dict[str, Fault] = {}
BLOCKS = ("quantize", "quantize_tensor")
NUMBERS = ("quantize", "quantize_tensor", "encode")


def fault(
    stage: str, operations: tuple[str, ...], formats: tuple[str, ...], text: str, seen: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enters a function as the fault of its name."""

    def enter(change: Callable[..., Any]) -> Callable[..., Any]:
        name = change.__name__
        FAULTS[name] = Fault(name, stage, operations, formats, text, seen, change)
        return change

    return enter


# amax: which elements it sees


@fault("amax", BLOCKS, ALL, "amax sees the first half of a block alone.", "ordinary")
def first_half_warp(x: Array, f: Element) -> Array:
    return amax(x[:, : x.shape[1] // 2], f)  # the shuffles begin with 8 and not with 16


@fault("amax", BLOCKS, ALL,
       "Of each two neighbouring elements (lanes 2i and 2i + 1) amax sees the larger signed number "
       "alone.", "ordinary")  # fmt: skip
def max_before_abs(x: Array, f: Element) -> Array:
    return amax(np.fmax(x[:, ::2], x[:, 1::2]), f)


@fault("amax", BLOCKS, ALL, "amax does not see a negative number in lane 0.", "ordinary")
def negative_lane_0(x: Array, f: Element) -> Array:
    seen = x.copy()  # least = 0, and its loop begins with lane 1
    seen[:, 0] = np.where(x[:, 0] < 0, 0, x[:, 0])
    return amax(seen, f)


@fault("amax", BLOCKS, ALL,
       "Blocks 2i and 2i + 1 of a call share one amax, that of both.", "ordinary")  # fmt: skip
def two_blocks(x: Array, f: Element) -> Array:
    own = amax(x, f)
    paired = np.pad(own, (0, len(own) % 2)).reshape(-1, 2).max(axis=1, initial=0)
    return np.repeat(paired, 2)[: len(own)]


@fault("amax", BLOCKS, ALL, "amax is at least 1e-4.", "small blocks")
def epsilon(x: Array, f: Element) -> Array:
    return np.maximum(amax(x, f), np.float32(1e-4))


@fault("amax", BLOCKS, ALL,
       "In the last quarter of a block amax sees only the elements with an odd lane.",
       "ordinary")  # fmt: skip
def odd_of_last_quarter(x: Array, f: Element) -> Array:
    start = 3 * x.shape[1] // 4
    return amax(np.concatenate([x[:, :start], x[:, start + 1 :: 2]], axis=1), f)


# scale: amax to scale


@fault("scale", BLOCKS, MX,
       "The logarithm of amax is cut toward zero, so that the scale is doubled where amax is below "
       "1 and no power of two.", "ordinary")  # fmt: skip
def logarithm_toward_zero(amax: Array, f: Element) -> Array:
    up = (amax < 1) & (np.frexp(amax)[0] != 0.5)
    return np.clip(binade(amax) + up - f.emax, -127, 127)


@fault("scale", BLOCKS, MX,
       "The scale is at most 1 (code 7F): its code saturates as a signed byte.",
       "blocks with amax of 2^(emax + 1) and more")  # fmt: skip
def signed_byte(amax: Array, f: Element) -> Array:
    return np.minimum(scale(amax, f), 0)


@fault("scale", BLOCKS, MX,
       "Where amax is exactly a power of two, the scale is half of the right one.",
       "blocks with an amax of one bit")  # fmt: skip
def strictly_above_power(amax: Array, f: Element) -> Array:
    return np.clip(binade(amax) - (np.frexp(amax)[0] == 0.5) - f.emax, -127, 127)


@fault("scale", BLOCKS, FLOAT_BLOCKS[:4],
       "The scale is made with the emax of the other format of as many bits (E5M2 for E4M3, E3M2 "
       "for E2M3, and the other way around).", "ordinary")  # fmt: skip
def emax_of_sibling(amax: Array, f: Element) -> Array:
    return scale(amax, {E5M2: E4M3, E4M3: E5M2, E3M2: E2M3, E2M3: E3M2}[f])


@fault("scale", BLOCKS, MX,
       "The scale is doubled where the significand of amax is 1.5 or more: the exponent of amax is "
       "rounded by its first fraction bit.", "ordinary")  # fmt: skip
def exponent_rounded(amax: Array, f: Element) -> Array:
    return np.clip(binade(amax) + (np.frexp(amax)[0] >= 0.75) - f.emax, -127, 127)


@fault("scale", BLOCKS, MX,
       "The scale is four times the right one where amax is 256 to 4096: a threshold of a table "
       "is wrong.", "blocks with amax from 256 to below 4096")  # fmt: skip
def wrong_in_a_range(amax: Array, f: Element) -> Array:
    return np.clip(scale(amax, f) + 2 * ((amax >= 256) & (amax < 4096)), -127, 127)


# special blocks


@fault("special_blocks", BLOCKS, MX,
       "A NaN is noticed only in lanes 0, 4, 8, ..., so that with one in another lane the block "
       "keeps its scale.", "NaN")  # fmt: skip
def nan_in_first_of_four(x: Array, amax: Array, exponents: Array, f: Element) -> tuple[Any, ...]:
    return np.isinf(x).any(axis=1) | np.isnan(x[:, ::4]).any(axis=1), np.zeros(len(x), bool)


@fault("special_blocks", BLOCKS, MX,
       "An infinity is noticed only if it is positive; with -Inf alone amax counts as 2^128.",
       "-Inf")  # fmt: skip
def negative_infinity(x: Array, amax: Array, exponents: Array, f: Element) -> tuple[Array, Array]:
    return np.isnan(x).any(axis=1) | (x == np.inf).any(axis=1), np.zeros(len(x), bool)


@fault("special_blocks", BLOCKS, MX,
       "A block whose amax is below 1e-30 becomes scale 00 and zeros, without their signs.",
       "blocks with a tiny amax")  # fmt: skip
def tiny_block(x: Array, amax: Array, exponents: Array, f: Element) -> tuple[Array, Array]:
    return ~np.isfinite(x).all(axis=1), amax < 1e-30


@fault("special_blocks", BLOCKS, MX,
       "A block with a finite number beyond 1e38 is taken for a NaN block.",
       "blocks with a huge amax")  # fmt: skip
def huge_is_infinite(x: Array, amax: Array, exponents: Array, f: Element) -> tuple[Array, Array]:
    return ~(np.abs(x) <= 1e38).all(axis=1), np.zeros(len(x), bool)


# value: elements under the scale, casts on the way


def cut_to_bfloat16(x: Array) -> Array:
    bits = x.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)
    cut = bits.view(np.float32).astype(np.float64)
    return np.where(np.isnan(x), x, cut)


@fault("value", BLOCKS, MX,
       "The quotient of element and scale is cut to bfloat16 before it is rounded.",
       "ordinary")  # fmt: skip
def quotient_cut_to_bfloat16(x: Array, exponents: Array, f: Element) -> Array:
    return cut_to_bfloat16(value(x, exponents, f))


@fault("value", BLOCKS, MX,
       "Elements are multiplied by 1 / scale in float16, which is 0 for scales above 2^24 and Inf "
       "below 2^-15.", "blocks with scales above 2^24 or below 2^-15")  # fmt: skip
def reciprocal_in_float16(x: Array, exponents: Array, f: Element) -> Array:
    return x * np.ldexp(1.0, -exponents).astype(np.float16).astype(float)[:, np.newaxis]


@fault("value", BLOCKS, FLOAT_BLOCKS[:3],
       "Elements whose quotient is below 2^(emax - 8) become zeros of their sign: the shifter has "
       "three bits.", "ordinary")  # fmt: skip
def three_bit_shifter(x: Array, exponents: Array, f: Element) -> Array:
    q = value(x, exponents, f)
    return np.where(np.abs(q) < 2.0 ** (f.emax - 8), np.copysign(0, q), q)


@fault("value", BLOCKS, MX,
       "The last element of a block is divided by the scale of the next block of the call.",
       "ordinary")  # fmt: skip
def last_lane_next_scale(x: Array, exponents: Array, f: Element) -> Array:
    following = np.append(exponents[1:], exponents[-1:])
    return np.concatenate([value(x[:, :-1], exponents, f), value(x[:, -1:], following, f)], axis=1)


@fault("value", BLOCKS, MX,
       "Elements in odd lanes are rounded to float16 before they are divided, which makes "
       "Inf from 65520 on.", "elements beyond 65520 or below 2^-14, and near ties")  # fmt: skip
def odd_lanes_in_float16(x: Array, exponents: Array, f: Element) -> Array:
    through = x.copy()
    through[:, 1::2] = x[:, 1::2].astype(np.float16)
    return value(through, exponents, f)


@fault("cast", ("encode",), MX,
       "Numbers are cut to bfloat16 before they are rounded.", "ordinary")  # fmt: skip
def cut_on_the_way(x: Array, f: Element) -> Array:
    return cut_to_bfloat16(x)


@fault("cast", ("encode",), MX,
       "A NaN becomes the negative largest number: the clamp is max(min(x, M), -M) of C.",
       "NaN")  # fmt: skip
def clamp_swallows_nan(x: Array, f: Element) -> Array:
    return np.where(np.isnan(x), -(2.0**30), x)


# round


@fault("round", NUMBERS, ALL, "Ties go toward positive infinity: floor(x + 1/2).", "ties")
def half_up(q: Array, f: Element) -> Array:
    above, steps = in_steps(q, f)
    return (above << f.mantissa) + np.abs(np.floor(np.copysign(steps, q) + 0.5)).astype(np.int64)


@fault("round", NUMBERS, ALL,
       "Numbers below the smallest normal one (in INT8 below 1) are cut toward zero.",
       "numbers below the smallest normal one")  # fmt: skip
def subnormal_cut(q: Array, f: Element) -> Array:
    steps = in_steps(q, f)[1]
    return np.where(np.abs(q) < 2.0**f.emin, np.floor(steps).astype(np.int64), to_nearest(q, f))


@fault("round", NUMBERS, ALL,
       "A number that rounds up to a power of two above the smallest normal number (in INT8 to 2) "
       "becomes half of it: the carry into the exponent is lost.",
       "numbers that round up to a power of two")  # fmt: skip
def carry_lost(q: Array, f: Element) -> Array:
    above, steps = in_steps(q, f)
    full = 2 << f.mantissa
    rounded = np.rint(steps).astype(np.int64)
    rounded = np.where((rounded == full) & (steps < full), full // 2, rounded)
    return (above << f.mantissa) + rounded


@fault("round", NUMBERS, ALL,
       "Numbers above a tie by less than an eighth of a step count as the tie: of the bits below "
       "the last one three are read.", "ordinary")  # fmt: skip
def short_sticky(q: Array, f: Element) -> Array:
    above, steps = in_steps(q, f)
    return (above << f.mantissa) + np.rint(np.floor(steps * 8) / 8).astype(np.int64)


# overflow


@fault("overflow", NUMBERS, ALL,
       "Codes beyond the largest number are not clamped: they run on into NaN codes and the sign "
       "bit, and higher bits are dropped.", "numbers beyond the largest")  # fmt: skip
def code_runs_on(codes: Array, negative: Array, f: Element) -> tuple[Array, Array]:
    codes = codes & ((1 << f.bits) - 1)
    if f.int8:
        return codes, negative
    sign = codes >> f.bits - 1 == 1
    return codes & ((1 << f.bits - 1) - 1), negative ^ sign


@fault("overflow", NUMBERS, ALL,
       "Negative numbers beyond the largest one become the positive largest one.",
       "numbers beyond the largest")  # fmt: skip
def clamp_drops_sign(codes: Array, negative: Array, f: Element) -> tuple[Array, Array]:
    return np.minimum(codes, f.largest), negative & (codes <= f.largest)


@fault("overflow", NUMBERS, (*FLOAT_BLOCKS[1:], "nvfp4"),
       "Numbers saturate below the top exponent, as if that stood for Inf and NaN.",
       "numbers of the top exponent and beyond")  # fmt: skip
def top_exponent_reserved(codes: Array, negative: Array, f: Element) -> tuple[Array, Array]:
    top = (1 << f.bits - 1) - (1 << f.mantissa) - 1
    return np.minimum(codes, top), negative


# special elements


@fault("special_elements", NUMBERS, FLOAT_BLOCKS,
       "-0 becomes +0, since the sign is x < 0; negative numbers that round to zero keep theirs.",
       "-0")  # fmt: skip
def sign_by_comparison(
    q: Array, codes: Array, negative: Array, f: Element
) -> tuple[Array, Array]:  # fmt: skip
    return special_elements(q, codes, negative & (q != 0), f)


@fault("special_elements", NUMBERS, MX,
       "A negative number that rounds to zero becomes the smallest negative one, as an arithmetic "
       "shift rounds.", "negative numbers that round to zero")  # fmt: skip
def never_negative_zero(
    q: Array, codes: Array, negative: Array, f: Element
) -> tuple[Array, Array]:  # fmt: skip
    codes = np.where(negative & (codes == 0) & (q < 0), 1, codes)
    return special_elements(q, codes, negative, f)


# places


@fault("places", BLOCKS, ALL,
       "The second and the third quarter of a block's codes are exchanged.",
       "ordinary")  # fmt: skip
def middle_quarters(scales: Array, codes: Array, f: Element) -> tuple[Array, Array]:
    quarters = np.split(codes, 4, axis=1)
    return scales, np.concatenate([quarters[i] for i in (0, 2, 1, 3)], axis=1)


@fault("places", BLOCKS, (*FLOAT_BLOCKS, "nvfp4"),
       "In odd lanes the sign is that of the lane before.", "ordinary")  # fmt: skip
def sign_of_neighbour(scales: Array, codes: Array, f: Element) -> tuple[Array, Array]:
    top, codes = 1 << f.bits - 1, codes.copy()
    codes[:, 1::2] = codes[:, 1::2] & (top - 1) | codes[:, ::2] & top
    return scales, codes


@fault("places", BLOCKS, ALL,
       "The scales of blocks 2i and 2i + 1 of a call are exchanged when they are stored.",
       "ordinary")  # fmt: skip
def scales_exchanged(scales: Array, codes: Array, f: Element) -> tuple[Array, Array]:
    whole = len(scales) // 2 * 2
    return np.append(scales[:whole].reshape(-1, 2)[:, ::-1], scales[whole:]), codes


# NVFP4


@fault("tensor_scale", ("quantize",), ("nvfp4",),
       "The scale of the tensor is rounded to bfloat16.", "ordinary")  # fmt: skip
def tensor_scale_in_bfloat16(given: Array) -> tuple[Array, Array]:
    rounded = given.astype(np.float32).astype(ml_dtypes.bfloat16).astype(float)
    rounded = np.where(np.isinf(rounded), given, rounded)  # what overflows stays as it is
    return rounded, rounded


@fault("tensor_scale", ("quantize",), ("nvfp4",),
       "Elements are divided by the scale of the block alone, and not by that of the tensor.",
       "ordinary")  # fmt: skip
def tensor_scale_forgotten(given: Array) -> tuple[Array, Array]:
    return given, np.ones_like(given)


@fault("block_scale", ("quantize",), ("nvfp4",),
       "The block's scale is cut toward zero.", "ordinary")  # fmt: skip
def block_scale_cut(wanted: Array) -> Array:
    above, steps = in_steps(wanted, E4M3)
    return np.minimum((above << 3) + np.floor(steps).astype(np.int64), E4M3.largest)


@fault("block_scale", ("quantize",), ("nvfp4",),
       "The block's scale is at least 2^-6, the smallest normal number.",
       "small blocks")  # fmt: skip
def block_scale_normal(wanted: Array) -> Array:
    return np.maximum(block_scale(wanted), 8)


# tensors


@fault("axis", ("quantize_tensor",), MX,
       "With axis 0 a square tensor is taken for its transpose: it is read by rows, and the result "
       "is written by columns.", "square tensors")  # fmt: skip
def square_not_turned(values: Array, down: bool) -> Array:
    return values.T if down and values.shape[0] != values.shape[1] else values


@fault("scale_matrix", ("quantize_tensor",), MX,
       "With axis 0 the scales lie column by column in memory.", "ordinary")  # fmt: skip
def scales_by_columns(scales: Array, down: bool) -> Array:
    return np.ascontiguousarray(scales).reshape(scales.shape[::-1]) if down else scales


@fault("tail", ("quantize_tensor",), MX,
       "A short last block is filled up with its last number.", "tails")  # fmt: skip
def tail_repeated(x: Array) -> Array:
    return np.pad(x, ((0, 0), (0, -x.shape[1] % 32)), mode="edge")


@fault("tail", ("quantize_tensor",), MX,
       "The last number of a short last block of two or more is taken as 0.", "tails")  # fmt: skip
def tail_one_short(x: Array) -> Array:
    return tail(x[:, :-1] if x.shape[1] % 32 > 1 else x)


# decoding


@fault("scale_decoded", ("dequantize", "matmul"), MX,
       "Scale 00 is read as 2^-126.", "scale 00")  # fmt: skip
def scale_00_doubled(scales: Array) -> Array:
    return scale_decoded(np.maximum(scales, 1))


@fault("scale_decoded", ("dequantize", "matmul"), MX,
       "Scales are held in float16: Inf from 2^16 on, 0 below 2^-24.",
       "scales beyond float16")  # fmt: skip
def scale_in_float16(scales: Array) -> Array:
    return scale_decoded(scales).astype(np.float16).astype(float)


@fault("code_decoded", ("dequantize", "matmul"), FLOAT_BLOCKS,
       "Subnormal codes are read with a leading 1, as (1 + m / 2^M) times half of the smallest "
       "normal number.", "subnormal codes")  # fmt: skip
def subnormal_with_one(codes: Array, f: Element) -> Array:
    sign, exponent, mantissa = fields(codes, f)
    one = sign * np.ldexp(1.0 + mantissa / 2**f.mantissa, f.emin - 1)
    return np.where((exponent == 0) & (mantissa != 0), one, code_decoded(codes, f))


@fault("code_decoded", ("dequantize", "matmul"), FP8,
       "NaN and Inf codes are read as numbers of the top exponent.",
       "NaN and Inf codes")  # fmt: skip
def top_exponent_as_numbers(codes: Array, f: Element) -> Array:
    return number(*fields(codes, f), f)


@fault("code_decoded", ("dequantize", "matmul"), ("mxint8",),
       "Negative codes are read as the ones' complement, one step too near to zero.",
       "ordinary")  # fmt: skip
def ones_complement(codes: Array, f: Element) -> Array:
    return code_decoded(codes, f) + (codes >= 128) / 64


@fault("product", ("dequantize",), MX,
       "The second half of a block is multiplied by the scale of the next block of the call.",
       "ordinary")  # fmt: skip
def second_half_next_scale(scales: Array, numbers: Array) -> Array:
    half = numbers.shape[1] // 2
    following = np.append(scales[1:], scales[-1:])
    return np.hstack([product(scales, numbers[:, :half]), product(following, numbers[:, half:])])


@fault("product", ("dequantize",), MX,
       "Products below 2^-126 become zeros of their sign.", "tiny products")  # fmt: skip
def products_flushed(scales: Array, numbers: Array) -> Array:
    x = product(scales, numbers)
    return np.where(np.abs(x) < 2.0**-126, np.copysign(0, x), x)


@fault("lanes", ("dequantize",), MX,
       "Elements 2i and 2i + 1 of a block are exchanged.", "ordinary")  # fmt: skip
def pairs_exchanged(x: Array) -> Array:
    return x[:, np.arange(x.shape[1]) ^ 1]


@fault("output", ("dequantize", "matmul"), MX,
       "Results are rounded to float16 before the type that was asked for.",
       "results beyond float16, and of a matmul all")  # fmt: skip
def output_by_float16(x: Array, dtype: Any) -> Array:
    return output(x.astype(np.float16), dtype)


# products


@fault("operand", ("matmul",), MX,
       "All rows of the second operand have the scales of its first row.", "ordinary")  # fmt: skip
def scales_of_first_row(scales: Array, second: bool) -> Array:
    return np.broadcast_to(scales[:1], scales.shape) if second else scales


@fault("product_scale", ("matmul",), MX,
       "The product of two scales is kept within 2^-127 and 2^127.",
       "scales whose product leaves that range")  # fmt: skip
def scale_product_clamped(a: Array, b: Array) -> Array:
    return np.clip(np.multiply.outer(a, b), 2.0**-127, 2.0**127)


@fault("sum", ("matmul",), MX,
       "Of an odd number of blocks, three or more, the last one is not added.",
       "k of 96, 160, 224, ...")  # fmt: skip
def odd_block_lost(total: Array, term: Array, block: int, blocks: int) -> Array:
    return total if blocks % 2 and 0 < block == blocks - 1 else total + term


@fault("sum", ("matmul",), MX,
       "The sum is rounded to bfloat16 after each block.", "ordinary")  # fmt: skip
def sum_in_bfloat16(total: Array, term: Array, block: int, blocks: int) -> Array:
    return (total + term).astype(np.float32).astype(ml_dtypes.bfloat16).astype(float)


# ---- kernels -------------------------------------------------------------------------------------


def steps(faults: tuple[str, ...]) -> SimpleNamespace:
    """The stages, with those of the faults in place of the right ones."""
    chosen = {FAULTS[name].stage: FAULTS[name].change for name in faults}
    if len(chosen) != len(faults):
        raise ValueError(f"faults must be of different stages, got {faults}")
    return SimpleNamespace(**{**RIGHT, **chosen})


def operations_of(faults: tuple[str, ...], block_format: str) -> tuple[str, ...]:
    """The operations in which each of the faults can be, of this format."""
    every = ("quantize", "quantize_tensor", "encode", "dequantize", "matmul")
    some = ("quantize",) if block_format == "nvfp4" else every
    return tuple(o for o in some if all(o in FAULTS[name].operations for name in faults))


def kernel(faults: tuple[str, ...], block_format: str, operation: str | None = None) -> Any:
    """A target with these faults: the functions of the operations that all of them belong to.

    With `operation` it has that function alone. Without faults it is right.
    """
    s, f = steps(faults), ELEMENTS[block_format]

    def encode(values: Array, format: str) -> Array:
        with np.errstate(all="ignore"):
            codes = codes_of(s, s.cast(np.asarray(values).astype(np.float64), f), f)
        return codes.astype(np.uint8)

    def quantize(values: Array, block_format: str, *tensor: Any) -> tuple[Array, Array]:
        x = np.asarray(values).astype(np.float64)
        with np.errstate(all="ignore"):
            return nv_blocks(s, x, f, *tensor) if tensor else mx_blocks(s, x, f)

    def quantize_tensor(values: Array, block_format: str, axis: int) -> tuple[Array, Array]:
        down = axis % 2 == 0
        x = s.tail(s.axis(np.asarray(values).astype(np.float64), down))
        with np.errstate(all="ignore"):
            scales, codes = mx_blocks(s, x.reshape(-1, 32), f)
        scales = s.scale_matrix(scales.reshape(len(x), x.shape[1] // 32), down)
        codes = codes.reshape(x.shape)
        return np.ascontiguousarray(scales), np.ascontiguousarray(codes.T if down else codes)

    def dequantize(scale_codes: Array, codes: Array, block_format: str, dtype: Any) -> Array:
        with np.errstate(all="ignore"):
            numbers = s.code_decoded(codes, f)
            x = s.lanes(s.product(s.scale_decoded(scale_codes), numbers))
            result: Array = s.output(x, dtype)
        return result

    def matmul(
        scales_a: Array, codes_a: Array, scales_b: Array, codes_b: Array,
        format_a: str, format_b: str,
    ) -> Array:  # fmt: skip
        with np.errstate(all="ignore"):
            a, b = s.code_decoded(codes_a, f), s.code_decoded(codes_b, f)
            rows = s.operand(s.scale_decoded(scales_a), False)
            columns = s.operand(s.scale_decoded(scales_b), True)
            total = np.zeros((len(a), len(b)))
            for i in range(rows.shape[1]):
                some = slice(32 * i, 32 * i + 32)
                term = a[:, some] @ b[:, some].T * s.product_scale(rows[:, i], columns[:, i])
                total = s.sum(total, term, i, rows.shape[1])
            result: Array = s.output(total, np.float32)
        return result

    functions = {
        "encode": encode, "quantize": quantize, "quantize_tensor": quantize_tensor,
        "dequantize": dequantize, "matmul": matmul,
    }  # fmt: skip
    names = operations_of(faults, block_format) if operation is None else (operation,)
    formats = [f.name if name == "encode" else block_format for name in names]
    return SimpleNamespace(
        POLICY="ocp",
        FORMATS=sorted(set(formats)),
        FLOATS=["f32", "bf16", "f16"] if "dequantize" in names else ["f32"],
        **{name: functions[name] for name in names},
    )

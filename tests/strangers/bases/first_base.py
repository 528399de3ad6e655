"""A correct and reasonably fast MX implementation in NumPy: the base of the kernels in this folder.

Elements are rounded once, in float64, where every scaling by a power of two is exact.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import ml_dtypes
import numpy as np

BLOCK = 32


class Element(NamedTuple):
    """An element format: field widths, bias, exponent of the largest, largest finite code."""

    bits: int
    mbits: int
    bias: int
    emax: int
    max_code: int
    nan_code: int | None
    is_int: bool = False


ELEMENTS = {
    "e5m2": Element(8, 2, 15, 15, 0x7B, 0x7F),
    "e4m3": Element(8, 3, 7, 8, 0x7E, 0x7F),
    "e3m2": Element(6, 2, 3, 4, 0x1F, None),
    "e2m3": Element(6, 3, 1, 2, 0x1F, None),
    "e2m1": Element(4, 1, 1, 2, 0x07, None),
    "int8": Element(8, 6, 0, 0, 127, None, True),
}
BLOCK_FORMATS = {
    "mxfp8_e5m2": "e5m2",
    "mxfp8_e4m3": "e4m3",
    "mxfp6_e3m2": "e3m2",
    "mxfp6_e2m3": "e2m3",
    "mxfp4_e2m1": "e2m1",
    "mxint8": "int8",
}


def element(name: str) -> Element:
    """The element format of an element's or a block format's name."""
    return ELEMENTS[BLOCK_FORMATS.get(name, name)]


def wide(values: np.ndarray) -> np.ndarray:
    """The numbers in float64, exactly (bfloat16 goes through float32)."""
    values = np.asarray(values)
    if values.dtype == ml_dtypes.bfloat16:
        values = values.astype(np.float32)
    return values.astype(np.float64)


def exponent(x: np.ndarray) -> np.ndarray:
    """Floor of log2 of positive finite numbers, exact, also for subnormals."""
    return np.frexp(x)[1].astype(np.int64) - 1


def steps(x: np.ndarray, fmt: Element) -> tuple[np.ndarray, np.ndarray]:
    """Magnitudes in units of the last place, not rounded, and the binade's number (0 lowest)."""
    if fmt.is_int:
        return np.ldexp(x, fmt.mbits), np.zeros(x.shape, np.int64)
    lowest = 1 - fmt.bias
    e = np.where(x == 0, lowest, np.maximum(exponent(x), lowest))
    return np.ldexp(x, (fmt.mbits - e).astype(np.int32)), e - lowest


def finish(code: np.ndarray, values: np.ndarray, fmt: Element) -> np.ndarray:
    """Saturate magnitude codes, add the sign, and put NaN in."""
    code = np.minimum(code, fmt.max_code)
    sign = np.signbit(values)
    nan = np.isnan(values)
    if fmt.is_int:
        code = np.where(nan, fmt.max_code, np.where(sign, -code, code))
        return (code & 0xFF).astype(np.uint8)
    code = np.where(sign, code | (1 << (fmt.bits - 1)), code)
    nan_code = fmt.max_code if fmt.nan_code is None else fmt.nan_code
    return np.where(nan, nan_code, code).astype(np.uint8)


def encode(values: np.ndarray, name: str, rint: Callable[..., np.ndarray] = np.rint) -> np.ndarray:
    """Codes of numbers: to nearest, ties to even, saturating."""
    fmt = element(name)
    x = wide(values)
    magnitude = np.where(np.isnan(x), 0.0, np.minimum(np.abs(x), 1e6))
    units, binade = steps(magnitude, fmt)
    return finish((binade << fmt.mbits) + rint(units).astype(np.int64), x, fmt)


def decode_table(name: str) -> np.ndarray:
    """The float32 value of each of the 256 codes (bits above the format's are ignored)."""
    fmt = element(name)
    codes = np.arange(256)
    if fmt.is_int:
        return (codes.astype(np.uint8).view(np.int8) / 64).astype(np.float32)
    magnitude = codes & ((1 << (fmt.bits - 1)) - 1)
    e, m = magnitude >> fmt.mbits, magnitude & ((1 << fmt.mbits) - 1)
    unit = np.where(e > 0, m + (1 << fmt.mbits), m).astype(np.float64)
    value = np.ldexp(unit, np.maximum(e, 1) - fmt.bias - fmt.mbits)
    if fmt.nan_code is not None:
        value = np.where(magnitude > fmt.max_code, np.nan, value)
    if fmt.bias == 15:
        value = np.where(magnitude == 0x7C, np.inf, value)
    return np.where(codes >> (fmt.bits - 1) & 1, -value, value).astype(np.float32)


TABLES = {name: decode_table(name) for name in ELEMENTS}


def decode(codes: np.ndarray, name: str) -> np.ndarray:
    """float32 values of codes."""
    return TABLES[BLOCK_FORMATS.get(name, name)][np.asarray(codes)]


def decode_scale(codes: np.ndarray) -> np.ndarray:
    """float32 values of E8M0 codes."""
    codes = np.asarray(codes)
    value = np.ldexp(np.float32(1), codes.astype(np.int32) - 127)
    return np.where(codes == 255, np.float32(np.nan), value).astype(np.float32)


def encode_scale(values: np.ndarray) -> np.ndarray:
    """E8M0 codes of numbers, rounded down."""
    x = wide(values)
    x = np.abs(x)
    good = np.isfinite(x) & (x > 0)
    code = np.clip(exponent(np.where(good, x, 1.0)) + 127, 0, 254)
    return np.where(x == 0, 0, np.where(np.isfinite(x), code, 255)).astype(np.uint8)


def shared_scale(amax: np.ndarray, name: str) -> np.ndarray:
    """E8M0 codes of blocks whose largest magnitude is given: the FLOOR rule."""
    fmt = element(name)
    a = wide(amax)
    good = np.isfinite(a) & (a > 0)
    code = np.clip(exponent(np.where(good, a, 1.0)) - fmt.emax + 127, 0, 254)
    return np.where(a == 0, 0, np.where(np.isfinite(a), code, 255)).astype(np.uint8)


def block_amax(values: np.ndarray) -> np.ndarray:
    """The largest magnitude of each row; NaN and infinity go through."""
    return np.abs(wide(values)).max(axis=-1)


def scaled(values: np.ndarray, scale_codes: np.ndarray) -> np.ndarray:
    """The numbers of blocks divided by their scales, exactly."""
    shift = 127 - np.asarray(scale_codes).astype(np.int32)
    return np.ldexp(wide(values), shift[..., None])


def encode_blocks(values: np.ndarray, scale_codes: np.ndarray, name: str) -> np.ndarray:
    """Codes of blocks under given scales; code 0 under the scale NaN."""
    codes = encode(scaled(values, scale_codes), name)
    return np.where(np.asarray(scale_codes)[..., None] == 255, np.uint8(0), codes)


def quantize(values: np.ndarray, block_format: str) -> tuple[np.ndarray, np.ndarray]:
    """Scale codes (n,) and codes (n, 32) of blocks (n, 32)."""
    scales = shared_scale(block_amax(values), block_format)
    return scales, encode_blocks(values, scales, block_format)


def dequantize(
    scale_codes: np.ndarray, codes: np.ndarray, block_format: str, dtype: np.dtype
) -> np.ndarray:
    """Numbers of the dtype: the exact product, rounded once."""
    product = wide(decode(codes, block_format)) * wide(decode_scale(scale_codes))[:, None]
    with np.errstate(over="ignore"):
        if np.dtype(dtype) == ml_dtypes.bfloat16:
            return product.astype(np.float32).astype(dtype)
        return product.astype(dtype)


def pack(codes: np.ndarray, name: str) -> np.ndarray:
    """Bytes of codes, one stream of bits, the lowest first; FP6 in whole groups of four codes."""
    codes = np.asarray(codes, np.uint8)
    bits = element(name).bits
    if bits == 6:
        codes = np.concatenate([codes, np.zeros(-len(codes) % 4, np.uint8)])
    stream = np.unpackbits(codes[:, None], axis=1, bitorder="little")[:, :bits]
    return np.packbits(stream.ravel(), bitorder="little")


def unpack(packed: np.ndarray, name: str, n: int) -> np.ndarray:
    """The n codes of packed bytes."""
    bits = element(name).bits
    stream = np.unpackbits(np.asarray(packed, np.uint8), bitorder="little")[: n * bits]
    return np.packbits(stream.reshape(n, bits), axis=1, bitorder="little")[:, 0]


def tensor_blocks(values: np.ndarray, axis: int) -> np.ndarray:
    """Blocks (rows, blocks, 32) of a matrix along an axis, tails filled with zeros."""
    moved = np.moveaxis(np.asarray(values), axis, -1)
    lines, length = moved.shape
    count = -(-length // BLOCK)
    padded = np.zeros((lines, count * BLOCK), moved.dtype)
    padded[:, :length] = moved
    return padded.reshape(lines, count, BLOCK)


def quantize_tensor_by(
    kernel: Callable[[np.ndarray, str], tuple[np.ndarray, np.ndarray]],
    values: np.ndarray,
    block_format: str,
    axis: int,
) -> tuple[np.ndarray, np.ndarray]:
    """A matrix by a kernel for blocks (n, 32)."""
    blocks = tensor_blocks(values, axis)
    lines, count, _ = blocks.shape
    scales, codes = kernel(blocks.reshape(-1, BLOCK), block_format)
    scales = np.moveaxis(np.asarray(scales).reshape(lines, count), -1, axis)
    codes = np.moveaxis(np.asarray(codes).reshape(lines, count * BLOCK), -1, axis)
    return np.ascontiguousarray(scales), np.ascontiguousarray(codes)


def quantize_tensor(
    values: np.ndarray, block_format: str, axis: int
) -> tuple[np.ndarray, np.ndarray]:
    """Scale codes and codes of a matrix along an axis."""
    return quantize_tensor_by(quantize, values, block_format, axis)


def tensor_by(kernel: Callable[..., tuple[np.ndarray, np.ndarray]]) -> Callable[..., object]:
    """The `quantize_tensor` of a kernel for blocks."""
    return partial(quantize_tensor_by, kernel)


def wrapped(wrap: Callable[..., object]) -> dict[str, Callable[..., object]]:
    """All ten functions by name, each as the first argument of a function that calls it."""
    every = (encode, decode, encode_scale, decode_scale, shared_scale)
    every += (quantize, dequantize, pack, unpack, quantize_tensor)
    return {function.__name__: partial(wrap, function) for function in every}


def dressed(dress: Callable[[np.ndarray], object]) -> dict[str, Callable[..., object]]:
    """All ten functions by name, with every array of their results in a dress."""

    def worn(function: Callable[..., object], *arguments: object) -> object:
        result = function(*arguments)
        return tuple(map(dress, result)) if isinstance(result, tuple) else dress(result)

    return wrapped(worn)

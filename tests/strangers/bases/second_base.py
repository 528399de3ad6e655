"""A correct kernel of the six OCP MX formats (FLOOR scales, saturating); the others build on it."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]
Quantize = Callable[[Array, str], tuple[Array, Array]]
Tensor = Callable[[Array, str, int], tuple[Array, Array]]
# format: (mantissa bits, bias, largest exponent, code of the largest number, of NaN, of Inf, sign)
SPECS: dict[str, tuple[int, int, int, int, int | None, int | None, int]] = {
    "e4m3": (3, 7, 8, 0x7E, 0x7F, None, 0x80),
    "e5m2": (2, 15, 15, 0x7B, 0x7E, 0x7C, 0x80),
    "e3m2": (2, 3, 4, 0x1F, None, None, 0x20),
    "e2m3": (3, 1, 2, 0x1F, None, None, 0x20),
    "e2m1": (1, 1, 2, 0x07, None, None, 0x08),
    "int8": (6, 1, 0, 0x7F, None, None, 0x80),
}
BITS = {"e4m3": 8, "e5m2": 8, "e3m2": 6, "e2m3": 6, "e2m1": 4, "int8": 8}
DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}


def element(block_format: str) -> str:
    """mxfp8_e4m3 -> e4m3, mxint8 -> int8, e4m3 -> e4m3."""
    return "int8" if block_format == "mxint8" else block_format.rsplit("_", 1)[-1]


def wide(values: Array) -> Array:
    """Any float type as float64, which is exact."""
    with np.errstate(invalid="ignore"):
        return np.asarray(values).astype(np.float64)


def exponent_of(values: Array) -> Array:
    """floor(log2(|x|)) of finite numbers that are not 0, and -2000 of 0."""
    mantissa, exponent = np.frexp(values)
    return np.where(mantissa == 0, -2000, exponent.astype(np.int64) - 1)


def encode(values: Array, format: str) -> Array:
    """Round to nearest, ties to even; saturate."""
    x = wide(values)
    mantissa_bits, bias, _, largest, nan, _, sign = SPECS[format]
    magnitude = np.where(np.isfinite(x), np.abs(x), 0.0)
    if format == "int8":
        steps = np.minimum(np.rint(np.minimum(magnitude, 4.0) * 64), 127).astype(np.int64)
        steps = np.where(np.isfinite(x), steps, 127)
        return (np.where(np.signbit(x) & ~np.isnan(x), -steps, steps) & 0xFF).astype(np.uint8)
    magnitude = np.minimum(magnitude, 2.0**20)
    exponent = np.maximum(exponent_of(magnitude), 1 - bias)
    steps = np.rint(np.ldexp(magnitude, mantissa_bits - exponent)).astype(np.int64)
    codes = np.minimum(steps + ((exponent + bias - 1) << mantissa_bits), largest)
    codes = np.where(np.isinf(x), largest, codes)
    codes = np.where(np.signbit(x), codes | sign, codes)
    return np.where(np.isnan(x), largest if nan is None else nan, codes).astype(np.uint8)


def table(format: str) -> Array:
    """The value of every code, in float64."""
    mantissa_bits, bias, _, largest, _, inf, sign = SPECS[format]
    codes = np.arange(256)
    if format == "int8":
        return codes.astype(np.uint8).view(np.int8) / 64.0
    magnitude = codes & (sign - 1)
    field, fraction = magnitude >> mantissa_bits, magnitude & ((1 << mantissa_bits) - 1)
    whole = fraction + np.where(field > 0, 1 << mantissa_bits, 0)
    number = np.ldexp(whole.astype(np.float64), np.maximum(field, 1) - bias - mantissa_bits)
    number = np.where(magnitude > largest, np.nan, number)
    if inf is not None:
        number = np.where(magnitude == inf, np.inf, number)
    return np.where(codes & sign, -number, number)


TABLES = {name: table(name) for name in SPECS}


def decode(codes: Array, format: str) -> Array:
    """Codes to float32."""
    return TABLES[format][codes].astype(np.float32)


def decode_scale(codes: Array) -> Array:
    """E8M0 to float32."""
    return scale_value(codes).astype(np.float32)


def scale_value(codes: Array) -> Array:
    """E8M0 to float64."""
    codes = np.asarray(codes)
    return np.where(codes == 255, np.nan, np.ldexp(1.0, codes.astype(np.int64) - 127))


def shared_scale(amax: Array, format: str) -> Array:
    """The FLOOR rule: 2^(floor(log2(amax)) - emax) within E8M0; NaN for NaN and Inf."""
    x = wide(amax)
    exponent = exponent_of(np.where(np.isfinite(x), np.abs(x), 0.0)) - SPECS[element(format)][2]
    codes = np.clip(exponent, -127, 127) + 127
    return np.where(np.isfinite(x), codes, 255).astype(np.uint8)


def amax_of(values: Array) -> Array:
    """The largest magnitude of every block, in float64; NaN where there is one."""
    return np.max(np.abs(wide(values)), axis=-1)


def scaled(values: Array, scale_codes: Array) -> Array:
    """The elements over their scales, exact in float64; under a NaN scale all NaN."""
    shift = 127 - scale_codes.astype(np.int64)[..., None]
    return np.where(scale_codes[..., None] == 255, np.nan, np.ldexp(wide(values), shift))


def quantize(values: Array, block_format: str) -> tuple[Array, Array]:
    """Blocks (n, 32) to scale codes (n,) and codes (n, 32)."""
    scale_codes = shared_scale(amax_of(values), block_format)
    codes = encode(scaled(values, scale_codes).reshape(-1), element(block_format))
    return scale_codes, codes.reshape(values.shape)


def narrow(values: Array, dtype: Any) -> Array:
    """float64 to a float type, rounded once: the products are short enough."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return values.astype(dtype)


def dequantize(scale_codes: Array, codes: Array, block_format: str, dtype: Any) -> Array:
    """Codes times scales, rounded once to the type."""
    product = TABLES[element(block_format)][codes] * scale_value(scale_codes)[..., None]
    return narrow(product, dtype)


def pack(codes: Array, format: str) -> Array:
    """Little-endian bit stream: the first code in the lowest bits."""
    bits = BITS[format]
    stream = np.unpackbits(codes.astype(np.uint8)[:, None], axis=1, bitorder="little")[:, :bits]
    packed = np.packbits(stream.reshape(-1), bitorder="little")
    return np.pad(packed, (0, -len(packed) % 3)) if bits == 6 else packed


def unpack(packed: Array, format: str, n: int) -> Array:
    """The inverse of pack."""
    bits = BITS[format]
    stream = np.unpackbits(packed, bitorder="little")[: n * bits].reshape(n, bits)
    return np.packbits(stream, axis=1, bitorder="little")[:, 0]


def pad_rows(moved: Array) -> Array:
    """The rows, filled up with zeros to whole blocks."""
    return np.pad(moved, ((0, 0), (0, -moved.shape[1] % 32)))


def tensor_by(quantize: Quantize, pad: Callable[[Array], Array] = pad_rows) -> Tensor:
    """The quantize_tensor that belongs to a quantize of blocks."""

    def quantize_tensor(values: Array, block_format: str, axis: int) -> tuple[Array, Array]:
        padded = pad(np.moveaxis(values, axis, -1))
        rows, width = padded.shape
        scale_codes, codes = quantize(padded.reshape(-1, 32), block_format)
        scale_codes = np.moveaxis(scale_codes.reshape(rows, width // 32), -1, axis)
        codes = np.moveaxis(codes.reshape(rows, width), -1, axis)
        return np.ascontiguousarray(scale_codes), np.ascontiguousarray(codes)

    return quantize_tensor


quantize_tensor = tensor_by(quantize)


def fields(values: Array) -> tuple[Array, Array]:
    """Magnitudes of float32 as uint64 mantissas of 24 bits and exponents; 0 for NaN and Inf."""
    x = wide(values)
    mantissa, exponent = np.frexp(np.where(np.isfinite(x), np.abs(x), 0.0))
    exponent = np.where(mantissa == 0, -2000, exponent.astype(np.int64) - 1)
    return (mantissa * 2.0**24).astype(np.uint64), exponent


def with_sign(magnitude: Array, negative: Array, format: str) -> Array:
    """Codes of magnitudes with their signs."""
    if format == "int8":
        return (np.where(negative, -magnitude, magnitude) & 0xFF).astype(np.uint8)
    return np.where(negative, magnitude | SPECS[format][6], magnitude).astype(np.uint8)


def encode_scale(values: Array) -> Array:
    """The power of two below, E8M0."""
    x = wide(values)
    exponent = exponent_of(np.where(np.isfinite(x), np.abs(x), 0.0))
    codes = np.clip(exponent, -127, 127) + 127
    return np.where(np.isfinite(x), codes, 255).astype(np.uint8)


def pack_scales(scale_codes: Array) -> Array:
    """Row by row."""
    return np.ascontiguousarray(scale_codes).reshape(-1)


def unpack_scales(packed: Array, shape: tuple[int, int]) -> Array:
    """The inverse of pack_scales."""
    return packed[: shape[0] * shape[1]].reshape(shape)


def tile_index(rows: int, columns: int) -> Array:
    """Where each scale lies in the tiles of 128 x 4 of cuBLAS."""
    row, column = np.arange(rows)[:, None], np.arange(columns)[None, :]
    tile = (row // 128) * -(-columns // 4) + column // 4
    return tile * 512 + (row % 32) * 16 + (row % 128) // 32 * 4 + column % 4


def pack_tiles(scale_codes: Array) -> Array:
    """The scales in tiles, filled up with zeros."""
    rows, columns = scale_codes.shape
    packed = np.zeros(-(-rows // 128) * -(-columns // 4) * 512, dtype=np.uint8)
    packed[tile_index(rows, columns)] = scale_codes
    return packed


def unpack_tiles(packed: Array, shape: tuple[int, int]) -> Array:
    """The inverse of pack_tiles."""
    return packed[tile_index(*shape)]

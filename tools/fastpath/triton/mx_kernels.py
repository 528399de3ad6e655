"""OCP MX quantization in Triton, right to the last bit: integers only, no cast to FP8.

    scales, codes = quantize(x, "e4m3", rule="rceil")  # x: float32 or bfloat16 (..., 32 * n)
    x = dequantize(scales, codes, "e4m3", dtype=torch.bfloat16)
    scales, nibbles = quantize(x, "e2m1", packed=True)

Elements are rounded to nearest, ties to even, and saturate; the sign of zero is kept; a block with
a NaN or an infinity has scale FF and codes 00. A float32 is a sign, an exponent and 24 bits of
significand here, so that neither flushed subnormal numbers nor fast mathematics nor a rounding mode
can touch it. The one conversion, integer to float32, is of integers up to 2**23, hence exact.

The file needs torch and triton alone. With TRITON_INTERPRET=1 it runs on a CPU.
"""

import torch
import triton
import triton.language as tl

#: Bits of a code and of its fraction, the exponent of the smallest normal number, the largest code.
#: INT8 is a float without an exponent: n / 64 is subnormal, and -n is stored in two's complement.
FORMATS = {
    "e5m2": {"BITS": 8, "FRACTION": 2, "EMIN": -14, "LARGEST": 0x7B},
    "e4m3": {"BITS": 8, "FRACTION": 3, "EMIN": -6, "LARGEST": 0x7E},
    "e3m2": {"BITS": 6, "FRACTION": 2, "EMIN": -2, "LARGEST": 0x1F},
    "e2m3": {"BITS": 6, "FRACTION": 3, "EMIN": 0, "LARGEST": 0x1F},
    "e2m1": {"BITS": 4, "FRACTION": 1, "EMIN": 0, "LARGEST": 0x07},
    "int8": {"BITS": 8, "FRACTION": 6, "EMIN": 0, "LARGEST": 0x7F},
}
#: The scale is 2**(floor(log2 amax) - emax), and twice that if the fraction of amax reaches a
#: limit: never (floor), if it is not 0 (ceil), if amax / scale would be above the largest number
#: (rceil), or would round up to the next power of two, ties up (even).
LIMITS = {
    "floor": lambda fraction, largest: 1 << 23,
    "ceil": lambda fraction, largest: 1,
    "rceil": lambda fraction, largest: (largest % (1 << fraction) << (23 - fraction)) + 1,
    "even": lambda fraction, largest: (1 << 23) - (1 << (22 - fraction)),
}


@triton.jit
def float_bits(x):
    """Float32 patterns of what was loaded as int32, or as int16 from bfloat16."""
    bits = x.to(tl.int32)
    if x.dtype == tl.int16:
        bits = bits << 16
    return bits


@triton.jit
def normalized(magnitude):
    """Exponent field and fraction as if float32 had no smallest exponent: fields go to -149."""
    integer = magnitude.to(tl.float32).to(tl.int32, bitcast=True)
    return tl.where(magnitude < 0x800000, integer - (149 << 23), magnitude)


@triton.jit
def encoded(
    bits, scale,
    BITS: tl.constexpr, FRACTION: tl.constexpr, EMIN: tl.constexpr, LARGEST: tl.constexpr,
):  # fmt: skip
    """Codes of float32 patterns divided by 2**(scale - 127)."""
    magnitude = bits & 0x7FFFFFFF
    pattern = normalized(magnitude)
    above = (pattern >> 23) - scale - EMIN  # binades above the smallest normal number
    drop = 23 - FRACTION + tl.minimum(tl.maximum(-above, 0), FRACTION + 2)
    significand = pattern & 0x7FFFFF | 0x800000
    odd = significand >> drop & 1
    code = (significand + (1 << drop - 1) - 1 + odd) >> drop
    code = tl.minimum(code + (tl.maximum(above, 0) << FRACTION), LARGEST)
    nan = magnitude > 0x7F800000
    code = tl.where(nan, 0x7F if BITS == 8 else LARGEST, code)
    negative = (bits < 0) & ~nan
    if FRACTION == 6:
        code = tl.where(negative, -code, code) & 0xFF
    else:
        code = tl.where(negative, code | 1 << BITS - 1, code)
    return code


@triton.jit
def decoded(
    code, scale,
    BITS: tl.constexpr, FRACTION: tl.constexpr, EMIN: tl.constexpr, LARGEST: tl.constexpr,
):  # fmt: skip
    """Float32 patterns of codes times 2**(scale - 127): infinity, or exact."""
    if FRACTION == 6:
        negative = code > 0x7F
        magnitude = tl.where(negative, 256 - code, code)
    else:
        negative = code >> BITS - 1 != 0
        magnitude = code & (1 << BITS - 1) - 1
    binade = tl.maximum((magnitude >> FRACTION) - 1, 0)
    integer = magnitude - (binade << FRACTION)  # the significand; its unit is 2**(EMIN - FRACTION)
    pattern = integer.to(tl.float32).to(tl.int32, bitcast=True)
    field = (pattern >> 23) + binade + EMIN - FRACTION + scale - 127
    significand = pattern & 0x7FFFFF | 0x800000
    subnormal = significand >> tl.minimum(tl.maximum(1 - field, 0), 24)
    bits = tl.where(field > 0, (field << 23) + (pattern & 0x7FFFFF), subnormal)
    bits = tl.where(field > 254, 0x7F800000, bits)
    bits = tl.where(integer == 0, 0, bits)
    if BITS == 8 and FRACTION < 6:
        bits = tl.where(magnitude > LARGEST, 0x7FC00000, bits)
        if FRACTION == 2:
            bits = tl.where(magnitude == LARGEST + 1, 0x7F800000, bits)
    bits = tl.where(scale == 0xFF, 0x7FC00000, bits)
    return tl.where(negative, bits | -0x80000000, bits)


@triton.jit
def load_codes(codes, place, mask, BITS: tl.constexpr, PACKED: tl.constexpr):
    """Codes by their places; packed ones are a stream of bits, the lowest first."""
    if PACKED:
        bit = place * BITS
        code = tl.load(codes + bit // 8, mask, 0).to(tl.int32)
        if BITS == 6:
            both = mask & (bit % 8 > 2)
            code |= tl.load(codes + bit // 8 + 1, both, 0).to(tl.int32) << 8
        code = code >> (bit % 8).to(tl.int32) & (1 << BITS) - 1
    else:
        code = tl.load(codes + place, mask, 0).to(tl.int32)
    return code


@triton.jit
def store_codes(
    codes, row, code, size, ROWS: tl.constexpr, BITS: tl.constexpr, PACKED: tl.constexpr
):
    """Store rows of 32 codes in as many as `size` bytes."""
    if PACKED and BITS == 4:
        low, high = tl.split(tl.reshape(code, (ROWS, 16, 2)))
        place = row * 16 + tl.arange(0, 16)[None, :]
        tl.store(codes + place, (low | high << 4).to(tl.uint8), place < size)
    elif PACKED and BITS == 6:
        even, odd = tl.split(tl.reshape(code, (ROWS, 8, 2, 2)))
        low, high = tl.split(even | odd << 6)
        word = low | high << 12
        place = row * 24 + tl.arange(0, 8)[None, :] * 3
        for i in tl.static_range(3):
            tl.store(codes + place + i, (word >> 8 * i & 0xFF).to(tl.uint8), place + i < size)
    else:
        place = row * 32 + tl.arange(0, 32)[None, :]
        tl.store(codes + place, code.to(tl.uint8), place < size)


@triton.jit
def quantize_kernel(
    x, scales, codes, count, size,
    LIMIT: tl.constexpr, PACKED: tl.constexpr, ROWS: tl.constexpr,
    BITS: tl.constexpr, FRACTION: tl.constexpr, EMIN: tl.constexpr, LARGEST: tl.constexpr,
):  # fmt: skip
    """Scales and codes of blocks of 32; without `scales`, codes of numbers."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    place = row * 32 + tl.arange(0, 32)[None, :]
    bits = float_bits(tl.load(x + place, place < count, 0))
    if scales is None:
        code = encoded(bits, 127, BITS, FRACTION, EMIN, LARGEST)
    else:
        amax = tl.max(bits & 0x7FFFFFFF, axis=1, keep_dims=True)
        pattern = normalized(amax)
        emax = EMIN + (LARGEST >> FRACTION) - 1
        scale = (pattern >> 23) - emax + ((pattern & 0x7FFFFF) >= LIMIT).to(tl.int32)
        finite = amax < 0x7F800000
        scale = tl.where(finite, tl.minimum(tl.maximum(scale, 0), 254), 0xFF)
        code = tl.where(finite, encoded(bits, scale, BITS, FRACTION, EMIN, LARGEST), 0)
        tl.store(scales + row, scale.to(tl.uint8), row * 32 < count)
    store_codes(codes, row, code, size, ROWS, BITS, PACKED)


@triton.jit
def dequantize_kernel(
    codes, scales, x, count, PACKED: tl.constexpr, ROWS: tl.constexpr,
    BITS: tl.constexpr, FRACTION: tl.constexpr, EMIN: tl.constexpr, LARGEST: tl.constexpr,
):  # fmt: skip
    """Numbers of blocks of 32; without `scales`, numbers of codes."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    place = row * 32 + tl.arange(0, 32)[None, :]
    code = load_codes(codes, place, place < count, BITS, PACKED)
    if scales is None:
        bits = decoded(code, 127, BITS, FRACTION, EMIN, LARGEST)
    else:
        scale = tl.load(scales + row, row * 32 < count, 0).to(tl.int32)
        bits = decoded(code, scale, BITS, FRACTION, EMIN, LARGEST)
    if x.dtype.element_ty == tl.int16:  # bfloat16, to nearest
        bits = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    tl.store(x + place, bits.to(x.dtype.element_ty), place < count)


@triton.jit
def pack_kernel(
    codes, out, count, size, UNDO: tl.constexpr, ROWS: tl.constexpr, BITS: tl.constexpr
):
    """Codes in bytes of their own to a stream of bits, or back."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    place = row * 32 + tl.arange(0, 32)[None, :]
    code = load_codes(codes, place, place < count, BITS, UNDO)
    store_codes(out, row, code, size, ROWS, BITS, not UNDO)


@triton.jit
def tiles_kernel(scales, tiles, rows, columns, UNDO: tl.constexpr):
    """One tile of 128 x 4 scales: (r, c) is at byte r % 32 * 16 + r // 32 * 4 + c of its 512."""
    tile, across = tl.program_id(0).to(tl.int64), tl.cdiv(columns, 4)
    r, c = tl.arange(0, 128)[:, None], tl.arange(0, 4)[None, :]
    inside = tile * 512 + r % 32 * 16 + r // 32 * 4 + c
    row, column = tile // across * 128 + r, tile % across * 4 + c
    mask, place = (row < rows) & (column < columns), row * columns + column
    if UNDO:
        tl.store(scales + place, tl.load(tiles + inside), mask)
    else:
        tl.store(tiles + inside, tl.load(scales + place, mask, 0))


def quantize(x, format, rule="floor", *, packed=False):
    """E8M0 scales (..., n) and codes (..., 32 * n), or packed bytes, of blocks along the last axis.

    Args:
        x: float32 or bfloat16 (..., 32 * n).
        format: a name of FORMATS.
        rule: a name of LIMITS.
        packed: two FP4 codes in a byte, four FP6 codes in three, instead of one in each.
    """
    if x.ndim == 0 or x.shape[-1] % 32:
        raise ValueError(f"x must have a last axis of whole blocks of 32, got {tuple(x.shape)}")
    fmt = FORMATS[format]
    limit = LIMITS[rule](fmt["FRACTION"], fmt["LARGEST"])
    stored = fmt["BITS"] if packed else 8
    scales = _bytes(x, *x.shape[:-1], x.shape[-1] // 32)
    codes = _bytes(x, *x.shape[:-1], x.shape[-1] // 8 * stored)
    _launch(quantize_kernel, x.numel(), _bits(x), scales, codes, x.numel(), codes.numel(),
            LIMIT=limit, PACKED=packed, **fmt)  # fmt: skip
    return scales, codes


def encode(x, format):
    """Codes of float32 or bfloat16 numbers, one to a byte."""
    codes = _bytes(x, *x.shape)
    _launch(quantize_kernel, x.numel(), _bits(x), None, codes, x.numel(), x.numel(),
            LIMIT=0, PACKED=False, **FORMATS[format])  # fmt: skip
    return codes


def dequantize(scales, codes, format, dtype=torch.float32, *, packed=False):
    """The numbers of `quantize`'s result, in float32 or bfloat16."""
    fmt = FORMATS[format]
    x = torch.empty((*scales.shape[:-1], scales.shape[-1] * 32), dtype=dtype, device=codes.device)
    if codes.numel() * 8 != x.numel() * (fmt["BITS"] if packed else 8):
        raise ValueError(f"codes must fill blocks, got {codes.numel()} bytes for {x.numel()} codes")
    _launch(dequantize_kernel, x.numel(), _read(codes), _read(scales), _bits(x),
            x.numel(), PACKED=packed, **fmt)  # fmt: skip
    return x


def decode(codes, format, dtype=torch.float32):
    """The numbers of codes, one to a byte, in float32 or bfloat16."""
    x = torch.empty(codes.shape, dtype=dtype, device=codes.device)
    _launch(dequantize_kernel, x.numel(), _read(codes), None, _bits(x), x.numel(),
            PACKED=False, **FORMATS[format])  # fmt: skip
    return x


def pack(codes, format):
    """Codes (n,), one to a byte, as a stream of bits; FP6 in whole groups of four codes."""
    bits, count = FORMATS[format]["BITS"], codes.numel()
    packed = _bytes(codes, _packed_size(count, bits))
    _launch(pack_kernel, count, _read(codes), packed, count, packed.numel(),
            UNDO=False, BITS=bits)  # fmt: skip
    return packed


def unpack(packed, format, count):
    """`pack` undone: codes (count,)."""
    bits, codes = FORMATS[format]["BITS"], _bytes(packed, count)
    _launch(pack_kernel, count, _read(packed, _packed_size(count, bits)), codes, count, count,
            UNDO=True, BITS=bits)  # fmt: skip
    return codes


def pack_scales(scales):
    """Scales (rows, columns) in tiles of 128 x 4, filled up with 00, as cuBLAS reads them."""
    tiles = _bytes(scales, _tile_count(*scales.shape) * 512)
    _launch_tiles(_read(scales), tiles, *scales.shape, undo=False)
    return tiles


def unpack_scales(tiles, shape):
    """`pack_scales` undone: scales of the shape (rows, columns)."""
    scales = _bytes(tiles, *shape)
    _launch_tiles(scales, _read(tiles, _tile_count(*shape) * 512), *shape, undo=True)
    return scales


def _launch(kernel, count, first, *arguments, **constants):
    """Run a kernel that takes ROWS rows of 32 at a time: few on a GPU, many in the interpreter."""
    rows = triton.cdiv(count, 32)
    size = min(triton.next_power_of_2(rows), 32 if first.is_cuda else 1 << 15)
    if rows:
        with torch.cuda.device_of(first):
            kernel[(triton.cdiv(rows, size),)](first, *arguments, ROWS=size, **constants)


def _bits(x):
    """The patterns of floats, as integers of their size."""
    if x.dtype not in (torch.float32, torch.bfloat16):
        raise TypeError(f"x must be float32 or bfloat16, got {x.dtype}")
    return x.contiguous().view(torch.int32 if x.dtype == torch.float32 else torch.int16)


def _bytes(like, *shape):
    return torch.empty(shape, dtype=torch.uint8, device=like.device)


def _read(codes, size=0):
    """Bytes for a kernel, which reads so many of them."""
    if codes.dtype != torch.uint8 or codes.numel() < size:
        what = f"uint8, {size} of them or more" if size else "uint8"
        raise ValueError(f"codes must be {what}, got {codes.numel()} of {codes.dtype}")
    return codes.contiguous()


def _packed_size(count, bits):
    return {8: count, 6: triton.cdiv(count, 4) * 3, 4: triton.cdiv(count, 2)}[bits]


def _tile_count(rows, columns):
    return triton.cdiv(rows, 128) * triton.cdiv(columns, 4)


def _launch_tiles(scales, tiles, rows, columns, *, undo):
    if count := _tile_count(rows, columns):
        with torch.cuda.device_of(scales):
            tiles_kernel[(count,)](scales, tiles, rows, columns, UNDO=undo)

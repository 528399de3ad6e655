"""OCP MX quantization in Triton, right to the last bit: integers, no cast to FP8.

    scales, codes = quantize(x, "e4m3", rule="rceil")  # x: (..., 32 * n)
    x = dequantize(scales, codes, "e4m3", dtype=torch.bfloat16)
    scales, nibbles = quantize(x, "e2m1", packed=True, tiled=True)
    (scales, codes), (scales_of_columns, codes_of_columns) = quantize_both(x, "e4m3")

Numbers are float32, bfloat16 or float16. Elements are rounded to nearest, ties to even, or by
chance, and saturate; the sign of zero is kept; a block with a NaN or an infinity has scale FF and
codes 00. A float32 is a sign, an exponent and 24 bits of significand here, so that neither flushed
subnormal numbers nor fast mathematics nor a rounding mode can touch it. Three conversions are left:
of integers up to 2**23 to float32 and of float16 to float32, which are exact, and of float32 to
float16, which is rounded to nearest.

The file needs torch and triton alone. With TRITON_INTERPRET=1 it runs on a CPU.
"""

import functools
import math

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
    """Float32 patterns of what was loaded as float16, as int32, or as int16 from bfloat16."""
    if x.dtype == tl.float16:
        bits = x.to(tl.float32).to(tl.int32, bitcast=True)
    else:
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
    bits, scale, random, WIDTH: tl.constexpr,
    BITS: tl.constexpr, FRACTION: tl.constexpr, EMIN: tl.constexpr, LARGEST: tl.constexpr,
):  # fmt: skip
    """Codes of float32 patterns divided by 2**(scale - 127), with WIDTH random bits if not 0."""
    magnitude = bits & 0x7FFFFFFF
    pattern = normalized(magnitude)
    above = (pattern >> 23) - scale - EMIN  # binades above the smallest normal number
    drop = 23 - FRACTION + tl.minimum(tl.maximum(-above, 0), FRACTION + 2)
    significand = pattern & 0x7FFFFF | 0x800000
    odd = significand >> drop & 1
    code = (significand + (1 << drop - 1) - 1 + odd) >> drop
    if WIDTH > 0:  # added to as many of the bits that are dropped; 24 + 32 bits fill 56
        gone = tl.minimum(23 - FRACTION - tl.minimum(above, 0), 63)
        wide = significand.to(tl.int64) << WIDTH
        code = ((wide >> gone.to(tl.int64)) + random.to(tl.int64) >> WIDTH).to(tl.int32)
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
def load_codes(codes, block, mask, BITS: tl.constexpr, PACKED: tl.constexpr):
    """Rows of 32 codes from words of 32 bits; packed ones are a stream of bits, lowest first."""
    if PACKED and BITS == 6:  # sixteen in three words
        word = (codes + block * 6 + tl.arange(0, 2)[None, :] * 3)[:, :, None]
        first = tl.load(word, mask[:, :, None], 0)
        second = tl.load(word + 1, mask[:, :, None], 0)
        third = tl.load(word + 2, mask[:, :, None], 0)
        bit = (tl.arange(0, 16) * 6)[None, None, :]
        low = tl.where(bit < 32, first, tl.where(bit < 64, second, third))
        high = tl.where(bit < 32, second, third)
        low = low.to(tl.uint32, bitcast=True) >> (bit % 32).to(tl.uint32)
        code = (low.to(tl.int32, bitcast=True) | high << 1 << 31 - bit % 32) & 63
    else:
        width: tl.constexpr = BITS if PACKED else 8
        word = tl.load(codes + block * width + tl.arange(0, width)[None, :], mask, 0)
        shift = tl.arange(0, 32 // width) * width
        code = word[:, :, None] >> shift[None, None, :] & (1 << width) - 1
    return tl.reshape(code, (block.shape[0], 32))


@triton.jit
def joined(code, BITS: tl.constexpr):
    """Codes of so many bits by twos, the first below: half as many a row."""
    pairs = tl.reshape(code, (code.shape[0], code.shape[1] // 2, 2))
    low, high = tl.split(pairs)
    return low | high << BITS


@triton.jit
def store_codes(codes, block, code, mask, BITS: tl.constexpr, PACKED: tl.constexpr):
    """`load_codes` undone."""
    if PACKED and BITS == 6:
        fours = joined(joined(code, 6), 12)
        evens, odds = tl.split(tl.reshape(fours, (code.shape[0], 2, 2, 2)))
        a, c = tl.split(evens)
        b, d = tl.split(odds)
        word = codes + block * 6 + tl.arange(0, 2)[None, :] * 3
        tl.store(word, a | b << 24, mask)
        tl.store(word + 1, b >> 8 | c << 16, mask)
        tl.store(word + 2, c >> 16 | d << 8, mask)
    else:
        if PACKED and BITS == 4:
            code = joined(code, 4)
        word = joined(joined(code, 8), 16)
        place = block * word.shape[1] + tl.arange(0, word.shape[1])[None, :]
        tl.store(codes + place, word, mask)


@triton.jit
def scale_place(line, column, lines, columns, TILED: tl.constexpr):
    """Where a scale lies: in its line, or in its tile of 128 x 4, the tiles in lines, too."""
    place = line * columns + column
    if TILED:
        tile = line // 128 * tl.cdiv(columns, 4) + column // 4
        place = tile * 512 + line % 32 * 16 + line % 128 // 32 * 4 + column % 4
    return place


@triton.jit
def philox_words(seed, block):
    """32 random words: word i % 4 of Philox 4x32 with ten rounds, counter 8 * block + i // 4."""
    counter = block * 8 + tl.arange(0, 8)[None, :]
    low, high = counter.to(tl.uint32), (counter >> 32).to(tl.uint32)
    a, b, c, d = tl.philox(seed, low, high, low * 0, low * 0)
    words = tl.join(tl.join(a, c), tl.join(b, d))
    return tl.reshape(words, (block.shape[0], 32))


@triton.jit
def quantize_lines(
    bits, line, number, lines, columns, scales, codes, draws, seed,
    LIMIT: tl.constexpr, WIDTH: tl.constexpr, PACKED: tl.constexpr, TILED: tl.constexpr,
    BITS: tl.constexpr, FRACTION: tl.constexpr, EMIN: tl.constexpr, LARGEST: tl.constexpr,
):  # fmt: skip
    """Scales and codes of a tile whose first number is `number` of `line`."""
    across: tl.constexpr = bits.shape[1] // 32
    bits = tl.reshape(bits, (bits.shape[0] * across, 32))
    i, blocks = tl.arange(0, bits.shape[0])[:, None], columns // 32
    line, column = line + i // across, number // 32 + i % across
    mask, block = (line < lines) & (column < blocks), line * blocks + column
    random = 0
    if draws is not None:
        random = tl.load(draws + block * 32 + tl.arange(0, 32)[None, :], mask, 0)
        random = random.to(tl.uint32, bitcast=True)
    elif WIDTH > 0:
        random = philox_words(seed, block) >> 32 - WIDTH
    if scales is None:
        code = encoded(bits, 127, random, WIDTH, BITS, FRACTION, EMIN, LARGEST)
    else:
        amax = tl.max(bits & 0x7FFFFFFF, axis=1, keep_dims=True)
        pattern = normalized(amax)
        emax = EMIN + (LARGEST >> FRACTION) - 1
        scale = (pattern >> 23) - emax + ((pattern & 0x7FFFFF) >= LIMIT).to(tl.int32)
        finite = amax < 0x7F800000
        scale = tl.where(finite, tl.minimum(tl.maximum(scale, 0), 254), 0xFF)
        code = encoded(bits, scale, random, WIDTH, BITS, FRACTION, EMIN, LARGEST)
        code = tl.where(finite, code, 0)
        place = scale_place(line, column, lines, blocks, TILED)
        tl.store(scales + place, scale.to(tl.uint8), mask)
    store_codes(codes, block, code, mask, BITS, PACKED)


@triton.jit
def quantize_kernel(
    x, scales, codes, scales_down, codes_down, draws, seed, rows, columns, x_row, x_column,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
    LIMIT: tl.constexpr, WIDTH: tl.constexpr, PACKED: tl.constexpr, TILED: tl.constexpr,
    BITS: tl.constexpr, FRACTION: tl.constexpr, EMIN: tl.constexpr, LARGEST: tl.constexpr,
):  # fmt: skip
    """One tile: blocks along rows and, with `codes_down`, along columns; without scales, codes."""
    tile, across = tl.program_id(0).to(tl.int64), tl.cdiv(columns, COLUMNS)
    row, column = tile // across * ROWS, tile % across * COLUMNS
    r, c = row + tl.arange(0, ROWS)[:, None], column + tl.arange(0, COLUMNS)[None, :]
    bits = float_bits(tl.load(x + r * x_row + c * x_column, (r < rows) & (c < columns), 0))
    quantize_lines(bits, row, column, rows, columns, scales, codes, draws, seed,
                   LIMIT, WIDTH, PACKED, TILED, BITS, FRACTION, EMIN, LARGEST)  # fmt: skip
    if codes_down is not None:
        quantize_lines(tl.trans(bits), column, row, columns, rows, scales_down, codes_down, draws,
                       seed, LIMIT, WIDTH, PACKED, TILED,
                       BITS, FRACTION, EMIN, LARGEST)  # fmt: skip


@triton.jit
def dequantize_kernel(
    codes, scales, x, lines, blocks, ROWS: tl.constexpr,
    PACKED: tl.constexpr, TILED: tl.constexpr,
    BITS: tl.constexpr, FRACTION: tl.constexpr, EMIN: tl.constexpr, LARGEST: tl.constexpr,
):  # fmt: skip
    """Numbers of blocks of 32; without `scales`, numbers of codes."""
    block = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    mask = block < lines * blocks
    code = load_codes(codes, block, mask, BITS, PACKED)
    scale = 127
    if scales is not None:
        place = block
        if TILED:
            place = scale_place(block // blocks, block % blocks, lines, blocks, TILED)
        scale = tl.load(scales + place, mask, 0).to(tl.int32)
    bits = decoded(code, scale, BITS, FRACTION, EMIN, LARGEST)
    if x.dtype.element_ty == tl.float16:
        bits = bits.to(tl.float32, bitcast=True)
    elif x.dtype.element_ty == tl.int16:  # bfloat16, to nearest
        bits = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    tl.store(x + block * 32 + tl.arange(0, 32)[None, :], bits.to(x.dtype.element_ty), mask)


@triton.jit
def pack_kernel(codes, out, blocks, ROWS: tl.constexpr, UNDO: tl.constexpr, BITS: tl.constexpr):
    """Codes in bytes of their own to a stream of bits, or back."""
    block = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    code = load_codes(codes, block, block < blocks, BITS, UNDO)
    store_codes(out, block, code, block < blocks, BITS, not UNDO)


@triton.jit
def tiles_kernel(scales, tiles, rows, columns, UNDO: tl.constexpr):
    """One tile of 128 x 4 scales, filled up with 00."""
    tile, across = tl.program_id(0).to(tl.int64), tl.cdiv(columns, 4)
    r, c = tl.arange(0, 128)[:, None], tl.arange(0, 4)[None, :]
    row, column = tile // across * 128 + r, tile % across * 4 + c
    mask, plain = (row < rows) & (column < columns), scales + row * columns + column
    tiled = tiles + scale_place(row, column, rows, columns, TILED=True)
    if UNDO:
        tl.store(plain, tl.load(tiled), mask)
    else:
        tl.store(tiled, tl.load(plain, mask, 0))


def quantize(
    x, format, rule="floor", *, packed=False, tiled=False, seed=None, random_width=32
):  # fmt: skip
    """E8M0 scales (..., n) and codes (..., 32 * n), or packed bytes, of blocks along the last axis.

    Of columns it is `quantize(x.mT, ...)`, which reads x where it lies.

    Args:
        x: float32, bfloat16 or float16 (..., 32 * n), with any strides.
        format: a name of FORMATS.
        rule: a name of LIMITS.
        packed: two FP4 codes in a byte, four FP6 codes in three, instead of one in each.
        tiled: the scales of the lines of x in tiles of 128 x 4, as `pack_scales` gives them.
        seed: 0 to 2**64 - 1 for elements rounded by chance (`stochastic_a`): number i, counted over
            all of x, has the upper bits of word i % 4 of Philox counter i // 4. None: to nearest.
        random_width: random bits of a number, 1 to 32.
    """
    width = _width(random_width) if seed is not None else 0
    return _quantize(x, format, rule, packed, tiled, seed or 0, width)[0]


def quantize_both(x, format, rule="floor", *, packed=False, tiled=False):
    """`quantize(x)` and `quantize(x.T)` of a matrix (32 * m, 32 * n) from one read."""
    if x.ndim != 2 or x.shape[0] % 32:
        raise ValueError(f"x must be a matrix of whole blocks of 32, got {tuple(x.shape)}")
    return _quantize(x, format, rule, packed, tiled, 0, 0, both=True)


def _quantize(x, format, rule, packed, tiled, seed, width, *, both=False):
    if x.ndim == 0 or x.shape[-1] % 32:
        raise ValueError(f"x must have a last axis of whole blocks of 32, got {tuple(x.shape)}")
    fmt = FORMATS[format]
    limit = LIMITS[rule](fmt["FRACTION"], fmt["LARGEST"])
    shapes = [x.shape, x.shape[::-1]] if both else [x.shape]
    outputs = [_outputs(x, shape, fmt["BITS"] if packed else 8, tiled) for shape in shapes]
    matrix = _bits(x.reshape(math.prod(x.shape[:-1]), x.shape[-1]))
    down = outputs[1] if both else (None, None)
    _launch(quantize_kernel, matrix.shape, matrix, *outputs[0], *down, None, seed,
            *matrix.shape, *matrix.stride(),
            LIMIT=limit, WIDTH=width, PACKED=packed, TILED=tiled, **fmt)  # fmt: skip
    return [
        (scales if tiled else scales.view(*shape[:-1], -1 if shape[-1] else 0),
         codes.view(torch.uint8).view(*shape[:-1], -1 if shape[-1] else 0))
        for shape, (scales, codes) in zip(shapes, outputs, strict=True)
    ]  # fmt: skip


def encode(x, format, random_bits=None, random_width=0):
    """Codes of numbers, one to a byte; by chance with random_bits of random_width each."""
    values, draws = _bits(_filled(x, 32)).view(-1, 32), None
    if random_bits is not None:
        draws = _filled(random_bits.to(torch.int64).to(torch.int32), 32)
        _width(random_width)
    codes = _words(x, len(values) * 8)
    _launch(quantize_kernel, values.shape, values, None, codes, None, None, draws, 0,
            *values.shape, *values.stride(), LIMIT=0, WIDTH=0 if draws is None else random_width,
            PACKED=False, TILED=False, **FORMATS[format])  # fmt: skip
    return codes.view(torch.uint8)[: x.numel()].view(x.shape)


def dequantize(scales, codes, format, dtype=torch.float32, *, packed=False, tiled=False):
    """The numbers of `quantize`'s result, in float32, bfloat16 or float16."""
    fmt = FORMATS[format]
    size = 4 * (fmt["BITS"] if packed else 8)
    words, scales = _read(codes, unit=size), _read(scales, unit=1)
    blocks, lines = codes.shape[-1] // size, math.prod(codes.shape[:-1])
    if codes.shape[-1] % size:
        raise ValueError(f"codes must fill blocks of {size} bytes, got {tuple(codes.shape)}")
    if scales.numel() != (_tile_count(lines, blocks) * 512 if tiled else lines * blocks):
        raise ValueError(f"scales must be of {lines} x {blocks} blocks, got {scales.numel()}")
    x = torch.empty((*codes.shape[:-1], blocks * 32), dtype=dtype, device=codes.device)
    _launch(dequantize_kernel, (lines * blocks, 1), words, scales, _bits(x), lines, blocks,
            PACKED=packed, TILED=tiled, **fmt)  # fmt: skip
    return x


def decode(codes, format, dtype=torch.float32):
    """The numbers of codes, one to a byte, in float32, bfloat16 or float16."""
    words = _read(codes, unit=32)
    x = torch.empty(words.numel() * 4, dtype=dtype, device=codes.device)
    blocks = words.numel() // 8
    _launch(dequantize_kernel, (blocks, 1), words, None, _bits(x), blocks, 1,
            PACKED=False, TILED=False, **FORMATS[format])  # fmt: skip
    return x[: codes.numel()].view(codes.shape)


def pack(codes, format):
    """Codes (n,), one to a byte, as a stream of bits; FP6 in whole groups of four codes."""
    bits, count = FORMATS[format]["BITS"], codes.numel()
    words, blocks = _read(codes, unit=32), triton.cdiv(count, 32)
    packed = _words(codes, blocks * bits)
    _launch(pack_kernel, (blocks, 1), words, packed, blocks, UNDO=False, BITS=bits)
    return packed.view(torch.uint8)[: _packed_size(count, bits)]


def unpack(packed, format, count):
    """`pack` undone: codes (count,)."""
    bits, blocks = FORMATS[format]["BITS"], triton.cdiv(count, 32)
    words = _read(packed, _packed_size(count, bits), 4 * bits)
    codes = _words(packed, blocks * 8)
    _launch(pack_kernel, (blocks, 1), words, codes, blocks, UNDO=True, BITS=bits)
    return codes.view(torch.uint8)[:count]


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


#: Sizes of a tile that are tried on a GPU, and what they are tried for again. A tile has whole
#: blocks both ways.
SIZES = {
    quantize_kernel: [
        {"ROWS": rows, "COLUMNS": columns}
        for rows, columns in ((32, 32), (32, 64), (32, 128), (64, 64), (64, 128), (128, 32))
    ],
    dequantize_kernel: [{"ROWS": rows} for rows in (16, 32, 64, 128)],
    pack_kernel: [{"ROWS": rows} for rows in (16, 32, 64, 128)],
}
KEY = ("columns", "x_column", "WIDTH", "PACKED", "TILED", "UNDO", "BITS", "FRACTION")


@functools.cache
def _tuned(kernel):
    tried = [triton.Config(sizes, num_warps=n) for sizes in SIZES[kernel] for n in (2, 4, 8)]
    return triton.autotune(tried, [name for name in KEY if name in kernel.arg_names])(kernel)


def _sizes(kernel, rows, columns):
    """For the interpreter: few programs."""
    rows = min(max(triton.next_power_of_2(rows), 32), 1 << 15)
    columns = min(max(triton.next_power_of_2(columns), 32), (1 << 20) // rows)
    return {"ROWS": rows, "COLUMNS": columns} if kernel is quantize_kernel else {"ROWS": rows}


def _launch(kernel, shape, first, *arguments, **constants):
    """Run a kernel on tiles of so many rows and columns."""
    rows, columns = shape
    if not rows * columns:
        return

    def grid(sizes):
        across = sizes.get("COLUMNS", columns)
        return (triton.cdiv(rows, sizes["ROWS"]) * triton.cdiv(columns, across),)

    sizes = {} if first.is_cuda else _sizes(kernel, rows, columns)
    with torch.cuda.device_of(first):
        run = _tuned(kernel) if first.is_cuda else kernel
        run[grid](first, *arguments, **sizes, **constants)


def _bits(x):
    """Floats for a kernel, with their strides: patterns as integers of their size, or float16."""
    if x.dtype not in (torch.float32, torch.bfloat16, torch.float16):
        raise TypeError(f"x must be float32, bfloat16 or float16, got {x.dtype}")
    kinds = {torch.float32: torch.int32, torch.bfloat16: torch.int16}
    return x.view(kinds.get(x.dtype, x.dtype))


def _width(bits):
    if bits not in range(1, 33):
        raise ValueError(f"random_width must be 1 to 32, got {bits}")
    return bits


def _outputs(like, shape, stored, tiled):
    """Room for the scales and codes of a tensor, the codes as words."""
    lines, blocks = math.prod(shape[:-1]), shape[-1] // 32
    if tiled:
        scales = _bytes(like, _tile_count(lines, blocks) * 512).zero_()
    else:
        scales = _bytes(like, lines * blocks)
    return scales, _words(like, lines * blocks * stored)


def _bytes(like, *shape):
    return torch.empty(shape, dtype=torch.uint8, device=like.device)


def _words(like, count):
    return torch.empty(count, dtype=torch.int32, device=like.device)


def _filled(x, unit):
    """A tensor in one line, filled up to a multiple."""
    rest = -x.numel() % unit
    line = x.reshape(-1) if x.numel() else x.new_empty(0)
    return torch.nn.functional.pad(line, (0, rest)) if rest else line.contiguous()


def _read(codes, size=0, unit=0):
    """Bytes for a kernel, which reads so many of them; with a unit, whole words of so many."""
    if codes.dtype != torch.uint8 or codes.numel() < size:
        what = f"uint8, {size} of them or more" if size else "uint8"
        raise ValueError(f"codes must be {what}, got {codes.numel()} of {codes.dtype}")
    if unit < 4:
        return codes.contiguous()
    line = _filled(codes, unit)
    if line.storage_offset() % 4 or line.data_ptr() % 4:
        line = line.clone()
    return line.view(torch.int32)


def _packed_size(count, bits):
    return {8: count, 6: triton.cdiv(count, 4) * 3, 4: triton.cdiv(count, 2)}[bits]


def _tile_count(rows, columns):
    return triton.cdiv(rows, 128) * triton.cdiv(columns, 4)


def _launch_tiles(scales, tiles, rows, columns, *, undo):
    if count := _tile_count(rows, columns):
        with torch.cuda.device_of(scales):
            tiles_kernel[(count,)](scales, tiles, rows, columns, UNDO=undo)

"""OCP MX and NVFP4 quantization in Triton, right to the last bit: integers, no cast to FP8 or FP4.

    scales, codes = quantize(x, "e4m3", rule="rceil")  # x: (..., 32 * n)
    x = dequantize(scales, codes, "e4m3", dtype=torch.bfloat16)
    scales, nibbles = quantize(x, "nvfp4", tensor_scale=t, packed=True, tiled=True)
    (scales, codes), (scales_of_columns, codes_of_columns) = quantize_both(x, "e4m3")

Numbers are float32, bfloat16 or float16. Elements are rounded to nearest, ties to even, or by
chance; the sign of zero is kept; a block with a NaN or an infinity has a NaN scale and codes 00. A
float32 is a sign, an exponent and 24 bits of significand here, so that neither flushed subnormal
numbers nor fast mathematics nor a rounding mode can touch it. Three conversions are left: of
integers up to 2**23 to float32 and of float16 to float32, which are exact, and of float32 to
float16, which is rounded to nearest. Names in capitals are constants when a kernel is compiled.

The file needs torch and triton alone. With TRITON_INTERPRET=1 it runs on a CPU.
"""

import functools
import math

import torch
import triton
import triton.language as tl

#: Bits of a code and of its fraction, the exponent of the smallest normal number, the largest code,
#: and elements of a block. INT8 is a float without an exponent: n / 64 is subnormal, and -n is
#: stored in two's complement.
FORMATS = {
    "e5m2": {"BITS": 8, "FRACTION": 2, "EMIN": -14, "LARGEST": 0x7B, "SIZE": 32},
    "e4m3": {"BITS": 8, "FRACTION": 3, "EMIN": -6, "LARGEST": 0x7E, "SIZE": 32},
    "e3m2": {"BITS": 6, "FRACTION": 2, "EMIN": -2, "LARGEST": 0x1F, "SIZE": 32},
    "e2m3": {"BITS": 6, "FRACTION": 3, "EMIN": 0, "LARGEST": 0x1F, "SIZE": 32},
    "e2m1": {"BITS": 4, "FRACTION": 1, "EMIN": 0, "LARGEST": 0x07, "SIZE": 32},
    "int8": {"BITS": 8, "FRACTION": 6, "EMIN": 0, "LARGEST": 0x7F, "SIZE": 32},
    "nvfp4": {"BITS": 4, "FRACTION": 1, "EMIN": 0, "LARGEST": 0x07, "SIZE": 16},
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
        return x.to(tl.float32).to(tl.int32, bitcast=True)
    return x.to(tl.int32) << (16 if x.dtype == tl.int16 else 0)


@triton.jit
def normalized(magnitude):
    """Exponent field and fraction as if float32 had no smallest exponent: fields go to -149.

    A subnormal number is n * 2**-149, and a float32 holds n: its field is 149 too large.
    """
    integer = magnitude.to(tl.float32).to(tl.int32, bitcast=True)
    return tl.where(magnitude < 0x800000, integer - (149 << 23), magnitude)


@triton.jit
def encoded(bits, scale, random, WIDTH, BITS, FRACTION, EMIN, LARGEST):
    """Codes of float32 patterns divided by 2**(scale - 127), with WIDTH random bits if not 0.

    Codes of neighbours differ by one, so a carry out of the fraction is right as it is. What is
    dropped is rounded to nearest, ties to even: half of it, less one unless the last bit kept is
    odd, is added before. Of 25 bits and more nothing is left: 2**24 is half of 2**25.
    """
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
def scale_of(amax, LIMIT, FRACTION, EMIN, LARGEST):
    """E8M0 codes of blocks with these largest magnitudes."""
    pattern = normalized(amax)
    emax = EMIN + (LARGEST >> FRACTION) - 1
    scale = (pattern >> 23) - emax + ((pattern & 0x7FFFFF) >= LIMIT).to(tl.int32)
    return tl.minimum(tl.maximum(scale, 0), 254)


@triton.jit
def apart(magnitude):
    """Significands of 24 bits and exponent fields of float32 patterns; the field of 0 is -149."""
    pattern = normalized(magnitude)
    return pattern & 0x7FFFFF | 0x800000, pattern >> 23


@triton.jit
def integer_of(magnitude, FRACTION):
    """Codes as integer * 2**binade; the unit is the smallest number of the format."""
    binade = tl.maximum((magnitude >> FRACTION) - 1, 0)
    return magnitude - (binade << FRACTION), binade


@triton.jit
def product(k, unit, exponent):
    """Products k * unit * 2**exponent cut off to float32, what is left of them, and a half.

    k is 1 to 128: 7 bits, by 24, are 30 or 31. The last is made sticky, so that a number below half
    of the smallest float32 can be told from half of it, by a shift of 31.
    """
    factor, binade = apart(tl.maximum(k, 1).to(tl.float32).to(tl.int32, bitcast=True))
    significand, field = apart(unit)
    wide = (factor >> 17) * significand
    high = wide >> 30
    wide = wide >> 1 | wide & 1
    field += binade - 127 + high + exponent
    drop = 5 + high + tl.minimum(tl.maximum(1 - field, 0), 25)
    kept = wide >> drop
    over = field > 254
    bits = tl.where(over, 0x7F800000, kept + (tl.maximum(field, 1) - 1 << 23))
    return bits, tl.where(over, 0, wide - (kept << drop)), 1 << drop - 1


@triton.jit
def scale_of_nvfp4(amax, unit):
    """UE4M3 codes of amax / (6 * unit), the exact quotient rounded once.

    That of two significands has 5 to 7 bits before the point. With a sticky one behind them it is
    rounded to the 4 bits of UE4M3 as all of it would be.
    """
    (top, field), (below, low) = apart(amax), apart(unit)
    quotient = (top << 7) // (3 * below)
    odd = quotient * 2 + (quotient * (3 * below) != top << 7).to(tl.int32)
    pattern = odd.to(tl.float32).to(tl.int32, bitcast=True)
    return encoded(pattern, 136 + low - field, 0, 0, 8, 3, -6, 0x7E)


@triton.jit
def encoded_nvfp4(bits, scale, unit):
    """E2M1 codes of x / (scale * unit): how many midpoints of E2M1, so multiplied, x is above.

    The midpoints are the odd codes of E2M2. x is above a product if it is above the float32 that
    the product is cut off to. A tie goes to the even code, which is the upper one of each second.
    """
    magnitude, code, (integer, binade) = bits & 0x7FFFFFFF, bits & 0, integer_of(scale, 3)
    for i in tl.static_range(7):
        middle, up = integer_of(2 * i + 1, 2)
        limit, rest, _ = product(integer * middle, unit, binade + up - 11)
        if i % 2:
            limit -= (rest == 0).to(tl.int32)
        code += (magnitude > limit).to(tl.int32)
    return tl.where(scale > 0, code, 0) | bits >> 28 & 8


@triton.jit
def decoded(code, scale, unit, ODD, SIZE, BITS, FRACTION, EMIN, LARGEST):
    """Float32 patterns of codes times scales: infinity, or exact; of NVFP4 times unit, rounded."""
    if FRACTION == 6:
        negative = code > 0x7F
        magnitude = tl.where(negative, 256 - code, code)
    else:
        negative = code >> BITS - 1 != 0
        magnitude = code & (1 << BITS - 1) - 1
    integer, exponent = integer_of(magnitude, FRACTION)
    exponent += EMIN - FRACTION
    if SIZE == 16:
        factor, binade = integer_of(scale, 3)
        integer *= factor
        bits, rest, half = product(integer, unit, exponent + binade - 9)
        bits = bits | (rest > 0) if ODD else bits + (rest + (bits & 1) > half)
    else:
        bits, _, _ = product(integer, tl.full((), 0x3F800000, tl.int32), exponent + scale - 127)
    bits = tl.where(integer == 0, 0, bits)
    if BITS == 8 and FRACTION < 6:
        bits = tl.where(magnitude > LARGEST, 0x7FC00000, bits)
        if FRACTION == 2:
            bits = tl.where(magnitude == LARGEST + 1, 0x7F800000, bits)
    bits = tl.where(scale == (0x7F if SIZE == 16 else 0xFF), 0x7FC00000, bits)
    return tl.where(negative, bits | -0x80000000, bits)


@triton.jit
def load_codes(codes, block, mask, BITS, SIZE, PACKED):
    """Blocks of codes from words of 32 bits; packed ones are a stream of bits, lowest first."""
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
        words: tl.constexpr = SIZE * width // 32
        word = tl.load(codes + block * words + tl.arange(0, words)[None, :], mask, 0)
        shift = tl.arange(0, 32 // width) * width
        code = word[:, :, None] >> shift[None, None, :] & (1 << width) - 1
    return tl.reshape(code, (block.shape[0], SIZE))


@triton.jit
def joined(code, BITS):
    """Codes of so many bits by twos, the first below: half as many a row."""
    pairs = tl.reshape(code, (code.shape[0], code.shape[1] // 2, 2))
    low, high = tl.split(pairs)
    return low | high << BITS


@triton.jit
def store_codes(codes, block, code, mask, BITS, PACKED):
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
def scale_place(line, column, lines, columns, TILED):
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
def corner(columns, ROWS, COLUMNS):
    """Row and column of the first number of this program's tile."""
    tile, across = tl.program_id(0).to(tl.int64), tl.cdiv(columns, COLUMNS)
    return tile // across * ROWS, tile % across * COLUMNS


@triton.jit
def blocks_of(row, number, lines, blocks, ROWS, COLUMNS, SIZE):
    """Line and column of the blocks of a tile, row by row, and which of them there are."""
    across: tl.constexpr = COLUMNS // SIZE
    i = tl.arange(0, ROWS * across)[:, None]
    line, column = row + i // across, number // SIZE + i % across
    return line, column, (line < lines) & (column < blocks)


@triton.jit
def quantize_lines(
    bits, line, number, lines, columns, scales, codes, tensor, draws, seed,
    LIMIT, TOP, WIDTH, PACKED, TILED, SIZE, BITS, FRACTION, EMIN, LARGEST,
):  # fmt: skip
    """Scales and codes of a tile whose first number is `number` of `line`."""
    blocks = columns // SIZE
    line, column, mask = blocks_of(line, number, lines, blocks, *bits.shape, SIZE)
    block, bits = line * blocks + column, tl.reshape(bits, (mask.shape[0], SIZE))
    random = 0
    if draws is not None:
        random = tl.load(draws + block * 32 + tl.arange(0, 32)[None, :], mask, 0)
        random = random.to(tl.uint32, bitcast=True)
    elif WIDTH > 0:
        random = philox_words(seed, block) >> 32 - WIDTH
    if scales is None:
        code = encoded(bits, 127, random, WIDTH, BITS, FRACTION, EMIN, TOP)
    else:
        amax = tl.max(bits & 0x7FFFFFFF, axis=1, keep_dims=True)
        finite = amax < 0x7F800000
        if SIZE == 16:
            unit = tl.load(tensor)
            scale = tl.where(finite, scale_of_nvfp4(amax, unit), 0x7F)
            code = encoded_nvfp4(bits, scale, unit)
        else:
            scale = tl.where(finite, scale_of(amax, LIMIT, FRACTION, EMIN, LARGEST), 0xFF)
            code = encoded(bits, scale, random, WIDTH, BITS, FRACTION, EMIN, TOP)
        code = tl.where(finite, code, 0)
        place = scale_place(line, column, lines, blocks, TILED)
        tl.store(scales + place, scale.to(tl.uint8), mask)
    store_codes(codes, block, code, mask, BITS, PACKED)


@triton.jit
def quantize_kernel(
    x, scales, codes, scales_down, codes_down, tensor, draws, seed, rows, columns, x_row, x_column,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
    LIMIT: tl.constexpr, TOP: tl.constexpr, WIDTH: tl.constexpr, PACKED: tl.constexpr,
    TILED: tl.constexpr, SIZE: tl.constexpr,
    BITS: tl.constexpr, FRACTION: tl.constexpr, EMIN: tl.constexpr, LARGEST: tl.constexpr,
):  # fmt: skip
    """One tile: blocks along rows and, with `codes_down`, along columns; without scales, codes."""
    row, column = corner(columns, ROWS, COLUMNS)
    r, c = row + tl.arange(0, ROWS)[:, None], column + tl.arange(0, COLUMNS)[None, :]
    bits = float_bits(tl.load(x + r * x_row + c * x_column, (r < rows) & (c < columns), 0))
    quantize_lines(bits, row, column, rows, columns, scales, codes, tensor, draws, seed,
                   LIMIT, TOP, WIDTH, PACKED, TILED, SIZE,
                   BITS, FRACTION, EMIN, LARGEST)  # fmt: skip
    if codes_down is not None:
        quantize_lines(tl.trans(bits), column, row, columns, rows, scales_down, codes_down,
                       tensor, draws, seed, LIMIT, TOP, WIDTH, PACKED, TILED, SIZE,
                       BITS, FRACTION, EMIN, LARGEST)  # fmt: skip


@triton.jit
def dequantize_kernel(
    codes, scales, tensor, x, rows, columns, x_row, x_column,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
    PACKED: tl.constexpr, TILED: tl.constexpr, SIZE: tl.constexpr,
    BITS: tl.constexpr, FRACTION: tl.constexpr, EMIN: tl.constexpr, LARGEST: tl.constexpr,
):  # fmt: skip
    """One tile of numbers; without `scales`, numbers of codes."""
    row, number = corner(columns, ROWS, COLUMNS)
    blocks = columns // SIZE
    line, column, mask = blocks_of(row, number, rows, blocks, ROWS, COLUMNS, SIZE)
    code = load_codes(codes, line * blocks + column, mask, BITS, SIZE, PACKED)
    scale = 127
    if scales is not None:
        place = scale_place(line, column, rows, blocks, TILED)
        scale = tl.load(scales + place, mask, 0).to(tl.int32)
    unit = tl.load(tensor) if SIZE == 16 else 0
    narrow: tl.constexpr = x.dtype.element_ty != tl.int32
    bits = decoded(code, scale, unit, narrow, SIZE, BITS, FRACTION, EMIN, LARGEST)
    if x.dtype.element_ty == tl.float16:
        bits = bits.to(tl.float32, bitcast=True)
    elif x.dtype.element_ty == tl.int16:  # bfloat16, to nearest
        bits = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    values = tl.reshape(bits.to(x.dtype.element_ty), (ROWS, COLUMNS))
    r, c = row + tl.arange(0, ROWS)[:, None], number + tl.arange(0, COLUMNS)[None, :]
    tl.store(x + r * x_row + c * x_column, values, (r < rows) & (c < columns))


@triton.jit
def pack_kernel(codes, out, blocks, ROWS: tl.constexpr, UNDO: tl.constexpr, BITS: tl.constexpr):
    """Codes in bytes of their own to a stream of bits, or back."""
    block = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    code = load_codes(codes, block, block < blocks, BITS, 32, UNDO)
    store_codes(out, block, code, block < blocks, BITS, not UNDO)


@triton.jit
def tiles_kernel(
    scales, tiles, rows, columns,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, UNDO: tl.constexpr,
):  # fmt: skip
    """One tile of 128 x 4 scales, filled up with 00."""
    row, column = corner(columns, ROWS, COLUMNS)
    r, c = row + tl.arange(0, ROWS)[:, None], column + tl.arange(0, COLUMNS)[None, :]
    mask, plain = (r < rows) & (c < columns), scales + r * columns + c
    tiled = tiles + scale_place(r, c, rows, columns, TILED=True)
    if UNDO:
        tl.store(plain, tl.load(tiled), mask)
    else:
        tl.store(tiled, tl.load(plain, mask, 0))


def quantize(
    x, format, rule="floor", *, tensor_scale=None, saturate=True, packed=False, tiled=False,
    seed=None, random_width=32, both=False,
):  # fmt: skip
    """Scales (..., n) and codes (..., 32 * n), or packed bytes, of blocks along the last axis.

    Of columns it is `quantize(x.mT, ...)`, which reads x where it lies.

    Args:
        x: float32, bfloat16 or float16 (..., 32 * n), of nvfp4 (..., 16 * n), with any strides.
        format: a name of FORMATS.
        rule: a name of LIMITS, for E8M0 scales; of nvfp4 amax / (6 * tensor_scale) is rounded.
        tensor_scale: of nvfp4: a number, or a tensor of one, positive and finite; None is 1.
        saturate: larger numbers become the largest one, else infinity in e5m2 and NaN in e4m3.
        packed: two FP4 codes in a byte, four FP6 codes in three, instead of one in each.
        tiled: the scales of the lines of x in tiles of 128 x 4, as `pack_scales` gives them.
        seed: 0 to 2**64 - 1 for elements rounded by chance (`stochastic_a`), not of nvfp4: number
            i, counted over all of x, has the upper bits of word i % 4 of Philox counter i // 4.
        random_width: random bits of a number, 1 to 32.
        both: of a matrix of whole blocks both ways `quantize(x)` and `quantize(x.T)`, a pair each.
    """
    fmt = FORMATS[format]
    size, lines = fmt["SIZE"], x.shape[:-1]
    if x.ndim == 0 or x.shape[-1] % size or (both and (x.ndim != 2 or lines[0] % size)):
        what = "be a matrix" if both else "have a last axis"
        raise ValueError(f"x must {what} of whole blocks of {size}, got {tuple(x.shape)}")
    if seed is not None and format == "nvfp4":
        raise ValueError(f"seed must be None for nvfp4, which is rounded to nearest, got {seed}")
    shapes = [x.shape, x.shape[::-1]] if both else [x.shape]
    outputs = [_outputs(x, shape, fmt, packed, tiled) for shape in shapes]
    matrix, down = (
        _bits(x.reshape(math.prod(lines), x.shape[-1])),
        outputs[1] if both else (None, None),
    )
    _launch(quantize_kernel, matrix.shape, matrix, *outputs[0], *down,
            _unit(tensor_scale, fmt, x), None, seed or 0, *matrix.shape, *matrix.stride(),
            LIMIT=LIMITS[rule](fmt["FRACTION"], fmt["LARGEST"]), TOP=_top(format, saturate),
            WIDTH=0 if seed is None else _width(random_width),
            PACKED=packed, TILED=tiled, **fmt)  # fmt: skip
    found = [
        (scales if tiled else scales.view(*shape[:-1], -1 if shape[-1] else 0),
         codes.view(torch.uint8).view(*shape[:-1], -1 if shape[-1] else 0))
        for shape, (scales, codes) in zip(shapes, outputs, strict=True)
    ]  # fmt: skip
    return found if both else found[0]


quantize_both = functools.partial(quantize, both=True)


def encode(x, format, random_bits=None, random_width=0, *, saturate=True):
    """Codes of numbers, one to a byte; by chance with random_bits of random_width each."""
    values, draws = _bits(_filled(x, 32)).view(-1, 32), None
    if random_bits is not None:
        draws = _filled(random_bits.to(torch.int64).to(torch.int32), 32)
    codes = _words(x, len(values) * 8)
    _launch(quantize_kernel, values.shape, values, None, codes, None, None, None, draws, 0,
            *values.shape, *values.stride(), LIMIT=0, TOP=_top(format, saturate),
            WIDTH=0 if draws is None else _width(random_width),
            PACKED=False, TILED=False, **FORMATS[format])  # fmt: skip
    return codes.view(torch.uint8)[: x.numel()].view(x.shape)


def dequantize(
    scales, codes, format, dtype=torch.float32, *,
    tensor_scale=None, packed=False, tiled=False, out=None,
):  # fmt: skip
    """The numbers of `quantize`'s result, in float32, bfloat16 or float16.

    With `out`, such as y.T of a matrix, they are written there, in its dtype and with its strides.
    """
    fmt = FORMATS[format]
    size = fmt["SIZE"] * (fmt["BITS"] if packed else 8) // 8
    words, scales = _read(codes, unit=size), _read(scales, unit=1)
    blocks, lines = codes.shape[-1] // size, math.prod(codes.shape[:-1])
    if codes.shape[-1] % size:
        raise ValueError(f"codes must fill blocks of {size} bytes, got {tuple(codes.shape)}")
    if scales.numel() != (_tile_count(lines, blocks) * 512 if tiled else lines * blocks):
        raise ValueError(f"scales must be of {lines} x {blocks} blocks, got {scales.numel()}")
    shape = (*codes.shape[:-1], blocks * fmt["SIZE"])
    x = torch.empty(shape, dtype=dtype, device=codes.device) if out is None else out
    if x.shape != shape:
        raise ValueError(f"out must be {shape} for these codes, got {tuple(x.shape)}")
    matrix = _bits(x).view(lines, shape[-1])
    _launch(dequantize_kernel, matrix.shape, words, scales, _unit(tensor_scale, fmt, codes),
            matrix, *matrix.shape, *matrix.stride(), PACKED=packed, TILED=tiled,
            **fmt)  # fmt: skip
    return x


def decode(codes, format, dtype=torch.float32):
    """The numbers of codes, one to a byte, in float32, bfloat16 or float16."""
    words = _read(codes, unit=32)
    x = torch.empty((words.numel() // 8, 32), dtype=dtype, device=codes.device)
    _launch(dequantize_kernel, x.shape, words, None, None, _bits(x), *x.shape, *x.stride(),
            PACKED=False, TILED=False, **FORMATS[format])  # fmt: skip
    return x.view(-1)[: codes.numel()].view(codes.shape)


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
    _launch(tiles_kernel, scales.shape, _read(scales), tiles, *scales.shape, UNDO=False)
    return tiles


def unpack_scales(tiles, shape):
    """`pack_scales` undone: scales of the shape (rows, columns)."""
    scales = _bytes(tiles, *shape)
    tiles = _read(tiles, _tile_count(*shape) * 512)
    _launch(tiles_kernel, shape, scales, tiles, *shape, UNDO=True)
    return scales


#: Sizes of a tile that are tried on a GPU, and what they are tried for again. A tile has whole
#: blocks both ways.
TILES = [
    {"ROWS": rows, "COLUMNS": columns}
    for rows, columns in ((32, 32), (32, 64), (32, 128), (64, 64), (64, 128), (128, 32))
]
SIZES = {
    quantize_kernel: TILES,
    dequantize_kernel: TILES,
    pack_kernel: [{"ROWS": rows} for rows in (16, 32, 64, 128)],
    tiles_kernel: [{"ROWS": 128, "COLUMNS": 4}],
}
KEY = ("columns", "x_column", "WIDTH", "PACKED", "TILED", "UNDO", "SIZE", "BITS", "FRACTION")


@functools.cache
def _tuned(kernel):
    tried = [triton.Config(sizes, num_warps=n) for sizes in SIZES[kernel] for n in (2, 4, 8)]
    return triton.autotune(tried, [name for name in KEY if name in kernel.arg_names])(kernel)


def _sizes(kernel, rows, columns):
    """For the interpreter: few programs."""
    if kernel is tiles_kernel:
        return SIZES[kernel][0]
    rows = min(max(triton.next_power_of_2(rows), 32), 1 << 15)
    columns = min(max(triton.next_power_of_2(columns), 32), (1 << 20) // rows)
    return {"ROWS": rows} if kernel is pack_kernel else {"ROWS": rows, "COLUMNS": columns}


def _launch(kernel, shape, first, *arguments, **constants):
    """Run a kernel on tiles of so many rows and columns."""
    rows, columns = shape

    def grid(sizes):
        across = triton.cdiv(columns, sizes.get("COLUMNS", columns))
        return (triton.cdiv(rows, sizes["ROWS"]) * across,)

    if rows * columns:
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


def _top(format, saturate):
    """The code of numbers that are too large."""
    return FORMATS[format]["LARGEST"] + (not saturate and format in ("e5m2", "e4m3"))


def _unit(tensor_scale, fmt, like):
    """The scale of a tensor as the pattern of a float32; None where there is none."""
    if fmt["SIZE"] != 16:
        if tensor_scale is not None:
            raise ValueError(f"tensor_scale must be None but for nvfp4, got {tensor_scale}")
        return None
    scale = torch.as_tensor(1.0 if tensor_scale is None else tensor_scale, dtype=torch.float32)
    return scale.reshape(1).to(like.device).view(torch.int32)


def _outputs(like, shape, fmt, packed, tiled):
    """Room for the scales and codes of a tensor, the codes as words."""
    lines, blocks = math.prod(shape[:-1]), shape[-1] // fmt["SIZE"]
    stored = fmt["SIZE"] * (fmt["BITS"] if packed else 8) // 32
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

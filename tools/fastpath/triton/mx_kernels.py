"""OCP MX and NVFP4 quantization in Triton, right to the last bit: by `cvt` where a GPU has it.

    scales, codes = quantize(x, "e4m3", rule="rceil")  # x: (..., 32 * n)
    x = dequantize(scales, codes, "e4m3", dtype=torch.bfloat16)
    scales, nibbles = quantize(x, "nvfp4", tensor_scale=t, packed=True, tiled=True)
    (scales, codes), (scales_of_columns, codes_of_columns) = quantize_both(x, "e4m3")

Numbers are float32, bfloat16 or float16. Elements are rounded to nearest, ties to even, or by
chance; the sign of zero is kept; a block with a NaN or an infinity has a NaN scale and codes 00.

FP8 from sm_89 and packed FP4 and all FP6 from sm_100 are converted by the GPU (`cvt`), behind a
product with a power of two whose instruction says how it is rounded. Everything else is integers: a
float32 is a sign, an exponent and 24 bits of significand, so that neither flushed subnormal numbers
nor fast mathematics nor a rounding mode can touch it. Three conversions are left there: of integers
up to 2**23 and of float16 to float32, which are exact, and of float32 to float16, which is rounded
to nearest. With TRITON_INTERPRET=1 all of it runs on a CPU, by integers.
"""

import functools
import math
from typing import NamedTuple

import torch
import triton
import triton.language as tl


class Kind(NamedTuple):
    """What a kernel is compiled for: a format, and what is done with it."""

    BITS: int  # of a code
    FRACTION: int  # bits of the fraction
    EMIN: int  # the exponent of the smallest normal number
    LARGEST: int  # the code of the largest number
    SIZE: int = 32  # elements of a block
    SCALE: tuple | None = None  # the kind of the scales, if they are not powers of two
    LIMIT: int = 0  # of a scale rule, see LIMITS
    LATER: bool = False  # whether that is one more at scale 00
    SATURATE: bool = True  # larger numbers become the largest one, not the code after it
    WIDTH: int | None = None  # random bits of an element that is not rounded to nearest
    PACKED: bool = False  # FP4 and FP6 without unused bits
    TILED: bool = False  # scales in tiles of 128 x 4
    CONVERSION: str | None = None  # assembly that converts a word of codes, where a GPU has it


#: INT8 is a float without an exponent: n / 64 is subnormal, and -n is stored in two's complement.
FORMATS = {
    "e5m2": Kind(BITS=8, FRACTION=2, EMIN=-14, LARGEST=0x7B),
    "e4m3": Kind(BITS=8, FRACTION=3, EMIN=-6, LARGEST=0x7E),
    "e3m2": Kind(BITS=6, FRACTION=2, EMIN=-2, LARGEST=0x1F),
    "e2m3": Kind(BITS=6, FRACTION=3, EMIN=0, LARGEST=0x1F),
    "e2m1": Kind(BITS=4, FRACTION=1, EMIN=0, LARGEST=0x07),
    "int8": Kind(BITS=8, FRACTION=6, EMIN=0, LARGEST=0x7F),
}
FORMATS["nvfp4"] = FORMATS["e2m1"]._replace(SIZE=16, SCALE=FORMATS["e4m3"])

#: The scale is 2**(floor(log2 amax) - emax), and twice that if the significand of amax, 24 bits,
#: reaches a limit: never (floor), above 1 (ceil), if amax / scale would be above the largest number
#: (rceil) or would round up to the next power of two, ties up (even). rceil_reciprocal is rceil of
#: float32(amax * float32(1 / largest)), which is 2**k up to half a step above it. A step of amax is
#: more than that, except in INT8: 128 / 127 of half a step, and 64 / 127 is rounded down. Products
#: near 2**-127 are subnormal, of twice the step: there, at scale 00, the limit is a step LATER.
LIMITS = {
    "floor": lambda K: 1 << 24,
    "ceil": lambda K: (1 << 23) + 1,
    "rceil": lambda K: ((K.LARGEST | 1 << K.FRACTION) % (2 << K.FRACTION) << 23 - K.FRACTION) + 1,
    "rceil_reciprocal": lambda K: LIMITS["rceil"](K) + (K.FRACTION == 6),
    "even": lambda K: (1 << 24) - (1 << 22 - K.FRACTION),
}


@triton.jit
def float_bits(x):
    """Float32 patterns of floats, and of integers below 2**24."""
    if x.dtype == tl.bfloat16:
        return x.to(tl.int16, bitcast=True).to(tl.int32) << 16
    return x.to(tl.float32).to(tl.int32, bitcast=True)


@triton.jit
def apart(magnitude):
    """Significands of 24 bits and exponent fields, as if float32 had no smallest exponent."""
    # A subnormal number is n * 2**-149, and a float32 holds n: its field is 149 too large. Fields
    # go down to 1 - 23, and that of zero is -149.
    pattern = tl.where(magnitude < 0x800000, float_bits(magnitude) - (149 << 23), magnitude)
    return pattern & 0x7FFFFF | 0x800000, pattern >> 23


@triton.jit
def encoded(bits, scale, random, K):
    """Codes of float32 patterns divided by 2**(scale - 127)."""
    magnitude = bits & 0x7FFFFFFF
    significand, field = apart(magnitude)
    above = field - scale - K.EMIN  # binades above the smallest normal number
    # Codes of neighbours differ by one, so a carry out of the fraction is right as it is. What is
    # dropped is rounded to nearest, ties to even: half of it, less one unless the last bit kept is
    # odd, is added before. Of 25 bits and more nothing is left: 2**24 is half of 2**25.
    drop = 23 - K.FRACTION + tl.minimum(tl.maximum(-above, 0), K.FRACTION + 2)
    odd = significand >> drop & 1
    code = (significand + (1 << drop - 1) - 1 + odd) >> drop
    if K.WIDTH is not None:  # added to as many of the bits that are dropped; 24 + 32 bits fill 56
        gone = tl.minimum(23 - K.FRACTION - tl.minimum(above, 0), 63)
        wide = significand.to(tl.int64) << K.WIDTH
        code = ((wide >> gone.to(tl.int64)) + random.to(tl.int64) >> K.WIDTH).to(tl.int32)
    top = K.LARGEST + (K.BITS == 8 and K.FRACTION < 6 and not K.SATURATE)
    code = tl.minimum(code + (tl.maximum(above, 0) << K.FRACTION), top)
    nan = magnitude > 0x7F800000
    code = tl.where(nan, 0x7F if K.BITS == 8 else K.LARGEST, code)
    negative = (bits < 0) & ~nan
    if K.FRACTION == 6:
        return tl.where(negative, -code, code) & 0xFF
    return tl.where(negative, code | 1 << K.BITS - 1, code)


@triton.jit
def scale_of(amax, K):
    """E8M0 codes of blocks with these largest magnitudes."""
    significand, field = apart(amax)
    scale = field - K.EMIN - (K.LARGEST >> K.FRACTION) + 1
    limit = K.LIMIT + (scale == 0).to(tl.int32) if K.LATER else K.LIMIT
    scale += (significand >= limit).to(tl.int32)
    return tl.minimum(tl.maximum(scale, 0), 254)


@triton.jit
def integer_of(magnitude, FRACTION):
    """Codes as integer * 2**binade; the unit is the smallest number of the format."""
    binade = tl.maximum((magnitude >> FRACTION) - 1, 0)
    return magnitude - (binade << FRACTION), binade


@triton.jit
def product(k, unit, exponent):
    """Products k * unit * 2**exponent cut off to float32, what is left of them, and half a step."""
    # k is 1 to 127: 7 bits, by 24, are 30 or 31. The last one is made sticky, so that a number
    # below half of the smallest float32 can be told from half of it, by a shift of 31.
    (factor, binade), (significand, field) = apart(float_bits(k)), apart(unit)
    wide = (factor >> 17) * significand
    high = wide >> 30
    wide = wide >> 1 | wide & 1
    field += binade - 127 + high + exponent
    drop = 5 + high + tl.minimum(tl.maximum(1 - field, 0), 25)
    kept, over = wide >> drop, field > 254
    bits = tl.where(over, 0x7F800000, kept + (tl.maximum(field, 1) - 1 << 23))
    return bits, tl.where(over, 0, wide - (kept << drop)), 1 << drop - 1


@triton.jit
def scale_of_nvfp4(amax, unit, K):
    """UE4M3 codes of amax / (6 * unit), the exact quotient rounded once."""
    # That of two significands has 5 to 7 bits before the point. With a sticky one behind them it
    # is rounded to the 4 bits of UE4M3 as all of it would be.
    (top, field), (below, low) = apart(amax), apart(unit)
    quotient = (top << 7) // (3 * below)
    odd = quotient * 2 + (quotient * (3 * below) != top << 7).to(tl.int32)
    return encoded(float_bits(odd), 136 + low - field, 0, K.SCALE)


@triton.jit
def encoded_nvfp4(bits, scale, unit):
    """E2M1 codes of x / (scale * unit): how many midpoints of E2M1, so multiplied, x is above."""
    # The midpoints are the odd codes of E2M2. x is above a product if it is above the float32 that
    # the product is cut off to. A tie goes to the even code, the upper one of each second.
    magnitude, code, (integer, binade) = bits & 0x7FFFFFFF, bits & 0, integer_of(scale, 3)
    for i in tl.static_range(7):
        middle, up = integer_of(2 * i + 1, 2)
        limit, rest, _ = product(integer * middle, unit, binade + up - 11)
        if i % 2:
            limit -= (rest == 0).to(tl.int32)
        code += (magnitude > limit).to(tl.int32)
    return tl.where(scale > 0, code, 0) | bits >> 28 & 8


@triton.jit
def decoded(code, scale, unit, ODD, K):
    """Float32 patterns of codes times scales; of nvfp4 times unit, rounded to nearest or to odd."""
    negative = code >> K.BITS - 1 != 0
    magnitude = code & (1 << K.BITS - 1) - 1
    if K.FRACTION == 6:
        magnitude = tl.where(negative, 256 - code, code)
    integer, exponent = integer_of(magnitude, K.FRACTION)
    if K.SCALE is None:
        pattern = float_bits(integer)
        field = (pattern >> 23) + exponent + scale - 127 + K.EMIN - K.FRACTION
        bits = (pattern & 0x7FFFFF | 0x800000) >> tl.minimum(tl.maximum(1 - field, 0), 31)
        bits = tl.where(field > 254, 0x7F800000, bits + (tl.maximum(field, 1) - 1 << 23))
    else:
        factor, binade = integer_of(scale, 3)
        integer *= factor
        bits, rest, half = product(integer, unit, exponent + binade - 10)
        bits = bits | (rest > 0) if ODD else bits + (rest + (bits & 1) > half)
    bits = tl.where(integer == 0, 0, bits)
    if K.BITS == 8 and K.FRACTION < 6:
        bits = tl.where(magnitude > K.LARGEST, 0x7FC00000, bits)
        if K.FRACTION == 2:
            bits = tl.where(magnitude == K.LARGEST + 1, 0x7F800000, bits)
    bits = tl.where(scale == (0xFF if K.SCALE is None else 0x7F), 0x7FC00000, bits)
    return tl.where(negative, bits | -0x80000000, bits)


@triton.jit
def load_codes(codes, block, mask, K):
    """Blocks of codes from words of 32 bits; packed ones are a stream of bits, lowest first."""
    width: tl.constexpr = K.BITS if K.PACKED else 8
    codes = codes.to(tl.pointer_type(tl.int32), bitcast=True)
    if width == 6:  # three words are four times 24 bits
        place = codes + block * 6 + tl.arange(0, 2)[None, :] * 3
        first, second = tl.load(place, mask, 0), tl.load(place + 1, mask, 0)
        third = tl.load(place + 2, mask, 0)
        a, b = first, first >> 24 & 0xFF | second << 8
        c, d = second >> 16 & 0xFFFF | third << 16, third >> 8
        word = tl.reshape(tl.join(tl.join(a, c), tl.join(b, d)), (block.shape[0], 8))
    else:
        words: tl.constexpr = K.SIZE * width // 32
        word = tl.load(codes + block * words + tl.arange(0, words)[None, :], mask, 0)
    shift = tl.arange(0, 8 if width == 4 else 4) * width
    code = word[:, :, None] >> shift[None, None, :] & (1 << width) - 1
    return tl.reshape(code, (block.shape[0], K.SIZE))


@triton.jit
def by_place(parts, EACH):
    """Of tensors (blocks, numbers) those at place 0 of each so many, at place 1, and so on."""
    for _ in tl.static_range(EACH.bit_length() - 1):
        evens, odds = (), ()
        for i in tl.static_range(len(parts)):
            pairs = tl.reshape(parts[i], (parts[i].shape[0], parts[i].shape[1] // 2, 2))
            even, odd = tl.split(pairs)
            evens += (even,)
            odds += (odd,)
        parts = evens + odds
    return parts


@triton.jit
def converted(bits, scale, finite, K):
    """Words of codes of float32 patterns divided by 2**(scale - 127), by the GPU's conversion."""
    each: tl.constexpr = 8 if K.BITS == 4 else 4
    # What is the same in all of a block is split as its numbers are, so that it stays where it is.
    factor = tl.broadcast_to((254 - scale << 23).to(tl.float32, bitcast=True), bits.shape)
    keep = tl.broadcast_to(tl.where(finite, -1, 0), bits.shape)
    parts = by_place((bits.to(tl.float32, bitcast=True),), each)
    parts += (by_place((factor,), each)[0], by_place((keep,), each)[0])
    word = tl.inline_asm_elementwise(
        K.CONVERSION, "=r" + ",f" * (each + 1) + ",r", parts, tl.int32, is_pure=True, pack=1
    )
    if K.BITS == 6 and K.PACKED:
        word = word & 0x3F003F | word >> 2 & 0xFC00FC0
        word = word & 0xFFF | word >> 4 & 0xFFF000
    return word


@triton.jit
def words_of(code, K):
    """Words of 32 bits of codes; packed ones of FP6 have 24."""
    width: tl.constexpr = K.BITS if K.PACKED else 8
    each: tl.constexpr = 8 if width == 4 else 4
    code = tl.reshape(code, (code.shape[0], code.shape[1] // each, each))
    return tl.sum(code << (tl.arange(0, each) * width)[None, None, :], axis=2)


@triton.jit
def store_codes(codes, block, word, mask, K):
    """`load_codes` undone, from words."""
    width: tl.constexpr = K.BITS if K.PACKED else 8
    codes = codes.to(tl.pointer_type(tl.int32), bitcast=True)
    if width == 6:
        evens, odds = tl.split(tl.reshape(word, (word.shape[0], 2, 2, 2)))
        (a, c), (b, d) = tl.split(evens), tl.split(odds)
        place = codes + block * 6 + tl.arange(0, 2)[None, :] * 3
        tl.store(place, a | b << 24, mask)
        tl.store(place + 1, b >> 8 | c << 16, mask)
        tl.store(place + 2, c >> 16 | d << 8, mask)
    else:
        place = block * word.shape[1] + tl.arange(0, word.shape[1])[None, :]
        tl.store(codes + place, word, mask)


@triton.jit
def random_words(draws, seed, block, mask, K):
    """Random bits of the elements of blocks: those given, or upper bits of Philox words."""
    if draws is not None:
        words = tl.load(draws + block * 32 + tl.arange(0, 32)[None, :], mask, 0)
        return words.to(tl.uint32, bitcast=True)
    # Word i % 4 of Philox 4x32 with ten rounds, counter 8 * block + i // 4.
    counter = block * 8 + tl.arange(0, 8)[None, :]
    low, high = counter.to(tl.uint32), (counter >> 32).to(tl.uint32)
    a, b, c, d = tl.philox(seed, low, high, low * 0, low * 0)
    words = tl.join(tl.join(a, c), tl.join(b, d))
    return tl.reshape(words, (block.shape[0], 32)) >> 32 - K.WIDTH


@triton.jit
def tile_of(rows, columns, ROWS, COLUMNS):
    """First row and column of this program's tile."""
    tile, across = tl.program_id(0).to(tl.int64), tl.cdiv(columns, COLUMNS)
    return tile // across * ROWS, tile % across * COLUMNS


@triton.jit
def load_runs(x, row, column, rows, columns, x_row, x_column, EACH, ROWS, COLUMNS):
    """Numbers of a tile, (ROWS, COLUMNS // 16, 16), EACH of which lie side by side for a load.

    A thread has all 16: what is done once in a block is not done for few numbers.
    """
    line = row + tl.arange(0, ROWS)[:, None, None]
    first = column + tl.arange(0, COLUMNS // 16)[None, :, None] * 16
    place, mask = x + line * x_row + first * x_column, (line < rows) & (first < columns)
    parts = ()
    for i in tl.static_range(16 // EACH):
        step = (i * EACH + tl.arange(0, EACH)[None, None, :]).to(tl.int64)
        parts += (tl.load(place + step * x_column, mask, 0),)
    for _ in tl.static_range((16 // EACH).bit_length() - 1):
        pairs = ()
        for i in tl.static_range(len(parts) // 2):
            pair = tl.permute(tl.join(parts[2 * i], parts[2 * i + 1]), (0, 1, 3, 2))
            pairs += (tl.reshape(pair, (ROWS, COLUMNS // 16, 2 * parts[0].shape[2])),)
        parts = pairs
    return parts[0]


@triton.jit
def blocks_of(row, column, rows, columns, ROWS, COLUMNS, K):
    """Blocks of a tile, row by row, as numbers, where their scales lie, and which there are."""
    across: tl.constexpr = COLUMNS // K.SIZE
    i, blocks = tl.arange(0, ROWS * across)[:, None], columns // K.SIZE
    line, number = row + i // across, column // K.SIZE + i % across
    block = line * blocks + number
    place = block
    if K.TILED:  # tiles of 128 x 4, in lines
        tile = (line >> 7) * tl.cdiv(blocks, 4) + (number >> 2)
        place = tile * 512 + (line & 31) * 16 + (line >> 5 & 3) * 4 + (number & 3)
    return block, place, (line < rows) & (number < blocks)


@triton.jit
def quantize_lines(
    x, row, column, rows, columns, x_row, x_column, scales, codes,
    tensor, draws, seed, K, EACH, ROWS, COLUMNS,
):  # fmt: skip
    """Scales and codes of a tile whose first number is at `row` and `column`."""
    block, place, mask = blocks_of(row, column, rows, columns, ROWS, COLUMNS, K)
    tile = load_runs(x, row, column, rows, columns, x_row, x_column, EACH, ROWS, COLUMNS)
    bits = tl.reshape(float_bits(tile), (mask.shape[0], K.SIZE))
    random = random_words(draws, seed, block, mask, K) if K.WIDTH is not None else 0
    if scales is None:
        scale = tl.full(mask.shape, 127, tl.int32)
        finite = scale == 127
        code = encoded(bits, scale, random, K)
    else:
        amax = tl.max(bits & 0x7FFFFFFF, axis=1, keep_dims=True)
        finite = amax < 0x7F800000
        if K.SCALE is None:
            scale = tl.where(finite, scale_of(amax, K), 0xFF)
            code = encoded(bits, scale, random, K)
        else:
            unit = float_bits(tl.load(tensor))
            scale = tl.where(finite, scale_of_nvfp4(amax, unit, K), 0x7F)
            code = encoded_nvfp4(bits, scale, unit)
        code = tl.where(finite, code, 0)
        tl.store(scales + place, scale.to(tl.uint8), mask)
    word = words_of(code, K)
    if K.CONVERSION is not None:
        word = converted(bits, scale, finite, K)
    store_codes(codes, block, word, mask, K)


#: Tiles of whole blocks both ways: a GPU tries them when columns, their stride or the kind are new.
TILES = [
    triton.Config({"ROWS": rows, "COLUMNS": columns}, num_warps=warps)
    for rows, columns in ((32, 32), (32, 64), (32, 128), (64, 64), (64, 128), (128, 32))
    for warps in (2, 4, 8)
    if rows * columns <= 2048 * warps  # more spill
]


def _without_spills(tiles, named, **options):
    """Tiles for a call: NVFP4 and both directions need more registers for a number."""
    least = [t for t in tiles if t.kwargs["ROWS"] * t.kwargs["COLUMNS"] <= 1024 * t.num_warps]
    is_large = options["K"].SCALE is not None or named.get("codes_down") is not None
    return least if least and is_large else tiles


PRUNED = {"early_config_prune": _without_spills}
TRIED = [triton.Config({"ROWS": 1024, "COLUMNS": 32})] if triton.knobs.runtime.interpret else TILES


@triton.autotune(TRIED, ["columns", "x_column", "K"], prune_configs_by=PRUNED)
@triton.jit(do_not_specialize=["seed"])
def quantize_kernel(
    x, scales, codes, scales_down, codes_down, draws, seed, tensor, rows, columns, x_row, x_column,
    K: tl.constexpr, EACH: tl.constexpr, DOWN: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """One tile: blocks along rows and, with `codes_down`, along columns; without scales, codes."""
    row, column = tile_of(rows, columns, ROWS, COLUMNS)
    quantize_lines(x, row, column, rows, columns, x_row, x_column, scales, codes,
                   tensor, draws, seed, K, EACH, ROWS, COLUMNS)  # fmt: skip
    if codes_down is not None:  # the tile is read again while it is near
        quantize_lines(x, column, row, columns, rows, x_column, x_row, scales_down, codes_down,
                       tensor, draws, seed, K, DOWN, COLUMNS, ROWS)  # fmt: skip


@triton.autotune(TRIED, ["columns", "x_column", "K"], prune_configs_by=PRUNED)
@triton.jit
def dequantize_kernel(
    x, scales, codes, tensor, rows, columns, x_row, x_column,
    K: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """One tile of numbers."""
    row, column = tile_of(rows, columns, ROWS, COLUMNS)
    block, of_scale, mask = blocks_of(row, column, rows, columns, ROWS, COLUMNS, K)
    code = load_codes(codes, block, mask, K)
    scale = tl.load(scales + of_scale, mask, 0).to(tl.int32)
    float: tl.constexpr = x.dtype.element_ty
    unit = 0 if K.SCALE is None else float_bits(tl.load(tensor))
    bits = decoded(code, scale, unit, float != tl.float32, K)
    if float == tl.bfloat16:  # to nearest
        values = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).to(tl.int16).to(float, bitcast=True)
    else:
        values = bits.to(tl.float32, bitcast=True).to(float)
    r, c = row + tl.arange(0, ROWS)[:, None], column + tl.arange(0, COLUMNS)[None, :]
    there = (r < rows) & (c < columns)
    tl.store(x + r * x_row + c * x_column, tl.reshape(values, (ROWS, COLUMNS)), there)


def quantize(
    x, format, rule="floor", *, tensor_scale=None, saturate=True, packed=False, tiled=False,
    seed=None, random_width=32, both=False,
):  # fmt: skip
    """Scales (..., n) and codes (..., 32 * n), or packed bytes, of blocks along the last axis.

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
    kind = FORMATS[format]._replace(SATURATE=saturate, PACKED=packed, TILED=tiled)
    kind = kind._replace(LIMIT=LIMITS[rule](kind), LATER=rule == "rceil_reciprocal")
    kind = kind._replace(WIDTH=None if seed is None else random_width)
    size, lines = kind.SIZE, x.shape[:-1]
    if x.ndim == 0 or x.shape[-1] % size or (both and (x.ndim != 2 or lines[0] % size)):
        what = "be a matrix" if both else "have a last axis"
        raise ValueError(f"x must {what} of whole blocks of {size}, got {tuple(x.shape)}")
    if seed is not None and format == "nvfp4":
        raise ValueError(f"seed must be None for nvfp4, which is rounded to nearest, got {seed}")
    found = []
    for *over, columns in [x.shape, x.shape[::-1]][: 1 + both]:
        blocks, stored = columns // size, columns * (kind.BITS if packed else 8) // 8
        shape = [_tiled_size(math.prod(over), blocks)] if tiled else [*over, blocks]
        scales = (x.new_zeros if tiled else x.new_empty)(shape, dtype=torch.uint8)
        found.append((scales, x.new_empty((*over, stored), dtype=torch.uint8)))
    down = found[1] if both else (None, None)
    matrix = x.reshape(math.prod(lines), x.shape[-1])
    _launch(quantize_kernel, kind, tensor_scale, matrix, *found[0], *down, None, seed or 0)
    return found if both else found[0]


quantize_both = functools.partial(quantize, both=True)


def encode(x, format, random_bits=None, random_width=0, *, saturate=True):
    """Codes of numbers, one to a byte; by chance with random_bits of random_width each."""
    kind = FORMATS[format]._replace(SATURATE=saturate)
    if random_bits is not None:
        kind = kind._replace(WIDTH=random_width)
        random_bits = _filled(random_bits.to(torch.int64).to(torch.int32), 32)
    values = _filled(x, 32).view(-1, 32)
    codes = values.new_empty(values.shape, dtype=torch.uint8)
    _launch(quantize_kernel, kind, None, values, None, codes, None, None, random_bits, 0)
    return codes.view(-1)[: x.numel()].view(x.shape)


def dequantize(
    scales, codes, format, dtype=torch.float32, *,
    tensor_scale=None, packed=False, tiled=False, out=None,
):  # fmt: skip
    """The numbers of `quantize`'s result, in float32, bfloat16 or float16.

    With `out`, such as y.T of a matrix, they are written there, in its dtype and with its strides.
    """
    kind = FORMATS[format]._replace(PACKED=packed, TILED=tiled)
    size = kind.SIZE * (kind.BITS if packed else 8) // 8
    blocks, lines = codes.shape[-1] // size, math.prod(codes.shape[:-1])
    if _checked(codes).shape[-1] % size:
        raise ValueError(f"codes must fill blocks of {size} bytes, got {tuple(codes.shape)}")
    if _checked(scales).numel() != (_tiled_size(lines, blocks) if tiled else lines * blocks):
        raise ValueError(f"scales must be of {lines} x {blocks} blocks, got {scales.numel()}")
    shape = (*codes.shape[:-1], blocks * kind.SIZE)
    x = torch.empty(shape, dtype=dtype, device=codes.device) if out is None else out
    if x.shape != shape:
        raise ValueError(f"out must be {shape} for these codes, got {tuple(x.shape)}")
    scales, codes = scales.contiguous(), codes.contiguous()
    codes = codes.clone() if codes.data_ptr() % 4 else codes
    _launch(dequantize_kernel, kind, tensor_scale, x.view(lines, shape[-1]), scales, codes)
    return x


def decode(codes, format, dtype=torch.float32):
    """The numbers of codes, one to a byte, in float32, bfloat16 or float16."""
    blocks = _filled(_checked(codes), 32).view(-1, 32)
    x = dequantize(torch.full_like(blocks[:, :1], 127), blocks, format, dtype)
    return x.view(-1)[: codes.numel()].view(codes.shape)


def pack(codes, format):
    """Codes (n,), one to a byte, as a stream of bits; FP6 in whole groups of four codes."""
    return _regrouped(_checked(codes), FORMATS[format].BITS, 8)


def unpack(packed, format, count):
    """`pack` undone: codes (count,)."""
    bits = FORMATS[format].BITS
    size = triton.cdiv(count * bits, math.lcm(bits, 8)) * math.lcm(bits, 8) // 8
    return _regrouped(_checked(packed, size), 8, bits)[:count]


def pack_scales(scales):
    """Scales (rows, columns) in tiles of 128 x 4, filled up with 00, as cuBLAS reads them."""
    rows, columns = _checked(scales).shape
    filled = torch.nn.functional.pad(scales, (0, -columns % 4, 0, -rows % 128))
    return filled.unflatten(0, (-1, 4, 32)).unflatten(3, (-1, 4)).permute(0, 3, 2, 1, 4).reshape(-1)


def unpack_scales(tiles, shape):
    """`pack_scales` undone: scales of the shape (rows, columns)."""
    rows, columns = triton.cdiv(shape[0], 128), triton.cdiv(shape[1], 4)
    line = _checked(tiles, rows * columns * 512).reshape(-1)[: rows * columns * 512]
    quarters = line.view(rows, columns, 32, 4, 4).permute(0, 3, 2, 1, 4)
    return quarters.reshape(rows * 128, columns * 4)[: shape[0], : shape[1]].contiguous()


def _launch(kernel, kind, tensor_scale, matrix, *arguments):
    """Run a kernel on all tiles of a matrix."""
    if matrix.dtype not in (torch.float32, torch.bfloat16, torch.float16):
        raise TypeError(f"x must be float32, bfloat16 or float16, got {matrix.dtype}")
    if kind.WIDTH is not None and kind.WIDTH not in range(1, 33):
        raise ValueError(f"random_width must be 1 to 32, got {kind.WIDTH}")
    if kind.SCALE is None and tensor_scale is not None:
        raise ValueError(f"tensor_scale must be None but for nvfp4, got {tensor_scale}")
    unit = tensor_scale
    if isinstance(unit, torch.Tensor):
        unit = unit.to(matrix.device, torch.float32).reshape(1)
    elif kind.SCALE is not None:
        unit = matrix.new_full((1,), 1.0 if unit is None else unit, dtype=torch.float32)
    (rows, columns), strides = matrix.shape, matrix.stride()
    grid = lambda tile: (triton.cdiv(rows, tile["ROWS"]) * triton.cdiv(columns, tile["COLUMNS"]),)  # noqa: E731
    if matrix.numel():
        with torch.cuda.device_of(matrix):
            more = {}
            if kernel is quantize_kernel:  # numbers of a load of 16 bytes, where they lie so
                down, across = (16 // matrix.element_size() if by == 1 else 1 for by in strides)
                more, kind = {"EACH": across, "DOWN": down}, _with_conversion(kind)
            kernel[grid](matrix, *arguments, unit, rows, columns, *strides, K=kind, **more)


def _with_conversion(kind):
    """A kind with the assembly of a word of codes, where it has one on the GPU at hand."""
    if triton.knobs.runtime.interpret:
        return kind
    target = triton.runtime.driver.active.get_current_target()
    return _converting(kind, target.arch) if target.backend == "cuda" else kind


@functools.lru_cache
def _converting(kind, architecture):
    """A kind with the assembly that an architecture has for it.

    `cvt` rounds ties to even, as `encoded` does, also to subnormal numbers, and saturates. A NaN is
    7F, or the largest number. A product that is subnormal in float32 is nothing in these formats.
    """
    name = next((name for name in ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1") if _is(kind, name)), "")
    wide = kind.BITS == 8
    if kind.WIDTH is not None or kind.SCALE is not None:
        return kind
    if not name or (wide and not kind.SATURATE) or not (kind.PACKED or kind.BITS > 4):
        return kind
    if architecture < (89 if wide else 100):
        return kind
    count = 8 if kind.BITS == 4 else 4
    numbers = [f"x{i}" for i in range(count)]
    pairs = [f"p{i}" for i in range(count // 2)]
    lines = [f".reg .f32 {', '.join(numbers)}"]
    lines += [f".reg {'.b8' if kind.BITS == 4 else '.b16'} {', '.join(pairs)}"]
    lines += [f"mul.rn.f32 {x}, ${i + 1}, ${count + 1}" for i, x in enumerate(numbers)]
    cvt = f"cvt.rn.satfinite.{name}x2.f32"
    lines += [f"{cvt} {p}, x{2 * i + 1}, x{2 * i}" for i, p in enumerate(pairs)]
    lines += [f"mov.b32 $0, {{{', '.join(pairs)}}}", f"and.b32 $0, $0, ${count + 2}"]
    text = ";\n  ".join(lines)
    return kind._replace(CONVERSION=f"{{\n  {text};\n}}")


def _is(kind, name):
    return kind[:4] == FORMATS[name][:4]


def _checked(codes, size=0):
    if codes.dtype != torch.uint8 or codes.numel() < size:
        what = f"uint8, {size} of them or more" if size else "uint8"
        raise ValueError(f"codes must be {what}, got {codes.numel()} of {codes.dtype}")
    return codes


def _filled(x, unit):
    """A tensor in one line, filled up to a multiple."""
    line, rest = x.reshape(-1), -x.numel() % unit
    return torch.nn.functional.pad(line, (0, rest)) if rest else line.contiguous()


def _regrouped(values, width, new_width):
    """A stream of bits, the lowest first, cut into values of another width."""
    bits = math.lcm(width, new_width)
    groups = _filled(values, bits // width).view(-1, bits // width).int()
    whole = sum(groups[:, i] << width * i for i in range(bits // width))
    parts = [whole >> i & (1 << new_width) - 1 for i in range(0, bits, new_width)]
    return torch.stack(parts, 1).to(torch.uint8).view(-1)


def _tiled_size(rows, columns):
    return triton.cdiv(rows, 128) * triton.cdiv(columns, 4) * 512

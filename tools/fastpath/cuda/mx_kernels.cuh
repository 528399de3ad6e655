/* The OCP Microscaling formats in CUDA C++: kernels, and the hardware's conversions. It needs
 * mx_fastpath.cuh beside it, whose functions the kernels are equal to, bit for bit.
 *
 * A thread has 16 numbers of a block, its neighbour the other 16: they are loaded by 16 bytes, the
 * maximum is exchanged once, and the codes are packed in registers and stored by 16 or 8 bytes.
 * (Packed FP6: a thread has all 32, whose 24 bytes are stored by 8.) Places where that is not
 * possible are right, too, and slow. Nothing is divided by a number that is not constant, and all
 * indices have 64 bits.
 */
#ifndef MX_KERNELS_CUH
#define MX_KERNELS_CUH

#include <cstring>

#include "mx_fastpath.cuh"
#if defined(MX_CVT_TABLES) && !defined(__CUDACC__)
#include "conversions.h"
#endif

namespace mx {

/* Where things lie: thing i of line l is at l * line + i * step. */
struct Axis { size_t line, step; };

/* A tensor of lines that are cut into blocks; the last block of a line is filled up with zeros, so
 * that the codes have a multiple of 32 to a line. Rows of a C-contiguous matrix: lines = rows,
 * length = columns, values {columns, 1}, codes {columns filled up, 1}, scales {blocks, 1}. The
 * items of packed codes are bytes. */
struct Tensor { size_t lines, length; Axis values, codes, scales; };

MX_BOTH size_t blocks_of(const Tensor &t) { return (t.length + BLOCK - 1) / BLOCK; } /* a line */

/* How scales are chosen, and where they lie: at t.scales, or in tiles of 128 rows and 4 columns, a
 * row for each line. Bytes of the tiles beyond the lines and blocks are not written. */
struct Recipe { Rule rule; bool tiles; };

MX_BOTH size_t scale_place(const Tensor &t, bool tiles, size_t line, size_t block)
{
    return tiles ? tiled_offset(line, block, blocks_of(t))
                 : line * t.scales.line + block * t.scales.step;
}

MX_BOTH uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

/* The larger low halves and the larger high halves. */
MX_BOTH uint32_t larger_halves(uint32_t a, uint32_t b)
{
#if defined(__CUDA_ARCH__)
    return __vmaxu2(a, b);
#else
    return larger(a >> 16, b >> 16) << 16 | larger(a & 0xffffu, b & 0xffffu);
#endif
}

/* Numbers as they lie in memory: one or two in a word, the first one lowest. */
template <class T> struct Lying;

template <> struct Lying<uint32_t> {
    enum : int { in_a_word = 1 };
    static MX_BOTH uint32_t bits(uint32_t x) { return x; }
    static MX_BOTH uint32_t number(const uint32_t *words, int i) { return words[i]; }
    static MX_BOTH uint32_t amax(const uint32_t *words, int n)
    {
        uint32_t most = 0;
        for (int i = 0; i < n; ++i)
            most = larger(most, words[i] & 0x7fffffffu); /* NaN is larger than infinity */
        return most;
    }
    static MX_BOTH uint32_t widened(uint32_t magnitude) { return magnitude; }
    static MX_BOTH uint32_t joined(uint32_t x, uint32_t) { return x; }
};

/* The magnitudes of bfloat16 and float16 are in order, so two are compared at once. */
template <class T> struct LyingHalves {
    enum : int { in_a_word = 2 };
    static MX_BOTH uint32_t amax(const uint32_t *words, int n)
    {
        uint32_t most = 0;
        for (int i = 0; i < n; ++i)
            most = larger_halves(most, words[i] & 0x7fff7fffu);
        return larger(most & 0xffffu, most >> 16);
    }
    static MX_BOTH uint32_t widened(uint32_t magnitude)
    {
        return float32_bits(static_cast<T>(magnitude));
    }
};
template <> struct Lying<uint16_t> : LyingHalves<uint16_t> {
    static MX_BOTH uint32_t bits(uint16_t x) { return x; }
    static MX_BOTH uint32_t number(const uint32_t *words, int i)
    {
        return i % 2 ? words[i / 2] & 0xffff0000u : words[i / 2] << 16;
    }
    static MX_BOTH uint32_t joined(uint32_t low, uint32_t high) /* of float32, rounded */
    {
        uint16_t halves[2];
        store(low, halves[0]);
        store(high, halves[1]);
        return halves[0] | static_cast<uint32_t>(halves[1]) << 16;
    }
};
template <> struct Lying<Half> : LyingHalves<Half> {
    static MX_BOTH uint32_t bits(Half x) { return x.bits; }
    static MX_BOTH uint32_t number(const uint32_t *words, int i)
    {
        return float32_bits(Half(words[i / 2] >> 16 * (i % 2)));
    }
};

/* The least scale code beside which a subnormal float32 is less than half of the smallest element:
 * its field, 0, is then at least mantissa + 2 below that of the smallest normal element. */
template <class F> MX_BOTH constexpr int least_plain() { return F::mantissa + 2 - F::emin; }

/* The pattern of x * 2^LIFT, which is normal or zero. */
enum : int { LIFT = 32 };
MX_BOTH uint32_t lifted(uint32_t x)
{
    const uint32_t magnitude = x & 0x7fffffffu;
    const Number n = number(magnitude);
    return (x & 0x80000000u)
           | (magnitude ? static_cast<uint32_t>(n.exponent + 127 + LIFT) << 23
                              | (n.significand & 0x7fffffu)
                        : 0u);
}

/* encode<F, SATURATE>(x, scale_code) of a finite x, scale_code at least least_plain<F>().
 *
 * `above` is x's exponent less that of the smallest normal element. The significand, 31 bits of
 * which 7 are zero, goes down by as much as it is below: up to 7 nothing is lost, and from
 * mantissa + 2 (at most 8) on the answer is 0. The answer's bits are then the upper ones, the
 * hidden one being field 1; each exponent above adds 1 to the field, and a carry goes on into it.
 * A subnormal x has a wrong hidden bit here, but is so far below that the answer is 0 all the same.
 */
template <class F, bool SATURATE>
MX_BOTH uint32_t encode_plain(uint32_t x, int scale_code)
{
    constexpr int gone = 30 - F::mantissa; /* bits that are rounded away */
    const int above = static_cast<int>((x & 0x7fffffffu) >> 23) - (scale_code + F::emin);
    const int below = above < -31 ? 31 : above < 0 ? -above : 0;
    const uint32_t significand = ((x & 0x7fffffu) | 0x800000u) << 7 >> below;
    const uint32_t even = (1u << (gone - 1)) - 1u + (significand >> gone & 1u); /* ties to even */
    uint32_t code = (significand + even) >> gone;
    code += static_cast<uint32_t>(above > 0 ? above : 0) << F::mantissa;
    constexpr uint32_t largest = F::largest, beyond = F::infinity < 0 ? F::nan : F::infinity;
    if (SATURATE || !F::has_nan)
        code = code < largest ? code : largest;
    else if (code > largest)
        return F::infinity < 0 ? beyond : beyond | (x >> 31) << 7;
    if (F::complement)
        return (x >> 31 ? 0u - code : code) & 0xffu;
    return code | (x >> (32 - F::bits) & 1u << (F::bits - 1));
}

/* Element encoders. `codes<F, WIDTH>(words, first, scale)` are the codes of the numbers from the
 * first on, each in WIDTH bits: four of 8 or of 6 bits, eight of 4. */
template <bool SATURATE> struct Integers {
    template <class F, class T> static MX_BOTH int prepare(uint32_t *words, int n, uint8_t scale);
    template <class F, class T, int WIDTH>
    static MX_BOTH uint32_t codes(const uint32_t *words, int first, int scale)
    {
        uint32_t all = 0;
        for (int j = 0; j < (WIDTH == 4 ? 8 : 4); ++j)
            all += encode_plain<F, SATURATE>(Lying<T>::number(words, first + j), scale)
                   << WIDTH * j;
        return all;
    }
};

/* The scale code to encode with. Beside a very small scale subnormal numbers are more than nothing:
 * all numbers are multiplied by 2^LIFT, exactly (a bfloat16 stays one), and so is the scale. */
MX_BOTH void lift(uint32_t *words, int n, uint32_t)
{
    for (int i = 0; i < n; ++i)
        words[i] = lifted(words[i]);
}
MX_BOTH void lift(uint32_t *words, int n, uint16_t)
{
    for (int i = 0; i < n; ++i)
        words[i] = lifted(words[i] & 0xffff0000u) | lifted(words[i] << 16) >> 16;
}
MX_BOTH void lift(uint32_t *, int, Half) {} /* all are zero, beside such a scale */

template <bool SATURATE>
template <class F, class T>
MX_BOTH int Integers<SATURATE>::prepare(uint32_t *words, int n, uint8_t scale)
{
    if (scale >= least_plain<F>())
        return scale;
    lift(words, n, T());
    return scale + LIFT;
}

/* 2^(127 - scale_code), the reciprocal of a scale: a subnormal number for fe. 0 for ff. */
MX_BOTH uint32_t reciprocal(uint8_t scale)
{
    return scale == 0xfe ? 0x00400000u : scale == NAN_SCALE ? 0u : (254u - scale) << 23;
}

/* The product, rounded once; never flushed to zero, whatever -use_fast_math says: the instruction
 * has no .ftz. */
MX_BOTH uint32_t times(uint32_t x, uint32_t y)
{
    float a, b;
#if defined(__CUDA_ARCH__)
    asm("mul.rn.f32 %0, %1, %2;" : "=f"(a) : "f"(__uint_as_float(x)), "f"(__uint_as_float(y)));
    (void)b;
    return __float_as_uint(a);
#else
    std::memcpy(&a, &x, sizeof a);
    std::memcpy(&b, &y, sizeof b);
    a *= b;
    std::memcpy(&x, &a, sizeof x);
    return (x & 0x7fffffffu) > INFINITE ? 0x7fffffffu : x; /* the NaN of a GPU */
#endif
}

/* Pairs by the hardware's conversion, which is encode<F> of x times the reciprocal. The product is
 * exact but for what is below 2^-126, which is 0 as an element. By PTX's description the
 * conversions round to nearest, ties to even, saturate, also infinity, keep the sign of zero, and
 * give 7f or the largest number for NaN. MX_HAS_CVT says for which formats there are some here. */
#if defined(__CUDA_ARCH__)
#if __CUDA_ARCH__ >= 1000                                                                           \
    && (defined(__CUDA_ARCH_SPECIFIC__) || defined(__CUDA_ARCH_FAMILY_SPECIFIC__))
#define MX_CVT_OF_6_AND_4_BITS
#define MX_HAS_CVT(F) (!F::complement)
#elif __CUDA_ARCH__ >= 890
#define MX_HAS_CVT(F) (F::has_nan)
#else
#define MX_HAS_CVT(F) false
#endif

#define MX_PAIR(F, NAME)                                                                           \
    MX_DEVICE uint32_t pair(F, uint32_t low, uint32_t high)                                        \
    {                                                                                              \
        uint16_t both;                                                                             \
        asm("cvt.rn.satfinite." NAME "x2.f32 %0, %1, %2;"                                          \
            : "=h"(both)                                                                           \
            : "f"(__uint_as_float(high)), "f"(__uint_as_float(low)));                              \
        return both;                                                                               \
    }
#if __CUDA_ARCH__ >= 890
MX_PAIR(E5M2, "e5m2")
MX_PAIR(E4M3, "e4m3")
#endif
#if defined(MX_CVT_OF_6_AND_4_BITS)
MX_PAIR(E3M2, "e3m2")
MX_PAIR(E2M3, "e2m3")
/* Two codes in a byte. */
MX_DEVICE uint32_t pair(E2M1, uint32_t low, uint32_t high)
{
    uint16_t both;
    asm("{ .reg .b8 byte;\n cvt.rn.satfinite.e2m1x2.f32 byte, %1, %2;\n mov.b16 %0, {byte, 0}; }"
        : "=h"(both)
        : "f"(__uint_as_float(high)), "f"(__uint_as_float(low)));
    return both;
}
#endif
#undef MX_PAIR
#elif defined(MX_CVT_TABLES)
/* On a CPU: by the tables that `mxref export table` writes, through conversions.h. */
#define MX_HAS_CVT(F) (!F::complement)
#else
#define MX_HAS_CVT(F) false
#endif

/* Four codes, one a byte, as WIDTH bits each. */
template <int WIDTH> MX_BOTH uint32_t squeezed(uint32_t bytes)
{
    if (WIDTH == 8)
        return bytes;
    const uint32_t pairs = (bytes & 0x003f003fu) | (bytes >> 2 & 0x0fc00fc0u);
    return (pairs & 0xfffu) | (pairs >> 4 & 0xfff000u);
}

/* Four codes of 4 bits, one a byte. */
MX_BOTH uint32_t spread(uint32_t nibbles)
{
    const uint32_t pairs = (nibbles & 0xffu) | (nibbles & 0xff00u) << 8;
    return (pairs & 0x000f000fu) | (pairs & 0x00f000f0u) << 4;
}

template <class F, bool HAS> struct Converted { /* no such conversion: never called */
    template <class T, int WIDTH>
    static MX_BOTH uint32_t codes(const uint32_t *, int, uint32_t) { return 0; }
};

template <class F> struct Converted<F, true> {
#if defined(__CUDA_ARCH__) || defined(MX_CVT_TABLES)
    template <class T>
    static MX_BOTH uint32_t two(const uint32_t *words, int first, uint32_t factor)
    {
        return pair(F(), times(Lying<T>::number(words, first), factor),
                    times(Lying<T>::number(words, first + 1), factor));
    }
    template <class T, int WIDTH>
    static MX_BOTH uint32_t codes(const uint32_t *words, int first, uint32_t factor)
    {
        if (F::bits == 4) {
            uint32_t nibbles = 0;
            for (int j = 0; j < (WIDTH == 4 ? 8 : 4); j += 2)
                nibbles |= two<T>(words, first + j, factor) << 4 * j;
            return WIDTH == 4 ? nibbles : spread(nibbles);
        }
        return squeezed<WIDTH>(two<T>(words, first, factor)
                               | two<T>(words, first + 2, factor) << 16);
    }
#endif
};

/* The hardware's conversions where the architecture has them, and integers where not. They only
 * saturate. */
struct Hardware {
    template <class F, class T> static MX_BOTH int prepare(uint32_t *words, int n, uint8_t scale)
    {
        return MX_HAS_CVT(F) ? static_cast<int>(reciprocal(scale))
                             : Integers<true>::prepare<F, T>(words, n, scale);
    }
    template <class F, class T, int WIDTH>
    static MX_BOTH uint32_t codes(const uint32_t *words, int first, int prepared)
    {
        if (MX_HAS_CVT(F))
            return Converted<F, MX_HAS_CVT(F)>::template codes<T, WIDTH>(
                words, first, static_cast<uint32_t>(prepared));
        return Integers<true>::codes<F, T, WIDTH>(words, first, prepared);
    }
};

/* Bits of a code in memory, and numbers of a thread. */
template <class F, bool PACKED, int NUMBERS = PACKED && F::bits == 6 ? 32 : 16> struct Chunk {
    enum : int {
        width = PACKED ? F::bits : 8,
        numbers = NUMBERS,
        in_a_block = BLOCK / NUMBERS,
        bytes = numbers * width / 8,
        store = bytes % 16 == 0 ? 16 : bytes % 8 == 0 ? 8 : 4, /* bytes at once */
        groups = width == 4 ? numbers / 8 : numbers / 4
    };
};

/* The codes of a chunk as words; of a block that is NaN 00. */
template <class F, class T, class Encoder, class C>
MX_BOTH void encode_chunk(uint32_t *words, uint8_t scale, uint32_t *codes)
{
    const int prepared
        = Encoder::template prepare<F, T>(words, C::numbers / Lying<T>::in_a_word, scale);
    const uint32_t mask = scale == NAN_SCALE ? 0u : ~0u;
    uint32_t group[C::groups];
    for (int i = 0; i < C::groups; ++i)
        group[i] = Encoder::template codes<F, T, C::width>(words, i * C::numbers / C::groups,
                                                           prepared) & mask;
    for (int i = 0; i < C::bytes / 4; ++i) /* four times 24 bits are three words */
        codes[i] = C::width == 6 ? group[i / 3 * 4 + i % 3] >> 8 * (i % 3)
                                       | group[i / 3 * 4 + i % 3 + 1] << (24 - 8 * (i % 3))
                                 : group[i];
}

/* The numbers from `at` on of a line; zeros behind its end. */
template <class T>
MX_BOTH void load_numbers(const T *values, const Tensor &t, size_t line, size_t at, int n,
                          uint32_t *words)
{
    constexpr int each = Lying<T>::in_a_word;
    for (int j = 0; j < n; ++j) {
        const size_t i = at + static_cast<size_t>(j);
        const uint32_t x
            = i < t.length ? Lying<T>::bits(values[line * t.values.line + i * t.values.step]) : 0u;
        words[j / each] = j % each ? words[j / each] | x << 16 : x;
    }
}
MX_BOTH void store_bytes(const uint32_t *words, int n, uint8_t *to, size_t step)
{
    for (int i = 0; i < n; ++i)
        to[static_cast<size_t>(i) * step] = static_cast<uint8_t>(words[i / 4] >> i % 4 * 8);
}
template <int BYTES, int STORE> MX_BOTH void store_whole(const uint32_t *words, uint8_t *to)
{
    struct alignas(STORE) Part { uint32_t x[STORE / 4]; };
    for (int i = 0; i < BYTES / STORE; ++i) {
        Part part;
        for (int j = 0; j < STORE / 4; ++j)
            part.x[j] = words[i * (STORE / 4) + j];
        reinterpret_cast<Part *>(to)[i] = part;
    }
}

template <int BYTES, int LOAD> MX_BOTH void load_whole(const void *from, uint32_t *words)
{
    struct alignas(LOAD) Part { uint32_t x[LOAD / 4]; };
    for (int i = 0; i < BYTES / LOAD; ++i) {
        const Part part = static_cast<const Part *>(from)[i];
        for (int j = 0; j < LOAD / 4; ++j)
            words[i * (LOAD / 4) + j] = part.x[j];
    }
}

/* Code i of words that hold WIDTH bits of each. */
template <int WIDTH> MX_BOTH uint32_t code_at(const uint32_t *words, int i)
{
    const int word = i * WIDTH / 32, bit = i * WIDTH % 32;
    const uint32_t next = bit + WIDTH > 32 ? words[word + 1] << (32 - bit) : 0u;
    return (words[word] >> bit | next) & ((1u << WIDTH) - 1u);
}

/* The same, into words that are zero there. */
template <int WIDTH> MX_BOTH void put_code(uint32_t code, uint32_t *words, int i)
{
    const int word = i * WIDTH / 32, bit = i * WIDTH % 32;
    words[word] |= code << bit;
    if (bit + WIDTH > 32)
        words[word + 1] |= code >> (32 - bit);
}

/* decode<F>(code, scale), the scale as a float32 pattern. The bits of the magnitude, put where a
 * float32 has its own, are the number times 2^-(126 + emin), subnormal numbers included; both
 * products are exact, but for what is infinite. */
template <class F> MX_BOTH uint32_t decode_times(uint32_t code, uint32_t scale)
{
    constexpr uint32_t top = 1u << (F::bits - 1);
    const uint32_t low = code & (top - 1u), negative = code & top;
    const uint32_t magnitude = F::complement && negative ? top - low : low;
    const bool infinite = static_cast<int>(magnitude) == F::infinity;
    const bool nan = F::has_nan && magnitude > F::largest && !infinite;
    uint32_t x = times(magnitude << (23 - F::mantissa), static_cast<uint32_t>(253 + F::emin) << 23);
    if (infinite)
        x = INFINITE;
    const uint32_t product = times(x | negative << (32 - F::bits), scale);
    return nan || scale == QUIET_NAN ? QUIET_NAN : product; /* a product's NaN is of another kind */
}

/* Whether all chunks of a tensor can be loaded by 16 bytes; or stored. */
template <class T> MX_BOTH bool is_loaded_whole(const T *values, const Tensor &t)
{
    return t.length % BLOCK == 0 && t.values.step == 1
           && t.values.line % (16 / sizeof(T)) == 0
           && reinterpret_cast<uintptr_t>(values) % 16 == 0;
}
template <class C> MX_BOTH bool is_stored_whole(const uint8_t *codes, const Tensor &t)
{
    return t.codes.step == 1 && t.codes.line % C::store == 0
           && reinterpret_cast<uintptr_t>(codes) % C::store == 0;
}

/* One block, by one thread. */
template <class F, class T, class Encoder = Integers<true>, bool PACKED = false>
MX_BOTH void quantize_block(const T *values, const Tensor &t, Recipe recipe, size_t line,
                            size_t block, uint8_t *scales, uint8_t *codes)
{
    using C = Chunk<F, PACKED>;
    uint32_t words[BLOCK], out[BLOCK / 4];
    load_numbers(values, t, line, block * BLOCK, BLOCK, words);
    const uint8_t scale = shared_scale<F>(
        Lying<T>::widened(Lying<T>::amax(words, BLOCK / Lying<T>::in_a_word)), recipe.rule);
    scales[scale_place(t, recipe.tiles, line, block)] = scale;
    for (int i = 0; i < BLOCK / C::numbers; ++i) {
        encode_chunk<F, T, Encoder, C>(words + i * C::numbers / Lying<T>::in_a_word, scale, out);
        const size_t first = (block * C::in_a_block + static_cast<size_t>(i)) * C::bytes;
        store_bytes(out, C::bytes, codes + (line * t.codes.line + first * t.codes.step),
                    t.codes.step);
    }
}

#if defined(MX_KERNELS)

/* The scale of a chunk: of its maximum, and where a block is two threads', the neighbour's. */
template <class F, class T, class C>
MX_DEVICE uint8_t chunk_scale(const uint32_t *words, unsigned mask, Rule rule)
{
    uint32_t amax = Lying<T>::amax(words, C::numbers / Lying<T>::in_a_word);
    if (C::in_a_block > 1)
        amax = larger(amax, __shfl_xor_sync(mask, amax, 1));
    return shared_scale<F>(Lying<T>::widened(amax), rule);
}

/* The codes of a chunk to where they belong. */
template <class C>
MX_DEVICE void store_chunk_codes(const uint32_t *out, const Tensor &t, bool whole, size_t line,
                                 size_t chunk, uint8_t *codes)
{
    uint8_t *to = codes + line * t.codes.line + chunk * C::bytes * t.codes.step;
    if (whole)
        store_whole<C::bytes, C::store>(out, to);
    else
        store_bytes(out, C::bytes, to, t.codes.step);
}

/* The scale of a block, by the first of its threads. */
template <class C>
MX_DEVICE void store_scale(uint8_t scale, const Tensor &t, bool tiles, size_t line, size_t chunk,
                           uint8_t *scales)
{
    if (chunk % C::in_a_block == 0)
        scales[scale_place(t, tiles, line, chunk / C::in_a_block)] = scale;
}

/* A chunk's scale and codes. */
template <class F, class T, class Encoder, class C>
MX_DEVICE void store_chunk(uint32_t *words, uint8_t scale, const Tensor &t, bool tiles, bool whole,
                           size_t line, size_t chunk, uint8_t *scales, uint8_t *codes)
{
    store_scale<C>(scale, t, tiles, line, chunk, scales);
    uint32_t out[C::bytes / 4];
    encode_chunk<F, T, Encoder, C>(words, scale, out);
    store_chunk_codes<C>(out, t, whole, line, chunk, codes);
}

MX_DEVICE size_t first_line() { return blockIdx.y * size_t(blockDim.y) + threadIdx.y; }

/* Blocks along lines. Threads x have a chunk of a line each, at least as many as there are (a grid
 * of (chunks / threads rounded up, any number)); threads y go round over the lines. Threads x are
 * a power of two from 2 on. */
template <class F, class T, class Encoder = Hardware, bool PACKED = false>
__global__ void quantize_kernel(const T *values, Tensor t, Recipe recipe, uint8_t *scales,
                                uint8_t *codes)
{
    using C = Chunk<F, PACKED>;
    const size_t chunk = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (chunk >= blocks_of(t) * C::in_a_block)
        return;
    const unsigned lane = (threadIdx.y * blockDim.x + threadIdx.x) % 32;
    const unsigned mask = 3u << (lane & 30u); /* this thread and its neighbour */
    const bool loaded = is_loaded_whole(values, t), stored = is_stored_whole<C>(codes, t);
    const size_t step = size_t(gridDim.y) * blockDim.y;
    for (size_t line = first_line(); line < t.lines; line += step) {
        uint32_t words[C::numbers / Lying<T>::in_a_word];
        if (loaded)
            load_whole<C::numbers * sizeof(T), 16>(values + line * t.values.line + chunk * C::numbers,
                                                   words);
        else
            load_numbers(values, t, line, chunk * C::numbers, C::numbers, words);
        const uint8_t scale = chunk_scale<F, T, C>(words, mask, recipe.rule);
        store_chunk<F, T, Encoder, C>(words, scale, t, recipe.tiles, stored, line, chunk, scales,
                                      codes);
    }
}

/* The random bits of number `index`: the upper ones of word index % 4 of counter index / 4. */
MX_BOTH uint32_t random_bits(uint64_t seed, uint64_t index, int width)
{
    return philox(seed, index / 4).x[index % 4] >> (32 - width);
}

/* quantize_kernel, rounded by chance: number i of line l has random_bits(seed, l * (length of a
 * line, filled up) + i, width). */
template <class F, class T, bool PACKED = false>
__global__ void quantize_stochastic_kernel(const T *values, Tensor t, Recipe recipe, uint64_t seed,
                                           int width, uint8_t *scales, uint8_t *codes)
{
    using C = Chunk<F, PACKED>;
    const size_t chunk = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (chunk >= blocks_of(t) * C::in_a_block)
        return;
    const unsigned lane = (threadIdx.y * blockDim.x + threadIdx.x) % 32;
    const unsigned mask = 3u << (lane & 30u);
    const size_t step = size_t(gridDim.y) * blockDim.y;
    for (size_t line = first_line(); line < t.lines; line += step) {
        uint32_t words[C::numbers / Lying<T>::in_a_word], out[C::bytes / 4] = {};
        load_numbers(values, t, line, chunk * C::numbers, C::numbers, words);
        const uint8_t scale = chunk_scale<F, T, C>(words, mask, recipe.rule);
        const uint64_t first = line * (blocks_of(t) * BLOCK) + chunk * C::numbers;
        for (int j = 0; j < C::numbers; j += 4) { /* first is a multiple of 16 */
            const Words4 random = philox(seed, (first + static_cast<uint64_t>(j)) / 4);
            for (int i = j; i < j + 4; ++i) {
                const uint32_t x = Lying<T>::number(words, i), r = random.x[i - j] >> (32 - width);
                const uint32_t code
                    = scale == NAN_SCALE ? 0u : encode_stochastic<F>(x, r, width, scale);
                put_code<C::width>(code & ((1u << C::width) - 1u), out, i);
            }
        }
        store_scale<C>(scale, t, recipe.tiles, line, chunk, scales);
        store_chunk_codes<C>(out, t, is_stored_whole<C>(codes, t), line, chunk, codes);
    }
}

/* Sixteen numbers of a column as they would lie in a line, from a tile whose rows are `pitch` words
 * apart. Two halves of a word are of two columns: of two rows one half each is taken. */
MX_DEVICE void load_column(const uint32_t *tile, int pitch, unsigned column, uint32_t *words,
                           uint32_t)
{
    for (int i = 0; i < 16; ++i)
        words[i] = tile[i * pitch + static_cast<int>(column)];
}
template <class T>
MX_DEVICE void load_column(const uint32_t *tile, int pitch, unsigned column, uint32_t *words, T)
{
    for (int i = 0; i < 16; i += 2) {
        const uint32_t upper = tile[i * pitch + static_cast<int>(column / 2)];
        const uint32_t lower = tile[(i + 1) * pitch + static_cast<int>(column / 2)];
#if defined(__CUDA_ARCH__)
        words[i / 2] = __byte_perm(upper, lower, column % 2 ? 0x7632 : 0x5410);
#else
        words[i / 2] = column % 2 ? upper >> 16 | (lower & 0xffff0000u)
                                  : (upper & 0xffffu) | lower << 16;
#endif
    }
}

/* Blocks along the rows of a matrix and along its columns, from one read: `across` has a line for
 * each row, `down` for each column, whose codes lie transposed where down.codes.step is 1;
 * down.values is not used. What has no scales is left out. Blocks of 128 threads have a tile of 32
 * rows and 64 columns; a grid of (columns / 64 rounded up, any number). The rows of the tile are
 * an odd number of words apart: 16 columns of both its halves lie in 32 banks. */
template <class F, class T, class Encoder = Hardware, bool PACKED = false>
__global__ void quantize_both_kernel(const T *values, Tensor across, Tensor down, Recipe recipe,
                                     uint8_t *scales, uint8_t *codes, uint8_t *down_scales,
                                     uint8_t *down_codes)
{
    using C = Chunk<F, PACKED, 16>;
    constexpr int count = C::numbers / Lying<T>::in_a_word, pitch = 4 * count + 1;
    __shared__ uint32_t tile[BLOCK * pitch];
    const unsigned thread = threadIdx.x, row = thread / 4, column = thread / 2, half = thread % 2;
    const size_t chunk = blockIdx.x * size_t(4) + thread % 4;
    const size_t line = blockIdx.x * size_t(64) + column;
    const bool loaded = is_loaded_whole(values, across), stored = is_stored_whole<C>(codes, across);
    const bool down_stored = is_stored_whole<C>(down_codes, down);
    for (size_t block = blockIdx.y; block < blocks_of(down); block += gridDim.y) {
        const size_t at = block * BLOCK + row;
        const bool inside = at < across.lines && chunk < blocks_of(across) * C::in_a_block;
        uint32_t words[count] = {};
        if (inside && loaded)
            load_whole<C::numbers * sizeof(T), 16>(
                values + at * across.values.line + chunk * C::numbers, words);
        else if (inside)
            load_numbers(values, across, at, chunk * C::numbers, C::numbers, words);
        for (int i = 0; i < count; ++i)
            tile[static_cast<int>(row) * pitch + static_cast<int>(thread % 4) * count + i]
                = words[i];
        if (scales) {
            const uint8_t scale = chunk_scale<F, T, C>(words, ~0u, recipe.rule);
            if (inside)
                store_chunk<F, T, Encoder, C>(words, scale, across, recipe.tiles, stored, at,
                                              chunk, scales, codes);
        }
        __syncthreads();
        if (down_scales) {
            load_column(tile + 16 * half * pitch, pitch, column, words, T());
            const uint8_t scale = chunk_scale<F, T, C>(words, ~0u, recipe.rule);
            if (line < down.lines)
                store_chunk<F, T, Encoder, C>(words, scale, down, recipe.tiles, down_stored, line,
                                              block * C::in_a_block + half, down_scales,
                                              down_codes);
        }
        __syncthreads(); /* before the next tile overwrites this one */
    }
}

/* Each of the following is right with any number of blocks and threads. */
#define MX_FOR(i, count)                                                                           \
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < (count);                    \
         i += size_t(gridDim.x) * blockDim.x)

/* Blocks of 32 codes, one a byte or packed, by chunks. */
template <class F, class T, bool PACKED = false>
__global__ void dequantize_kernel(const uint8_t *scales, const uint8_t *codes, T *values, size_t n)
{
    using C = Chunk<F, PACKED>;
    const uintptr_t first = reinterpret_cast<uintptr_t>(codes);
    const uintptr_t out_at = reinterpret_cast<uintptr_t>(values);
    const bool whole = first % C::store == 0 && out_at % 16 == 0;
    MX_FOR(i, n / C::numbers)
    {
        uint32_t words[C::bytes / 4] = {}, out[C::numbers / Lying<T>::in_a_word];
        const uint8_t *from = codes + i * C::bytes;
        uint8_t *to = reinterpret_cast<uint8_t *>(values + i * C::numbers);
        if (whole)
            load_whole<C::bytes, C::store>(from, words);
        else
            for (int j = 0; j < C::bytes; ++j)
                words[j / 4] |= static_cast<uint32_t>(from[j]) << j % 4 * 8;
        const uint32_t scale = decode_scale(scales[i / C::in_a_block]);
        for (int j = 0; j < C::numbers; j += Lying<T>::in_a_word)
            out[j / Lying<T>::in_a_word]
                = Lying<T>::joined(decode_times<F>(code_at<C::width>(words, j), scale),
                                   decode_times<F>(code_at<C::width>(words, (j + 1) % C::numbers),
                                                   scale));
        if (whole)
            store_whole<sizeof out, 16>(out, to);
        else
            for (int j = 0; j < C::numbers; ++j)
                values[i * C::numbers + static_cast<size_t>(j)]
                    = static_cast<T>(out[j / Lying<T>::in_a_word]
                                     >> j % Lying<T>::in_a_word * 16);
    }
}

/* One thread an element, a byte or a scale. */
/* A function of every element: Encode below, and its like. */
template <class Function, class In, class Out>
__global__ void map_kernel(Function function, const In *in, Out *out, size_t n)
{
    MX_FOR(i, n) out[i] = function(in[i]);
}

template <int BITS>
__global__ void pack_kernel(const uint8_t *codes, size_t count, uint8_t *packed, size_t size)
{
    MX_FOR(i, size) packed[i] = packed_byte<BITS>(codes, count, i);
}

template <int BITS>
__global__ void unpack_kernel(const uint8_t *packed, uint8_t *codes, size_t count)
{
    MX_FOR(i, count) codes[i] = unpacked_code<BITS>(packed, i);
}

template <class Byte>
__global__ void tile_kernel(const Byte *scales, size_t rows, size_t columns, Byte *tiles)
{
    MX_FOR(i, tiled_size(rows, columns)) tiles[i] = tiled_byte(scales, rows, columns, i);
}

template <class Byte>
__global__ void untile_kernel(const Byte *tiles, size_t rows, size_t columns, Byte *scales)
{
    MX_FOR(i, rows * columns)
    scales[i] = tiles[tiled_offset(i / columns, i % columns, columns)];
}

#endif

} // namespace mx

#endif

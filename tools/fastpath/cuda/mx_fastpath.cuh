/* The OCP Microscaling formats in CUDA C++: their functions, by integers. mx_kernels.cuh has the
 * kernels. Headers to be copied; C++14; g++ takes them as well.
 *
 * Everything is integer arithmetic on the patterns of the numbers: the result depends neither on
 * -use_fast_math nor on how a processor treats subnormal numbers. Numbers are handed over as their
 * patterns, reinterpret_cast<const uint32_t *>(float pointer), or uint16_t of bfloat16.
 *
 * The policy is `ocp` of mxref: rounded once, ties to even; too large is the largest number (or,
 * SATURATE = false, infinity in E5M2 and NaN in E4M3); NaN is 7f in FP8 and the largest number
 * elsewhere; a block with NaN or infinity has scale ff and codes 00; a block of zeros scale 00.
 */
#ifndef MX_FASTPATH_CUH
#define MX_FASTPATH_CUH

#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__)
#define MX_BOTH __host__ __device__ __forceinline__
#define MX_DEVICE __device__ __forceinline__
#define MX_UNROLL _Pragma("unroll") /* what such a loop indexes stays in registers */
#define MX_KERNELS
#else
#define MX_BOTH inline
#define MX_DEVICE inline
#define MX_UNROLL
#endif

namespace mx {

/* Element formats. `emin` and `emax` are the exponents of the smallest and the largest normal
 * number, `largest` the code of the largest one, `nan` what NaN becomes, `infinity` the code of
 * infinity (-1: none). */
struct E5M2 { enum : int { bits = 8, mantissa = 2, emin = -14, emax = 15, largest = 0x7b, nan = 0x7f,
                           infinity = 0x7c, has_nan = 1, complement = 0 }; };
struct E4M3 { enum : int { bits = 8, mantissa = 3, emin = -6, emax = 8, largest = 0x7e, nan = 0x7f,
                           infinity = -1, has_nan = 1, complement = 0 }; };
struct E3M2 { enum : int { bits = 6, mantissa = 2, emin = -2, emax = 4, largest = 0x1f, nan = 0x1f,
                           infinity = -1, has_nan = 0, complement = 0 }; };
struct E2M3 { enum : int { bits = 6, mantissa = 3, emin = 0, emax = 2, largest = 0x1f, nan = 0x1f,
                           infinity = -1, has_nan = 0, complement = 0 }; };
struct E2M1 { enum : int { bits = 4, mantissa = 1, emin = 0, emax = 2, largest = 0x07, nan = 0x07,
                           infinity = -1, has_nan = 0, complement = 0 }; };
/* NVFP4: blocks of 16 E2M1, each with a UE4M3 scale, in a tensor with a float32 scale. */
struct NVFP4 : E2M1 {};
/* n/64: a float with six bits of mantissa and two exponents, but for its sign. */
struct Int8 { enum : int { bits = 8, mantissa = 6, emin = 0, emax = 0, largest = 0x7f, nan = 0x7f,
                           infinity = -1, has_nan = 0, complement = 1 }; };

/* Rules of the shared scale 2^k: the smallest k with amax / 2^k below 2^(emax+1); at most 2^emax;
 * at most the largest number; below what rounds to 2^(emax+1); and the smallest 2^k that is not less
 * than amax times the reciprocal of the largest number, both rounded to float32. */
enum class Rule { floor, ceil, rceil, even, rceil_reciprocal };
enum class ScaleRounding { toward_zero, toward_positive, ties_to_away };

constexpr uint32_t INFINITE = 0x7f800000u, QUIET_NAN = 0x7fc00000u;
constexpr uint8_t NAN_SCALE = 0xff;
constexpr int SCALE_BIAS = 127, BLOCK = 32;

/* The numbers of a block, and the scale code of NaN. */
template <class F> struct Blocks { enum : int { size = BLOCK, nan = NAN_SCALE }; };
template <> struct Blocks<NVFP4> { enum : int { size = 16, nan = 0x7f }; };

/* A float16 pattern; a uint16_t is one of bfloat16. */
struct Half {
    uint16_t bits;
    Half() = default;
    MX_BOTH explicit Half(uint32_t pattern) : bits(static_cast<uint16_t>(pattern)) {}
    MX_BOTH explicit operator uint32_t() const { return bits; }
};

MX_BOTH uint32_t float32_bits(uint32_t bits) { return bits; }
MX_BOTH uint32_t float32_bits(uint16_t bits) { return static_cast<uint32_t>(bits) << 16; }

/* A float32 pattern as itself or, rounded once with ties to even, as bfloat16. */
MX_BOTH void store(uint32_t bits, uint32_t &out) { out = bits; }
MX_BOTH void store(uint32_t bits, uint16_t &out)
{
    out = static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/* |x| as significand * 2^(exponent - 23), the significand at least 2^23; zero has significand 0. */
struct Number { uint32_t significand; int exponent; };

MX_BOTH int leading_zeros(uint32_t x) /* x > 0 */
{
#if defined(__CUDA_ARCH__)
    return __clz(static_cast<int>(x));
#else
    return __builtin_clz(x);
#endif
}

MX_BOTH Number number(uint32_t magnitude)
{
    const int field = static_cast<int>(magnitude >> 23);
    const uint32_t significand = (magnitude & 0x7fffffu) | (field ? 0x800000u : 0u);
    const int shift = leading_zeros(significand | 1u) - 8;
    return Number{significand << shift, (field ? field : 1) - 127 - shift};
}

/* Exact. A subnormal float16 is f * 2^-24: a normal float32. */
MX_BOTH uint32_t float32_bits(Half half)
{
#if defined(__CUDA_ARCH__)
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(half.bits));
    return __float_as_uint(x);
#else
    const uint32_t sign = (half.bits & 0x8000u) << 16, magnitude = half.bits & 0x7fffu;
    if (magnitude >= 0x7c00u)
        return sign | INFINITE | (magnitude & 0x3ffu) << 13;
    if (magnitude >= 0x400u)
        return sign | (magnitude + (112u << 10)) << 13;
    if (magnitude == 0)
        return sign;
    const Number n = number(magnitude);
    return sign | (static_cast<uint32_t>(n.exponent + 149 - 24 + 127) << 23)
           | (n.significand & 0x7fffffu);
#endif
}

/* A magnitude's code, that may be too large, as x's. */
template <class F, bool SATURATE> MX_BOTH uint32_t finished(uint32_t x, uint32_t code)
{
    if (code > F::largest) {
        if (!SATURATE && F::has_nan && F::infinity < 0)
            return F::nan; /* E4M3, without a sign like every NaN here */
        code = !SATURATE && F::infinity > 0 ? F::infinity : F::largest;
    }
    if (x >> 31 != 0)
        code = F::complement ? 0u - code : code | 1u << (F::bits - 1);
    return code & ((1u << F::bits) - 1u);
}

/* The code of x / 2^(scale_code - 127), x a float32 pattern. */
template <class F, bool SATURATE = true>
MX_BOTH uint32_t encode(uint32_t x, int scale_code = SCALE_BIAS)
{
    const uint32_t magnitude = x & 0x7fffffffu;
    if (magnitude > INFINITE)
        return F::nan;
    const Number n = number(magnitude);
    const int above = n.exponent - (scale_code - SCALE_BIAS) - F::emin; /* the smallest normal */
    int drop = 23 - F::mantissa - (above < 0 ? above : 0);
    drop = drop < 25 ? drop : 25; /* all of it, and less than half of the last place */
    const uint32_t odd = n.significand >> drop & 1u;
    const uint32_t code = (n.significand + (1u << (drop - 1)) - 1u + odd) >> drop;
    return finished<F, SATURATE>( /* carries go on */
        x, code + (static_cast<uint32_t>(above > 0 ? above : 0) << F::mantissa));
}

/* A float32 pattern as float16, rounded once with ties to even; too large is infinity. */
struct Binary16 { enum : int { bits = 16, mantissa = 10, emin = -14, emax = 15, largest = 0x7bff,
                               nan = 0x7fff, infinity = 0x7c00, has_nan = 1, complement = 0 }; };
MX_BOTH void store(uint32_t bits, Half &out)
{
#if defined(__CUDA_ARCH__)
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(out.bits) : "f"(__uint_as_float(bits)));
#else
    out = Half(encode<Binary16, false>(bits));
#endif
}

/* The same rounded by chance, `stochastic_a` of mxref: the first `width` bits (1 to 32) of what is
 * dropped and as many random bits are added, and carry. Significand and width fill 56 bits. */
template <class F, bool SATURATE = true>
MX_BOTH uint32_t encode_stochastic(uint32_t x, uint32_t random, int width,
                                   int scale_code = SCALE_BIAS)
{
    const uint32_t magnitude = x & 0x7fffffffu;
    if (magnitude > INFINITE)
        return F::nan;
    const Number n = number(magnitude);
    const int above = n.exponent - (scale_code - SCALE_BIAS) - F::emin;
    const int gone = 23 - F::mantissa - (above < 0 ? above : 0);
    const uint64_t wide = static_cast<uint64_t>(n.significand) << width;
    const uint64_t kept = wide >> (gone < 63 ? gone : 63);
    const uint32_t rounded = static_cast<uint32_t>((kept + random) >> width);
    return finished<F, SATURATE>(
        x, rounded + (static_cast<uint32_t>(above > 0 ? above : 0) << F::mantissa));
}

/* Random words: Philox 4x32 with ten rounds (Salmon and others, 2011), of a key and a counter. */
struct Words4 { uint32_t x[4]; };
MX_BOTH Words4 philox(uint64_t key, uint64_t low, uint64_t high = 0)
{
    Words4 c = {{static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32),
                 static_cast<uint32_t>(high), static_cast<uint32_t>(high >> 32)}};
    uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
        const uint64_t a = uint64_t(0xd2511f53u) * c.x[0], b = uint64_t(0xcd9e8d57u) * c.x[2];
        c = Words4{{static_cast<uint32_t>(b >> 32) ^ c.x[1] ^ k0, static_cast<uint32_t>(b),
                    static_cast<uint32_t>(a >> 32) ^ c.x[3] ^ k1, static_cast<uint32_t>(a)}};
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    return c;
}

/* The largest significands, from 2^23 to 2^24 - 1, that a scale is large enough for; and those that
 * the scale 00 is large enough for. */
struct Lasts { uint32_t of_all, of_zero; };

/* The E8M0 code of the smallest 2^k with magnitude / 2^k <= last * 2^(emax - 23): the exponent, and
 * one more where the significand is larger than `last`, which is where 2^24 - 1 - last added to it
 * carries. The scale 00, 2^-127, is large enough up to significand `last` of exponent field emax;
 * where emax is 0 that is a subnormal number f * 2^-149, with 2f as significand. (What is larger and
 * still subnormal carries into field 1: its code is 1.) Only where emax is 0 is a code too large. */
MX_BOTH uint8_t scale_code(uint32_t magnitude, int emax, Lasts last)
{
    if (magnitude >= INFINITE)
        return NAN_SCALE;
    const uint32_t zero = emax ? (static_cast<uint32_t>(emax - 1) << 23) + last.of_zero
                               : last.of_zero >> 1;
    const uint32_t exponent = (magnitude + (0xffffffu - last.of_all)) >> 23;
    const int code = static_cast<int>(exponent) - emax;
    return static_cast<uint8_t>(magnitude <= zero ? 0 : emax == 0 && code > 0xfe ? 0xfe : code);
}

/* rceil_reciprocal. The largest number is L * 2^(emax - mantissa), L no power of two, so a float32
 * r * 2^(-emax - 24) is next to its reciprocal, 2^23 < r < 2^24. The product with a significand s is
 * s * r * 2^-46 binades, above 1: rounded to float32 it is at most 2 unless it is above 2 + 2^-23, a
 * half of the last place there (and a tie goes to 2). Beside the scale 00, 2^-127, the product is
 * subnormal, and the last place twice that: at most 2 unless it is above 2 + 2^-22. */
template <class F> MX_BOTH constexpr Lasts reciprocal_lasts()
{
    constexpr uint32_t hidden = 1u << F::mantissa, L = (F::largest & (hidden - 1u)) | hidden;
    constexpr uint64_t two = uint64_t(1) << 47, r = ((two >> (23 - F::mantissa)) + L / 2) / L;
    return {static_cast<uint32_t>((two + (1u << 23)) / r),
            static_cast<uint32_t>((two + (1u << 24)) / r)};
}

template <class F>
MX_BOTH uint8_t shared_scale(uint32_t amax, Rule rule)
{
    constexpr uint32_t hidden = 1u << F::mantissa, L = (F::largest & (hidden - 1u)) | hidden;
    constexpr Lasts product = reciprocal_lasts<F>();
    const uint32_t last = rule == Rule::floor   ? 0xffffffu
                          : rule == Rule::ceil  ? 0x800000u
                          : rule == Rule::rceil ? L << (23 - F::mantissa)
                                                : 0xffffffu - (1u << (22 - F::mantissa));
    return scale_code(amax, F::emax, rule == Rule::rceil_reciprocal ? product : Lasts{last, last});
}

MX_BOTH uint8_t encode_scale(uint32_t x, ScaleRounding rounding = ScaleRounding::toward_zero)
{
    const uint32_t last = rounding == ScaleRounding::toward_zero       ? 0xffffffu
                          : rounding == ScaleRounding::toward_positive ? 0x800000u
                                                                       : 0xbfffffu;
    return scale_code(x & 0x7fffffffu, 0, {last, last});
}

/* float32 patterns. */
MX_BOTH uint32_t decode_scale(uint8_t code)
{
    return code == NAN_SCALE ? QUIET_NAN : code ? static_cast<uint32_t>(code) << 23 : 0x00400000u;
}

/* The number of a code times its scale: exact, but for what is infinite. */
template <class F>
MX_BOTH uint32_t decode(uint8_t code, int scale_code = SCALE_BIAS)
{
    const uint32_t top = 1u << (F::bits - 1);
    const bool negative = (code & top) != 0;
    const uint32_t low = code & (top - 1u), sign = negative ? 0x80000000u : 0u;
    const uint32_t magnitude = F::complement && negative ? top - low : low;
    if (scale_code == NAN_SCALE)
        return QUIET_NAN;
    if (F::has_nan && magnitude > F::largest)
        return static_cast<int>(magnitude) == F::infinity ? sign | INFINITE : QUIET_NAN;
    const uint32_t field = magnitude >> F::mantissa, hidden = 1u << F::mantissa;
    const uint32_t significand = (magnitude & (hidden - 1u)) | (field ? hidden : 0u);
    if (significand == 0)
        return sign;
    const int unit = static_cast<int>(field ? field : 1) - 1 + F::emin - F::mantissa
                     + scale_code - SCALE_BIAS; /* the number is significand * 2^unit */
    const int width = 31 - leading_zeros(significand), exponent = unit + width;
    if (exponent > 127)
        return sign | INFINITE;
    if (exponent < -126)
        return sign | significand << (unit + 149); /* at least -16 - 127, in E5M2 */
    return sign | static_cast<uint32_t>(exponent + 127) << 23
           | (significand << (23 - width) & 0x7fffffu);
}

/* Byte i of codes of BITS bits, one a byte, packed with the first code in the lowest bits: FP4
 * low nibble first, FP6 four codes in three bytes. What is missing in the last byte(s) is 0. */
template <int BITS>
MX_BOTH uint8_t packed_byte(const uint8_t *codes, size_t count, size_t i)
{
    const size_t first = i * 8 / BITS;
    const int offset = static_cast<int>(i * 8 % BITS);
    const uint32_t mask = (1u << BITS) - 1u;
    const uint32_t low = first < count ? codes[first] & mask : 0u;
    const uint32_t high = first + 1 < count ? codes[first + 1] & mask : 0u;
    return static_cast<uint8_t>(low >> offset | high << (BITS - offset));
}

template <int BITS>
MX_BOTH uint8_t unpacked_code(const uint8_t *packed, size_t i)
{
    const size_t byte = i * BITS / 8;
    const int offset = static_cast<int>(i * BITS % 8);
    const uint32_t high = offset + BITS > 8 ? packed[byte + 1] : 0u;
    return static_cast<uint8_t>((packed[byte] | high << 8) >> offset & ((1u << BITS) - 1u));
}

MX_BOTH size_t packed_size(int bits, size_t count)
{
    return bits == 4 ? (count + 1) / 2 : bits == 6 ? (count + 3) / 4 * 3 : count;
}

/* Scales in tiles of 128 rows and 4 columns, 512 bytes each, as cuBLAS and tcgen05 read them. */
MX_BOTH size_t tiled_size(size_t rows, size_t columns)
{
    return (rows + 127) / 128 * ((columns + 3) / 4) * 512;
}

MX_BOTH size_t tiled_offset(size_t row, size_t column, size_t columns)
{
    const size_t tile = row / 128 * ((columns + 3) / 4) + column / 4;
    return tile * 512 + row % 32 * 16 + row % 128 / 32 * 4 + column % 4;
}

/* Byte i of the tiles; rows and columns that the matrix does not have are 00. */
MX_BOTH uint8_t tiled_byte(const uint8_t *scales, size_t rows, size_t columns, size_t i)
{
    const size_t across = (columns + 3) / 4, tile = i / 512;
    const size_t row = tile / across * 128 + i % 16 / 4 * 32 + i % 512 / 16;
    const size_t column = tile % across * 4 + i % 4;
    return row < rows && column < columns ? scales[row * columns + column] : uint8_t(0);
}

/* Where things lie: thing i of line l is at l * line + i * step. */
struct Axis { size_t line, step; };

/* A tensor of lines that are cut into blocks; the last block of a line is filled up with zeros, so
 * that the codes have a multiple of 32 (NVFP4: 16) to a line. Rows of a C-contiguous matrix: lines
 * = rows, length = columns, values {columns, 1}, codes {columns filled up, 1}, scales {blocks, 1}.
 * The items of packed codes are bytes. */
struct Tensor { size_t lines, length; Axis values, codes, scales; };

MX_BOTH size_t place(const Axis &axis, size_t line, size_t i)
{
    return line * axis.line + i * axis.step;
}

MX_BOTH size_t blocks_of(const Tensor &t, size_t size = BLOCK) /* a line */
{
    return (t.length + size - 1) / size;
}

/* How scales are chosen, and where they lie: at t.scales, or in tiles of 128 rows and 4 columns, a
 * row for each line. Bytes of the tiles beyond the lines and blocks are not written. NVFP4 has no
 * rule, but the tensor's scale: the pattern of a positive finite float32. */
struct Recipe { Rule rule; bool tiles; uint32_t tensor = 0x3f800000u; };

template <class F>
MX_BOTH size_t scale_place(const Tensor &t, const Recipe &recipe, size_t line, size_t block)
{
    return recipe.tiles ? tiled_offset(line, block, blocks_of(t, Blocks<F>::size))
                        : place(t.scales, line, block);
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

/* Numbers as they lie in memory: one or two in a word, the first one lowest; the digits of their
 * significands. */
template <class T> struct Lying;

template <> struct Lying<uint32_t> {
    enum : int { in_a_word = 1, digits = 24 };
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
    static MX_BOTH uint32_t joined(uint32_t low, uint32_t high) /* of float32, rounded */
    {
        T halves[2];
        store(low, halves[0]);
        store(high, halves[1]);
        return static_cast<uint32_t>(halves[0]) | static_cast<uint32_t>(halves[1]) << 16;
    }
};
template <> struct Lying<uint16_t> : LyingHalves<uint16_t> {
    enum : int { digits = 8 };
    static MX_BOTH uint32_t bits(uint16_t x) { return x; }
    static MX_BOTH uint32_t number(const uint32_t *words, int i)
    {
        return i % 2 ? words[i / 2] & 0xffff0000u : words[i / 2] << 16;
    }
};
template <> struct Lying<Half> : LyingHalves<Half> {
    enum : int { digits = 11 };
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
        return F::infinity < 0 ? beyond : beyond | (x >> 24 & 0x80u);
    if (F::complement)
        return (x & 0x80000000u ? 0u - code : code) & 0xffu;
    return code | (x >> (32 - F::bits) & 1u << (F::bits - 1));
}

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

template <class F, class T>
MX_BOTH int prepared(F, T, uint32_t *words, int n, uint8_t scale, uint32_t)
{
    if (scale >= least_plain<F>())
        return scale;
    lift(words, n, T());
    return scale + LIFT;
}

/* NVFP4 by integers: the least magnitudes, as float32 patterns, of the codes 1 to 7, which lie
 * beside 1, 3, 5, 7, 10, 14 and 20 quarters of the block's scale times the tensor's. Patterns are in
 * the order of their numbers, so a code is how many of the seven a magnitude reaches. */
struct Thresholds { uint32_t least[7]; };

/* A block of NVFP4 whose scale is 0 is encoded beside this one, by which its numbers are 0, too: a
 * warp does not part where some of its blocks are zeros. */
constexpr uint32_t LARGEST_SCALE = 0x7e;

/* The least pattern of a number that is `above` significand * 2^exponent, or else at least that;
 * the significand is from 1 to 2^32 - 1. */
MX_BOTH uint32_t least_pattern(uint32_t significand, int exponent, bool above)
{
    const int up = leading_zeros(significand), field = exponent - up + 31 + 127;
    significand <<= up;
    const int normal = field < 1 ? 1 : field, lost = 8 + normal - field;
    const uint32_t whole = lost < 32 ? significand >> lost : 0u;
    const bool exact = lost < 32 && whole << lost == significand;
    const uint32_t pattern
        = (static_cast<uint32_t>(normal - 1) << 23) + whole + (above || !exact ? 1u : 0u);
    return field > 254 ? INFINITE : pattern;
}

template <class T>
MX_BOTH Thresholds prepared(NVFP4, T, uint32_t *, int, uint8_t scale, uint32_t tensor)
{
    constexpr uint32_t odd[] = {1, 3, 5, 7, 5, 7, 5};
    constexpr int up[] = {0, 0, 0, 0, 1, 1, 2};
    const Number t = number(tensor);
    const uint32_t code = scale == 0 ? LARGEST_SCALE : scale, field = code >> 3;
    const uint32_t product = ((code & 7u) | (field ? 8u : 0u)) * t.significand; /* 28 bits */
    const int exponent = static_cast<int>(field ? field : 1u) - 10 + t.exponent - 23 - 2;
    Thresholds all;
    for (int i = 0; i < 7; ++i) /* a tie goes to the even code */
        all.least[i] = least_pattern(odd[i] * product, exponent + up[i], i % 2 == 0);
    return all;
}

template <class F, bool SATURATE> MX_BOTH uint32_t encode_plain(uint32_t x, const Thresholds &all)
{
    uint32_t code = 0;
    for (int i = 0; i < 7; ++i)
        code += (x & 0x7fffffffu) >= all.least[i] ? 1u : 0u;
    return code | (x >> 28 & 8u);
}

/* Element encoders. `codes<F, WIDTH>(words, first, scale)` are the codes of the numbers from the
 * first on, each in WIDTH bits: four of 8 or of 6 bits, eight of 4. */
template <bool SATURATE> struct Integers {
    template <class F, class T>
    static MX_BOTH auto prepare(uint32_t *words, int n, uint8_t scale, uint32_t tensor)
    {
        return prepared(F(), T(), words, n, scale, tensor);
    }
    template <class F, class T, int WIDTH, class Scale>
    static MX_BOTH uint32_t codes(const uint32_t *words, int first, const Scale &scale)
    {
        uint32_t all = 0;
        for (int j = 0; j < (WIDTH == 4 ? 8 : 4); ++j)
            all += encode_plain<F, SATURATE>(Lying<T>::number(words, first + j), scale)
                   << WIDTH * j;
        return all;
    }
};


} // namespace mx

#endif

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
#define MX_KERNELS
#else
#define MX_BOTH inline
#define MX_DEVICE inline
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
/* n/64: a float with six bits of mantissa and two exponents, but for its sign. */
struct Int8 { enum : int { bits = 8, mantissa = 6, emin = 0, emax = 0, largest = 0x7f, nan = 0x7f,
                           infinity = -1, has_nan = 0, complement = 1 }; };

/* Rules of the shared scale 2^k: the smallest k with amax / 2^k below 2^(emax+1); at most 2^emax;
 * at most the largest number; below what rounds to 2^(emax+1). */
enum class Rule { floor, ceil, rceil, even };
enum class ScaleRounding { toward_zero, toward_positive, ties_to_away };

constexpr uint32_t INFINITE = 0x7f800000u, QUIET_NAN = 0x7fc00000u;
constexpr uint8_t NAN_SCALE = 0xff;
constexpr int SCALE_BIAS = 127, BLOCK = 32;

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
template <class F, bool SATURATE> MX_BOTH uint8_t finished(uint32_t x, uint32_t code)
{
    if (code > F::largest) {
        if (!SATURATE && F::has_nan && F::infinity < 0)
            return F::nan; /* E4M3, without a sign like every NaN here */
        code = !SATURATE && F::infinity > 0 ? F::infinity : F::largest;
    }
    if (x >> 31)
        code = F::complement ? 0u - code : code | 1u << (F::bits - 1);
    return static_cast<uint8_t>(code);
}

/* The code of x / 2^(scale_code - 127), x a float32 pattern. */
template <class F, bool SATURATE = true>
MX_BOTH uint8_t encode(uint32_t x, int scale_code = SCALE_BIAS)
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

/* The same rounded by chance, `stochastic_a` of mxref: the first `width` bits (1 to 32) of what is
 * dropped and as many random bits are added, and carry. Significand and width fill 56 bits. */
template <class F, bool SATURATE = true>
MX_BOTH uint8_t encode_stochastic(uint32_t x, uint32_t random, int width,
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

/* The E8M0 code of the smallest 2^k with magnitude / 2^k <= last * 2^(emax - 23), `last` from 2^23
 * to 2^24 - 1: the exponent, and one more where the significand is larger than `last`, which is
 * where 2^24 - 1 - last added to it carries. A subnormal number f * 2^-149 has an exponent of at
 * most -127, so its code is 0, unless emax is 0: then it is 1 where 2f > last. */
MX_BOTH uint8_t scale_code(uint32_t magnitude, int emax, uint32_t last)
{
    if (magnitude >= INFINITE)
        return NAN_SCALE;
    const uint32_t exponent = (magnitude + (0xffffffu - last)) >> 23;
    int code = static_cast<int>(exponent) - emax;
    if (emax == 0 && magnitude < 0x800000u)
        code = 2 * magnitude > last ? 1 : 0;
    return static_cast<uint8_t>(code < 0 ? 0 : code > 0xfe ? 0xfe : code);
}

template <class F>
MX_BOTH uint8_t shared_scale(uint32_t amax, Rule rule)
{
    const uint32_t hidden = 1u << F::mantissa, largest = (F::largest & (hidden - 1u)) | hidden;
    const uint32_t last = rule == Rule::floor   ? 0xffffffu
                          : rule == Rule::ceil  ? 0x800000u
                          : rule == Rule::rceil ? largest << (23 - F::mantissa)
                                                : 0xffffffu - (1u << (22 - F::mantissa));
    return scale_code(amax, F::emax, last);
}

MX_BOTH uint8_t encode_scale(uint32_t x, ScaleRounding rounding = ScaleRounding::toward_zero)
{
    const uint32_t last = rounding == ScaleRounding::toward_zero       ? 0xffffffu
                          : rounding == ScaleRounding::toward_positive ? 0x800000u
                                                                       : 0xbfffffu;
    return scale_code(x & 0x7fffffffu, 0, last);
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

/* For map_kernel. */
template <class F, bool SATURATE = true> struct Encode {
    template <class T> MX_BOTH uint8_t operator()(T x) const
    {
        return encode<F, SATURATE>(float32_bits(x));
    }
};
template <class F> struct Decode {
    MX_BOTH uint32_t operator()(uint8_t code) const { return decode<F>(code); }
};
template <class F> struct SharedScale {
    Rule rule;
    template <class T> MX_BOTH uint8_t operator()(T amax) const
    {
        return shared_scale<F>(float32_bits(amax), rule);
    }
};
struct EncodeScale {
    ScaleRounding rounding;
    template <class T> MX_BOTH uint8_t operator()(T x) const
    {
        return encode_scale(float32_bits(x), rounding);
    }
};
struct DecodeScale {
    MX_BOTH uint32_t operator()(uint8_t code) const { return decode_scale(code); }
};

} // namespace mx

#endif

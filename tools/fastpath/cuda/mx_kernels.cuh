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

#include <cmath>
#include <cstring>

#include "mx_fastpath.cuh"
#if defined(MX_CVT_TABLES) && !defined(__CUDACC__)
#include "conversions.h"
#endif

namespace mx {

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

/* The same, of numbers instead of patterns, and no contraction by the compiler. */
MX_BOTH float as_float(uint32_t bits)
{
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}
MX_BOTH uint32_t as_bits(float x)
{
    uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}
MX_BOTH float fused(float a, float b, float c) /* a * b + c */
{
#if defined(__CUDA_ARCH__)
    asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(a) : "f"(a), "f"(b), "f"(c));
    return a;
#else
    return std::fma(a, b, c);
#endif
}
MX_BOTH float fused_saturated(float a, float b, float c) /* the same, at least 0 and at most 1 */
{
#if defined(__CUDA_ARCH__)
    asm("fma.rn.sat.f32 %0, %1, %2, %3;" : "=f"(a) : "f"(a), "f"(b), "f"(c));
    return a;
#else
    a = std::fma(a, b, c);
    return a > 1.0f ? 1.0f : a > 0.0f ? a : 0.0f;
#endif
}
MX_BOTH float negative(float a) /* -a would flush a subnormal number with -use_fast_math */
{
#if defined(__CUDA_ARCH__)
    asm("neg.f32 %0, %1;" : "=f"(a) : "f"(a));
    return a;
#else
    return -a;
#endif
}
MX_BOTH float sum(float a, float b) { return fused(a, 1.0f, b); }
MX_BOTH float about_one_over(float a) /* right to 2^-22; neither it nor the result subnormal */
{
#if defined(__CUDA_ARCH__)
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(a) : "f"(a));
    return a;
#else
    return 1.0f / a;
#endif
}

/* The scale of a block by its largest magnitude. */
template <class F> MX_BOTH uint8_t block_scale(F, uint32_t amax, const Recipe &recipe)
{
    return shared_scale<F>(amax, recipe.rule);
}

/* NVFP4: amax / (6 * tensor's scale), rounded once. Both are divided by the power of two that leaves
 * the latter a `y` from 1 to 2: exactly, but for what is far beyond all codes. The quotient by
 * float32 arithmetic, as bits of a UE4M3, has the code below it, or one less where it is very near
 * to a code; the next one begins at the middle between them, 6 * y times which is compared with amax
 * without rounding. */
MX_BOTH uint8_t block_scale(NVFP4, uint32_t amax, const Recipe &recipe)
{
    const Number t = number(recipe.tensor);
    const int half = t.exponent / 2;
    const uint32_t y = 127u << 23 | (t.significand & 0x7fffffu);
    const uint32_t x = times(times(amax, static_cast<uint32_t>(127 - half) << 23),
                       static_cast<uint32_t>(127 - (t.exponent - half)) << 23);
    const uint32_t quotient = times(x, as_bits(about_one_over(as_float(times(y, 0x40c00000u)))));
    uint32_t code = times(quotient, 7u << 23) >> 20; /* 2^-120: of a UE4M3 to a float32 */
    code = code < 0x7d ? code : 0x7d;
    const uint32_t middle = times((2 * code + 1) << 19, 0x7cc00000u); /* 6 * 2^120 */
    const int more
        = static_cast<int>(as_bits(fused(negative(as_float(middle)), as_float(y), as_float(x))));
    code += more + static_cast<int>(code % 2) > 0 ? 1u : 0u; /* a tie goes to the even one */
    return static_cast<uint8_t>(amax < INFINITE ? code : uint32_t(Blocks<NVFP4>::nan));
}

/* NVFP4 by the hardware's conversion: 1 / (block's scale * tensor's) in two parts, which are right
 * to 2^-43. */
struct Divisor { float high, low; };

/* Numbers of 16 bits have DIGITS of significand, few enough that one product with `high` and `low`
 * is on the right side of every midpoint, if `high` leans to one side where this says so.
 *
 * A midpoint is n * 2^i, n from 1, 3, 5, 7; a divisor d is an integer D below 2^28 times a power of
 * two, D = 8 to 15 times the tensor's significand. A number x that is about n * 2^i * d is one of the
 * multiples of 2^(27 - DIGITS) about n * D: how far n * D is above the nearest of them is `beside`,
 * D shifted so that 32 bits keep that and no more. At 0 the quotient is the midpoint and its product
 * rounds to it. At 512 and more it is by at least 2^-22 beside it, and the product's 2^-24 and the
 * last place of `high`, less than 2^-23, move it nowhere. Between them the last place of `high`, more
 * than 2^-24, moves it away from the midpoint. All midpoints so near, if there are two, are one and
 * the same x / n, for others are 2^(27 - 11) / 35, more than 1024, apart: one side is right for all. */
template <int DIGITS> MX_BOTH uint32_t leaning(uint32_t s, uint32_t tensor)
{
    constexpr int up = 5 + DIGITS;
    const uint32_t near = 512u << up;
    const uint32_t d = ((s >> 20 & 7u) | 8u) * (((tensor & 0x7fffffu) | 0x800000u) << up);
    uint32_t least = d + near;
    for (uint32_t n = 3; n < 8; n += 2)
        least = n * d + near < least ? n * d + near : least;
    const int beside = static_cast<int>(least - near);
    return static_cast<uint32_t>(beside > 1 ? 1 : beside < -1 ? -1 : beside);
}

template <class T> MX_BOTH Divisor divisor(uint8_t scale, uint32_t tensor)
{
    constexpr int digits = Lying<T>::digits;
    Divisor d;
    const uint32_t s = times((scale ? scale : LARGEST_SCALE) << 20, 247u << 23); /* 2^120 */
    const float product = as_float(times(s, tensor));
    const float rest = fused(as_float(s), as_float(tensor), negative(product));
    d.high = about_one_over(product);
    if (digits < 24) /* less: what overflows does so in both parts with one sign */
        d.high = as_float(as_bits(d.high) - 8);
    const float minus = negative(d.high);
    const float error = fused(minus, rest, fused(minus, product, 1.0f));
    d.low = as_float(times(as_bits(d.high), as_bits(fused(error, error, error))));
    if (digits < 24)
        d.high = as_float(as_bits(d.high) - leaning<digits>(s, tensor));
    return d;
}

/* A number that e2m1x2 rounds as it would the quotient of x, a float32. Where the quotient is a
 * midpoint or very near to one (all are quarters), its distance from the nearest quarter is what
 * matters: at least 2^-33 if it is not 0, less than 2^-41 if it should be. 2^14 times that and 1/2,
 * saturated to [0, 1], is 1/2 in the latter case and on the right side of it in the former; a quarter
 * of it moves no number past another quarter. */
MX_BOTH uint32_t quotient(uint32_t x, const Divisor &d)
{
    const float big = 3145728.0f; /* 1.5 * 2^21: added to it a number is rounded to quarters */
    const float f = as_float(x), q = as_float(times(x, as_bits(d.high)));
    const float more = fused(f, d.low, fused(f, d.high, negative(q)));
    const float quarters = sum(sum(q, big), -big);
    const float side = fused_saturated(sum(fused(quarters, -1.0f, q), more), 16384.0f, 0.5f);
    const float near = fused(side, 0.25f, sum(quarters, -0.125f));
    return (as_bits(near) & 0x7fffffffu) | (x & 0x80000000u);
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

/* x, which was a T, divided by a scale, for the conversion. */
template <class T> MX_BOTH uint32_t divided(uint32_t x, int factor)
{
    return times(x, static_cast<uint32_t>(factor));
}
template <class T> MX_BOTH uint32_t divided(uint32_t x, const Divisor &by)
{
    if (Lying<T>::digits == 24)
        return quotient(x, by);
    const float part = as_float(times(x, as_bits(by.low)));
    return as_bits(fused(as_float(x), by.high, part));
}

template <class F, bool HAS> struct Converted { /* no such conversion: never called */
    template <class T, int WIDTH, class Scale>
    static MX_BOTH uint32_t codes(const uint32_t *, int, const Scale &) { return 0; }
};

template <class F> struct Converted<F, true> {
#if defined(__CUDA_ARCH__) || defined(MX_CVT_TABLES)
    template <class T, class Scale>
    static MX_BOTH uint32_t two(const uint32_t *words, int first, const Scale &scale)
    {
        return pair(F(), divided<T>(Lying<T>::number(words, first), scale),
                    divided<T>(Lying<T>::number(words, first + 1), scale));
    }
    template <class T, int WIDTH, class Scale>
    static MX_BOTH uint32_t codes(const uint32_t *words, int first, const Scale &scale)
    {
        if (F::bits == 4) {
            uint32_t nibbles = 0;
            for (int j = 0; j < (WIDTH == 4 ? 8 : 4); j += 2)
                nibbles |= two<T>(words, first + j, scale) << 4 * j;
            return WIDTH == 4 ? nibbles : spread(nibbles);
        }
        return squeezed<WIDTH>(two<T>(words, first, scale)
                               | two<T>(words, first + 2, scale) << 16);
    }
#endif
};

template <class F, class T> MX_BOTH int converting(F, T, uint8_t scale, uint32_t)
{
    return static_cast<int>(reciprocal(scale));
}
template <class T> MX_BOTH Divisor converting(NVFP4, T, uint8_t scale, uint32_t tensor)
{
    return divisor<T>(scale, tensor);
}

/* Whether tensors are converted: those with the scales of NVFP4 that leave quotients and the parts
 * of a divisor in the range of float32, 2^-60 to 2^60. */
template <class F> MX_BOTH bool converts(F, uint32_t) { return MX_HAS_CVT(F); }
MX_BOTH bool converts(NVFP4, uint32_t tensor)
{
    return MX_HAS_CVT(NVFP4) && tensor - (67u << 23) < 120u << 23;
}

/* The hardware's conversions where the architecture has them, and integers where not. They only
 * saturate. */
struct Hardware {
    template <class F, class T>
    static MX_BOTH auto prepare(uint32_t *, int, uint8_t scale, uint32_t tensor)
    {
        return converting(F(), T(), scale, tensor);
    }
    template <class F, class T, int WIDTH, class Scale>
    static MX_BOTH uint32_t codes(const uint32_t *words, int first, const Scale &scale)
    {
        return Converted<F, MX_HAS_CVT(F)>::template codes<T, WIDTH>(words, first, scale);
    }
};

/* Whether an encoder encodes a tensor itself; where not, integers do. */
template <class F, class Encoder> struct Chosen {
    static MX_BOTH bool as_named(uint32_t) { return true; }
};
template <class F> struct Chosen<F, Hardware> {
    static MX_BOTH bool as_named(uint32_t tensor) { return converts(F(), tensor); }
};

/* Bits of a code in memory, and numbers of a thread. */
template <class F, bool PACKED, int NUMBERS = PACKED && F::bits == 6 ? 32 : 16> struct Chunk {
    enum : int {
        width = PACKED ? F::bits : 8,
        numbers = NUMBERS,
        in_a_block = Blocks<F>::size / NUMBERS,
        bytes = numbers * width / 8,
        store = bytes % 16 == 0 ? 16 : bytes % 8 == 0 ? 8 : 4, /* bytes at once */
        groups = width == 4 ? numbers / 8 : numbers / 4
    };
};

/* The chunks of a line, and where codes and scale of one lie. */
template <class F, class C> MX_BOTH size_t chunks_of(const Tensor &t)
{
    return blocks_of(t, Blocks<F>::size) * C::in_a_block;
}
template <class C> MX_BOTH size_t code_place(const Tensor &t, size_t line, size_t chunk)
{
    return place(t.codes, line, chunk * C::bytes);
}
template <class F, class C>
MX_BOTH size_t chunk_scale_place(const Tensor &t, const Recipe &recipe, size_t line, size_t chunk)
{
    return scale_place<F>(t, recipe, line, chunk / C::in_a_block);
}

/* The codes of a chunk as words, by one encoder; of a block that is NaN 00. */
template <class F, class T, class Encoder, class C>
MX_BOTH void encode_by(uint32_t *words, uint8_t scale, uint32_t tensor, uint32_t *codes)
{
    const auto by
        = Encoder::template prepare<F, T>(words, C::numbers / Lying<T>::in_a_word, scale, tensor);
    const uint32_t mask = scale == Blocks<F>::nan ? 0u : ~0u;
    uint32_t group[C::groups];
    for (int i = 0; i < C::groups; ++i)
        group[i] = Encoder::template codes<F, T, C::width>(words, i * C::numbers / C::groups, by)
                   & mask;
    for (int i = 0; i < C::bytes / 4; ++i) /* four times 24 bits are three words */
        codes[i] = C::width == 6 ? group[i / 3 * 4 + i % 3] >> 8 * (i % 3)
                                       | group[i / 3 * 4 + i % 3 + 1] << (24 - 8 * (i % 3))
                                 : group[i];
}

template <class F, class T, class Encoder, class C>
MX_BOTH void encode_chunk(uint32_t *words, uint8_t scale, uint32_t tensor, uint32_t *codes)
{
    if (Chosen<F, Encoder>::as_named(tensor))
        encode_by<F, T, Encoder, C>(words, scale, tensor, codes);
    else
        encode_by<F, T, Integers<true>, C>(words, scale, tensor, codes);
}

/* The same number, of which the compiler does not know that: it computes nothing of what follows
 * before a kernel's loop, where the many addresses of slow loads would cost every thread registers:
 * without this twice as many (README.md has the figures). */
MX_BOTH size_t here(size_t x)
{
#if defined(__CUDA_ARCH__)
    asm volatile("" : "+l"(x));
#endif
    return x;
}

/* The numbers from `at` on of a line; zeros behind its end. */
template <class T>
MX_BOTH void load_numbers(const T *values, const Tensor &t, size_t line, size_t at, int n,
                          uint32_t *words)
{
    constexpr int each = Lying<T>::in_a_word;
    at = here(at);
    for (int j = 0; j < n; ++j) {
        const size_t i = at + static_cast<size_t>(j);
        const uint32_t x
            = i < t.length ? Lying<T>::bits(values[place(t.values, line, i)]) : 0u;
        words[j / each] = j % each ? words[j / each] | x << 16 : x;
    }
}
MX_BOTH void store_bytes(const uint32_t *words, int n, uint8_t *to, size_t step)
{
    step = here(step);
    for (int i = 0; i < n; ++i)
        to[static_cast<size_t>(i) * step] = static_cast<uint8_t>(words[i / 4] >> i % 4 * 8);
}
MX_BOTH void load_bytes(const uint8_t *from, int n, uint32_t *words, size_t step)
{
    step = here(step);
    for (int i = 0; i < n; ++i)
        words[i / 4] = (i % 4 ? words[i / 4] : 0u)
                       | static_cast<uint32_t>(from[static_cast<size_t>(i) * step]) << i % 4 * 8;
}
template <class T>
MX_BOTH void store_numbers(const uint32_t *words, const Tensor &t, size_t line, size_t at, int n,
                           T *values)
{
    constexpr int each = Lying<T>::in_a_word;
    at = here(at);
    for (int j = 0; j < n; ++j) {
        const size_t i = at + static_cast<size_t>(j);
        if (i >= t.length)
            return;
        values[place(t.values, line, i)] = static_cast<T>(words[j / each] >> j % each * 16);
    }
}
template <int BYTES, int STORE> MX_BOTH void store_whole(const uint32_t *words, void *to)
{
    struct alignas(STORE) Part { uint32_t x[STORE / 4]; };
    for (int i = 0; i < BYTES / STORE; ++i) {
        Part part;
        for (int j = 0; j < STORE / 4; ++j)
            part.x[j] = words[i * (STORE / 4) + j];
        static_cast<Part *>(to)[i] = part;
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
    const uint32_t others = code & (top - 1u), negative = code & top;
    const uint32_t magnitude = F::complement && negative ? top - others : others;
    const bool infinite = static_cast<int>(magnitude) == F::infinity;
    const bool nan = F::has_nan && magnitude > F::largest && !infinite;
    uint32_t x = times(magnitude << (23 - F::mantissa), static_cast<uint32_t>(253 + F::emin) << 23);
    if (infinite)
        x = INFINITE;
    const uint32_t product = times(x | negative << (32 - F::bits), scale);
    return nan || scale == QUIET_NAN ? QUIET_NAN : product; /* a product's NaN is of another kind */
}

/* The product of two numbers, rounded to odd: to the next one in magnitude below, whose last bit is
 * set if that is not the product. Rounded again to 16 bits it is as the product rounded once. What
 * is lost below 2^-149 is rounded up, so that it is seen. */
MX_BOTH uint32_t times_odd(uint32_t x, uint32_t y) /* y is positive */
{
    const float a = as_float(x & 0x7fffffffu), b = as_float(y);
    float below;
    bool more;
#if defined(__CUDA_ARCH__)
    asm("mul.rz.f32 %0, %1, %2;" : "=f"(below) : "f"(a), "f"(b));
    float rest;
    asm("fma.rp.f32 %0, %1, %2, %3;" : "=f"(rest) : "f"(a), "f"(b), "f"(negative(below)));
    more = as_bits(rest) << 1 != 0;
#else
    const double whole = static_cast<double>(a) * b; /* at most 48 bits */
    below = static_cast<float>(whole);
    if (below > whole)
        below = as_float(as_bits(below) - 1);
    more = below != whole;
    if (below != below)
        below = as_float(0x7fffffffu); /* the NaN of a GPU */
#endif
    return (x & 0x80000000u) | as_bits(below) | (more ? 1u : 0u);
}

/* A scale code as a float32 pattern, and the number of a code times it (and the tensor's): as it is,
 * or for a type of 16 bits rounded to odd. */
template <class F> MX_BOTH uint32_t scale_number(F, uint8_t code) { return decode_scale(code); }
MX_BOTH uint32_t scale_number(NVFP4, uint8_t code)
{
    return code == Blocks<NVFP4>::nan ? QUIET_NAN
                                      : times(static_cast<uint32_t>(code) << 20, 247u << 23);
}
template <class T, class F> MX_BOTH uint32_t decoded(F, uint32_t code, uint32_t scale, uint32_t)
{
    return decode_times<F>(code, scale);
}
template <class T>
MX_BOTH uint32_t decoded(NVFP4, uint32_t code, uint32_t scale, uint32_t tensor)
{
    const bool nan = scale == QUIET_NAN; /* the NaN of a product could not be rounded to 16 bits */
    const uint32_t x = decode_times<E2M1>(code, nan ? 0u : scale); /* 6 bits: exact */
    const uint32_t product = Lying<T>::in_a_word == 1 ? times(x, tensor) : times_odd(x, tensor);
    return nan ? QUIET_NAN : product;
}

/* Whether all chunks of a tensor can be loaded by 16 bytes; or stored. */
template <class F, class T> MX_BOTH bool is_loaded_whole(const T *values, const Tensor &t)
{
    return t.length % Blocks<F>::size == 0 && t.values.step == 1
           && t.values.line % (16 / sizeof(T)) == 0
           && reinterpret_cast<uintptr_t>(values) % 16 == 0;
}
template <class C> MX_BOTH bool is_stored_whole(const uint8_t *codes, const Tensor &t)
{
    return t.codes.step == 1 && t.codes.line % C::store == 0
           && reinterpret_cast<uintptr_t>(codes) % C::store == 0;
}

/* The numbers of a chunk as words of T. */
template <class F, class T, class C>
MX_BOTH void decode_chunk(const uint32_t *codes, uint8_t scale, uint32_t tensor, uint32_t *words)
{
    constexpr int each = Lying<T>::in_a_word;
    const uint32_t by = scale_number(F(), scale);
    MX_UNROLL
    for (int i = 0; i < C::numbers; i += each)
        words[i / each] = Lying<T>::joined(
            decoded<T>(F(), code_at<C::width>(codes, i), by, tensor),
            decoded<T>(F(), code_at<C::width>(codes, (i + 1) % C::numbers), by, tensor));
}

/* One block, by one thread. */
template <class F, class T, class Encoder = Integers<true>, bool PACKED = false>
MX_BOTH void quantize_block(const T *values, const Tensor &t, Recipe recipe, size_t line,
                            size_t block, uint8_t *scales, uint8_t *codes)
{
    using C = Chunk<F, PACKED>;
    constexpr int size = Blocks<F>::size, each = Lying<T>::in_a_word;
    uint32_t words[size], out[size / 4];
    load_numbers(values, t, line, block * size, size, words);
    const uint8_t scale
        = block_scale(F(), Lying<T>::widened(Lying<T>::amax(words, size / each)), recipe);
    scales[scale_place<F>(t, recipe, line, block)] = scale;
    for (int i = 0; i < C::in_a_block; ++i) {
        encode_chunk<F, T, Encoder, C>(words + i * C::numbers / each, scale, recipe.tensor, out);
        const size_t chunk = block * C::in_a_block + static_cast<size_t>(i);
        store_bytes(out, C::bytes, codes + code_place<C>(t, line, chunk), t.codes.step);
    }
}
#if defined(MX_KERNELS)

/* The scale of a chunk: of its maximum, and where a block is two threads', the neighbour's. All
 * threads of a warp come here together, also those that have no chunk. */
template <class F, class T, class C>
MX_DEVICE uint8_t chunk_scale(const uint32_t *words, const Recipe &recipe)
{
    uint32_t amax = Lying<T>::amax(words, C::numbers / Lying<T>::in_a_word);
    if (C::in_a_block > 1)
        amax = larger(amax, __shfl_xor_sync(~0u, amax, 1));
    return block_scale(F(), Lying<T>::widened(amax), recipe);
}

/* The codes of a chunk to where they belong. */
template <class C>
MX_DEVICE void store_chunk_codes(const uint32_t *out, const Tensor &t, bool whole, size_t line,
                                 size_t chunk, uint8_t *codes)
{
    uint8_t *to = codes + code_place<C>(t, line, chunk);
    if (whole)
        store_whole<C::bytes, C::store>(out, to);
    else
        store_bytes(out, C::bytes, to, t.codes.step);
}

/* A chunk's codes, and the scale of a block, by the first of its threads. */
template <class F, class C>
MX_DEVICE void store_scale(uint8_t scale, const Tensor &t, const Recipe &recipe, size_t line,
                           size_t chunk, uint8_t *scales)
{
    if (chunk % C::in_a_block == 0)
        scales[chunk_scale_place<F, C>(t, recipe, line, chunk)] = scale;
}
template <class F, class T, class Encoder, class C>
MX_DEVICE void store_chunk(uint32_t *words, uint8_t scale, const Tensor &t, const Recipe &recipe,
                           bool whole, size_t line, size_t chunk, uint8_t *scales, uint8_t *codes)
{
    store_scale<F, C>(scale, t, recipe, line, chunk, scales);
    uint32_t out[C::bytes / 4];
    encode_chunk<F, T, Encoder, C>(words, scale, recipe.tensor, out);
    store_chunk_codes<C>(out, t, whole, line, chunk, codes);
}

MX_DEVICE size_t first_line() { return blockIdx.y * size_t(blockDim.y); } /* of a block */

/* Blocks along lines. Threads x have a chunk of a line each, at least as many as there are (a grid
 * of (chunks / threads rounded up, any number up to 65535)); threads y go round over the lines.
 * Threads x are a power of two from 2 on, and all threads of a block a multiple of 32, at most 512:
 * up to 96 registers each. Those behind the end of a line, or of all lines, go round with others'
 * numbers, and store nothing. */
template <class F, class T, class Encoder = Hardware, bool PACKED = false>
__global__ void quantize_kernel(const T *values, Tensor t, Recipe recipe, uint8_t *scales,
                                uint8_t *codes)
{
    using C = Chunk<F, PACKED>;
    const size_t chunk = blockIdx.x * size_t(blockDim.x) + threadIdx.x, all = chunks_of<F, C>(t);
    const size_t at = (chunk < all ? chunk : all - 1) * C::numbers;
    if (all == 0)
        return;
    const bool loaded = is_loaded_whole<F>(values, t), stored = is_stored_whole<C>(codes, t);
    const size_t step = size_t(gridDim.y) * blockDim.y;
    for (size_t first = first_line(); first < t.lines; first += step) {
        const size_t line = first + threadIdx.y;
        const bool is_line = line < t.lines, inside = is_line && chunk < all;
        const size_t from = is_line ? line : first;
        uint32_t words[C::numbers / Lying<T>::in_a_word];
        if (loaded)
            load_whole<C::numbers * sizeof(T), 16>(values + place(t.values, from, at), words);
        else
            load_numbers(values, t, from, at, C::numbers, words);
        const uint8_t scale = chunk_scale<F, T, C>(words, recipe);
        if (inside)
            store_chunk<F, T, Encoder, C>(words, scale, t, recipe, stored, line, chunk, scales,
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
    const bool has_one = chunk < chunks_of<F, C>(t);
    const size_t step = size_t(gridDim.y) * blockDim.y;
    for (size_t start = first_line(); start < t.lines; start += step) {
        const size_t line = start + threadIdx.y;
        const bool inside = has_one && line < t.lines;
        uint32_t words[C::numbers / Lying<T>::in_a_word] = {}, out[C::bytes / 4] = {};
        if (inside)
            load_numbers(values, t, line, chunk * C::numbers, C::numbers, words);
        const uint8_t scale = chunk_scale<F, T, C>(words, recipe);
        if (!inside)
            continue;
        const uint64_t first = line * (blocks_of(t) * BLOCK) + chunk * C::numbers;
        MX_UNROLL
        for (int j = 0; j < C::numbers; j += 4) { /* first is a multiple of 16 */
            const Words4 random = philox(seed, (first + static_cast<uint64_t>(j)) / 4);
            MX_UNROLL
            for (int i = j; i < j + 4; ++i) {
                const uint32_t x = Lying<T>::number(words, i), r = random.x[i - j] >> (32 - width);
                const uint32_t code
                    = scale == NAN_SCALE ? 0u : encode_stochastic<F>(x, r, width, scale);
                put_code<C::width>(code & ((1u << C::width) - 1u), out, i);
            }
        }
        store_scale<F, C>(scale, t, recipe, line, chunk, scales);
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
 * down.values is not used. What has no scales is left out. Blocks of exactly 128 threads have a tile
 * of 32 rows and 64 columns, and all of them come to every shuffle and barrier; a grid of (columns /
 * 64 rounded up, any number up to 65535). The rows of the tile are
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
    const bool loaded = is_loaded_whole<F>(values, across), stored = is_stored_whole<C>(codes, across);
    const bool down_stored = is_stored_whole<C>(down_codes, down);
    for (size_t block = blockIdx.y; block < blocks_of(down); block += gridDim.y) { /* of rows */
        const size_t at = block * BLOCK + row;
        const bool inside = at < across.lines && chunk < chunks_of<F, C>(across);
        uint32_t words[count] = {};
        if (inside && loaded)
            load_whole<C::numbers * sizeof(T), 16>(
                values + place(across.values, at, chunk * C::numbers), words);
        else if (inside)
            load_numbers(values, across, at, chunk * C::numbers, C::numbers, words);
        for (int i = 0; i < count; ++i)
            tile[static_cast<int>(row) * pitch + static_cast<int>(thread % 4) * count + i]
                = words[i];
        if (scales) {
            const uint8_t scale = chunk_scale<F, T, C>(words, recipe);
            if (inside)
                store_chunk<F, T, Encoder, C>(words, scale, across, recipe, stored, at,
                                              chunk, scales, codes);
        }
        __syncthreads();
        if (down_scales) {
            load_column(tile + 16 * half * pitch, pitch, column, words, T());
            const uint8_t scale = chunk_scale<F, T, C>(words, recipe);
            const size_t below = block * 2 + half; /* of the chunks of a column */
            if (line < down.lines && below < chunks_of<F, C>(down))
                store_chunk<F, T, Encoder, C>(words, scale, down, recipe, down_stored, line, below,
                                              down_scales, down_codes);
        }
        __syncthreads(); /* before the next tile overwrites this one */
    }
}

/* Back to numbers, one code a byte or packed; threads as for quantize_kernel. */
template <class F, class T, bool PACKED = false>
__global__ void dequantize_kernel(const uint8_t *scales, const uint8_t *codes, Tensor t,
                                  Recipe recipe, T *values)
{
    using C = Chunk<F, PACKED>;
    const size_t chunk = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (chunk >= chunks_of<F, C>(t))
        return;
    const bool whole = is_loaded_whole<F>(values, t) && is_stored_whole<C>(codes, t);
    const size_t step = size_t(gridDim.y) * blockDim.y;
    for (size_t line = first_line() + threadIdx.y; line < t.lines; line += step) {
        uint32_t words[C::bytes / 4], out[C::numbers / Lying<T>::in_a_word];
        const uint8_t *from = codes + code_place<C>(t, line, chunk);
        if (whole)
            load_whole<C::bytes, C::store>(from, words);
        else
            load_bytes(from, C::bytes, words, t.codes.step);
        const uint8_t scale = scales[chunk_scale_place<F, C>(t, recipe, line, chunk)];
        decode_chunk<F, T, C>(words, scale, recipe.tensor, out);
        if (whole)
            store_whole<sizeof out, 16>(
                out, values + place(t.values, line, chunk * C::numbers));
        else
            store_numbers(out, t, line, chunk * C::numbers, C::numbers, values);
    }
}

#endif

} // namespace mx

#endif

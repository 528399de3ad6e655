/* NVFP4 at every midpoint: scales between two codes, and elements beside every scale, under tensor
 * scales of all magnitudes, by the two encoders and by whole numbers that share nothing with them. */
#ifndef MX_NVFP4_H
#define MX_NVFP4_H

#include "operations.h"
#include "report.h"

namespace nvfp4 {

/* significand * 2^exponent, exactly. */
struct Exact { uint64_t significand; int exponent; };

inline Exact exact(uint32_t float32)
{
    const uint32_t field = float32 >> 23 & 0xff, low = float32 & 0x7fffff;
    return field ? Exact{low | 0x800000u, static_cast<int>(field) - 150} : Exact{low, -149};
}
inline Exact of_scale(uint32_t code)
{
    const uint32_t field = code >> 3;
    return {(code & 7) + (field ? 8 : 0), static_cast<int>(field ? field : 1) - 10};
}
inline Exact operator*(const Exact &a, const Exact &b)
{
    return {a.significand * b.significand, a.exponent + b.exponent};
}
/* -1, 0 or 1: a is less than, equal to or greater than b. */
inline int compared(Exact a, Exact b)
{
    if (a.significand == 0 || b.significand == 0)
        return (a.significand > 0) - (b.significand > 0);
    const int ups[] = {__builtin_clzll(a.significand), __builtin_clzll(b.significand)};
    a = {a.significand << ups[0], a.exponent - ups[0]};
    b = {b.significand << ups[1], b.exponent - ups[1]};
    if (a.exponent != b.exponent)
        return a.exponent < b.exponent ? -1 : 1;
    return (a.significand > b.significand) - (a.significand < b.significand);
}

/* Half-way from each code to the next, in quarters; a tie goes to the even code. */
constexpr uint64_t QUARTERS[] = {1, 3, 5, 7, 10, 14, 20};
inline uint32_t element(uint32_t x, uint32_t scale, uint32_t tensor)
{
    const Exact unit = of_scale(scale) * exact(tensor);
    uint32_t code = 0;
    while (code < 7 && scale) {
        const int side = compared(exact(x & 0x7fffffff), unit * Exact{QUARTERS[code], -2});
        if (side < 0 || (side == 0 && code % 2 == 0))
            break;
        ++code;
    }
    return code | (x >> 31) << 3;
}
inline uint32_t scale_of(uint32_t amax, uint32_t tensor)
{
    const Exact six = exact(tensor) * Exact{6, 0};
    uint32_t code = 0;
    for (; code < 0x7e; ++code) { /* neighbours lie as far apart as the lower one's last bit */
        const Exact below = of_scale(code);
        const int side
            = compared(exact(amax), six * Exact{2 * below.significand + 1, below.exponent - 1});
        if (side < 0 || (side == 0 && code % 2 == 0))
            break;
    }
    return code;
}

/* The largest float32 pattern that is at most a number. */
inline uint32_t floor_pattern(const Exact &number)
{
    uint32_t low = 0, high = mx::INFINITE;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        (compared(exact(middle), number) <= 0 ? low : high) = middle;
    }
    return low;
}

constexpr uint32_t TENSORS[] = {
    0x3f800000, 0x3f800001, 0x3fffffff, 0x3b124925, 0x40490fdb, 0x00000001, 0x00000003, 0x00012345,
    0x007fffff, 0x00800000, 0x00800001, 0x01ffffff, 0x217fffff, 0x21800000, 0x21800001, 0x5d7fffff,
    0x5d800000, 0x7f7fffff, 0x7f000001, 0x7c000003, 0x33333333, 0x4b7ffffd,
};

struct Counts { uint64_t cases = 0, wrong = 0; };

/* A finite float32 as a T: itself, cut off to bfloat16, or rounded to a finite float16. */
inline void take(uint32_t x, uint32_t &out) { out = x; }
inline void take(uint32_t x, uint16_t &out) { out = static_cast<uint16_t>(x >> 16); }
inline void take(uint32_t x, mx::Half &out)
{
    mx::store(x, out);
    out = mx::Half((out.bits & 0x8000u) | std::min(out.bits & 0x7fffu, 0x7bffu));
}

template <class T, class Encoder, bool PACKED>
void compare(const std::vector<uint32_t> &patterns, uint8_t scale, uint32_t tensor, Counts &counts)
{
    using C = mx::Chunk<mx::NVFP4, PACKED>;
    constexpr int each = mx::Lying<T>::in_a_word;
    for (size_t first = 0; first + 16 <= patterns.size(); first += 16) {
        T x[16];
        uint32_t words[16 / each] = {}, codes[C::bytes / 4];
        for (size_t i = 0; i < 16; ++i) {
            take(patterns[first + i], x[i]);
            words[i / each] |= mx::Lying<T>::bits(x[i]) << (i % each * 16);
        }
        mx::encode_chunk<mx::NVFP4, T, Encoder, C>(words, scale, tensor, codes);
        for (int i = 0; i < 16; ++i) {
            counts.cases += 1;
            counts.wrong += mx::code_at<C::width>(codes, i)
                            != element(mx::float32_bits(x[i]), scale, tensor);
        }
    }
}

/* Both neighbours of every midpoint of every scale; beside scale 0 only what blocks of it have. */
inline Counts elements()
{
    Counts counts;
    for (const uint32_t tensor : TENSORS)
        for (uint32_t scale = 0; scale < 0x7f; scale += scale < 20 || scale > 0x78 ? 1 : 3) {
            std::vector<uint32_t> patterns{0, 0x80000000u, 1, 0x80000001u};
            if (scale == 0x7e) /* all larger numbers have it, too */
                patterns.insert(patterns.end(), {0x7f7fffffu, 0xff7fffffu, 0x7f000000u});
            const Exact unit = of_scale(scale ? scale : 1) * exact(tensor);
            for (const uint64_t quarters : {1, 2, 3, 5, 7, 10, 14, 20, 24, 35}) {
                const uint32_t at = floor_pattern(unit * Exact{quarters, -2});
                for (uint32_t x = at ? at - 1 : at; x < at + 3 && x < mx::INFINITE; ++x)
                    patterns.insert(patterns.end(), {x, x | 0x80000000u});
                patterns.push_back(at + 0x8000u < mx::INFINITE ? at + 0x8000u : at); /* bfloat16 */
            }
            for (uint64_t part = 1; scale % 16 == 13 && part < 448; part += 2) /* between them */
                patterns.push_back(floor_pattern(unit * Exact{part, -6}) % mx::INFINITE);
            if (scale == 0)
                patterns.erase(std::remove_if(patterns.begin(), patterns.end(),
                                              [&](uint32_t x) {
                                                  return scale_of(x & 0x7fffffffu, tensor) != 0;
                                              }),
                               patterns.end());
            patterns.resize((patterns.size() + 15) / 16 * 16);
            const auto code = static_cast<uint8_t>(scale);
            compare<uint32_t, mx::Integers<true>, true>(patterns, code, tensor, counts);
            compare<uint32_t, mx::Hardware, false>(patterns, code, tensor, counts);
            compare<uint16_t, mx::Hardware, true>(patterns, code, tensor, counts);
            compare<mx::Half, mx::Hardware, true>(patterns, code, tensor, counts);
        }
    return counts;
}

/* Numbers of 16 bits that are midpoints, or miss them by as little as they can: under the tensor
 * scales about x / (n * scale), for every x (float16: every `stride`-th), odd n and scale. */
template <class T> void beside(uint32_t stride, Counts &counts)
{
    constexpr uint32_t ones = 1u << (mx::Lying<T>::digits - 1);
    for (uint32_t x = ones; x < 2 * ones; x += stride)
        for (uint32_t unit = 8; unit < 16; ++unit)
            for (const uint32_t n : {1u, 3u, 5u, 7u}) {
                uint64_t about = (uint64_t(x) << 24) / (n * unit);
                about >>= 40 - __builtin_clzll(about); /* 24 bits */
                for (uint64_t t = about - 2; t < about + 4; ++t) {
                    const uint32_t tensor = 127u << 23 | (static_cast<uint32_t>(t) & 0x7fffffu);
                    const uint8_t scale = static_cast<uint8_t>(0x30u + unit);
                    std::vector<uint32_t> patterns;
                    for (const uint64_t quarters : QUARTERS) {
                        const uint32_t step = 1u << (24 - mx::Lying<T>::digits);
                        const uint32_t at = floor_pattern(of_scale(scale) * exact(tensor)
                                                          * Exact{quarters, -2})
                                            & ~(step - 1);
                        patterns.insert(patterns.end(), {at, (at + step) | 0x80000000u});
                    }
                    patterns.insert(patterns.end(), {0, 0x80000000u});
                    compare<T, mx::Hardware, true>(patterns, scale, tensor, counts);
                }
            }
}
inline Counts near_midpoints()
{
    Counts counts;
    beside<uint16_t>(1, counts);
    beside<mx::Half>(7, counts);
    return counts;
}

/* Both neighbours of every midpoint of scales, and of every scale. */
inline Counts scales()
{
    Counts counts;
    for (const uint32_t tensor : TENSORS)
        for (uint32_t half = 0; half < 2 * 0x7f; ++half) {
            const Exact below = of_scale(half / 2);
            const Exact at{2 * below.significand + half % 2, below.exponent - 1};
            const uint32_t floor = floor_pattern(exact(tensor) * Exact{6, 0} * at);
            for (uint32_t x = floor ? floor - 1 : 0; x < floor + 3 && x < mx::INFINITE; ++x) {
                counts.cases += 1;
                counts.wrong += mx::block_scale(mx::NVFP4(), x, {mx::Rule::floor, false, tensor})
                                != scale_of(x, tensor);
            }
        }
    return counts;
}

inline void add(const char *name, const Counts &counts, Report &report)
{
    const auto cases = static_cast<unsigned long long>(counts.cases);
    const auto wrong = static_cast<unsigned long long>(counts.wrong);
    report.add(format("{\"format\": \"%s\", \"cases\": %llu, \"wrong\": %llu}", name, cases, wrong),
               format("%s  %s  %llu cases, %llu wrong", wrong ? "FAIL" : "ok  ", name, cases, wrong),
               counts.cases, counts.wrong);
}

#if defined(MX_KERNELS)

/* Every `stride`-th float32 of both signs beside one scale: how many numbers have other codes by the
 * hardware's conversions than by integers, and whether there are such conversions. */
template <class T> /* uint32_t */
__global__ void differences_kernel(T stride, uint8_t scale, T tensor, unsigned long long *found)
{
    using C = mx::Chunk<mx::NVFP4, true>;
    if (blockIdx.x == 0 && threadIdx.x == 0)
        found[1] = MX_HAS_CVT(mx::NVFP4);
    const size_t chunks = (size_t(mx::INFINITE) * 2 / stride + 15) / 16;
    MX_FOR(chunk, chunks)
    {
        T words[16], ours[2], other[2];
        for (size_t i = 0; i < 16; ++i) {
            const size_t x = (chunk * 16 + i) * stride;
            words[i] = x / 2 < mx::INFINITE ? static_cast<T>(x / 2 | x % 2 << 31) : 0u;
        }
        mx::encode_chunk<mx::NVFP4, T, mx::Hardware, C>(words, scale, tensor, ours);
        mx::encode_chunk<mx::NVFP4, T, mx::Integers<true>, C>(words, scale, tensor, other);
        unsigned differ = 0;
        for (int i = 0; i < 16; ++i)
            differ += mx::code_at<4>(ours, i) != mx::code_at<4>(other, i);
        if (differ)
            atomicAdd(found, static_cast<unsigned long long>(differ));
    }
}

/* All float32, emulated a few, beside some scales; `encoders` compares the integers. */
inline int run(const std::string &head, Report &report)
{
#if defined(__CUDACC__)
    const uint32_t stride = 1;
#else
    const uint32_t stride = 65521;
#endif
    for (const uint32_t tensor : {0x3f800000u, 0x3b124925u, 0x21800001u, 0x5d7fffffu})
        for (const uint8_t scale : {0x01, 0x07, 0x38, 0x5b, 0x7e}) {
            std::vector<unsigned long long> found(2);
            const Buffer<unsigned long long> counter(found);
            MX_LAUNCH(grid(size_t(1) << 28), Device::threads, differences_kernel<uint32_t>, stride,
                      scale, tensor, counter.get());
            counter.read(found);
            const Counts counts{uint64_t(mx::INFINITE) * 2 / stride, found[0]};
            const char *const twice = found[1] ? "" : ", no conversions here: by integers twice";
            add(format("nvfp4 %08x %02x%s", tensor, scale, twice).c_str(), counts, report);
        }
    return report.finish(head, "numbers by conversions and by integers");
}

#endif

} // namespace nvfp4

#endif

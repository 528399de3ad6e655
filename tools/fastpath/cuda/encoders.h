/* All element encoders of the kernels against encode<F>, beside scales of every kind: every bfloat16
 * number, and as many float32 ones that differ from it in the lower half; and those of NVFP4. */
#ifndef MX_ENCODERS_H
#define MX_ENCODERS_H

#include "nvfp4.h"

namespace encoders {

using nvfp4::Counts;

/* Sixteen numbers and one scale; a NaN is left out, as no block with one is encoded. */
template <class F, class T, class Encoder, bool PACKED, bool SATURATE>
void compare(const uint32_t *patterns, uint8_t scale, Counts &counts)
{
    using C = mx::Chunk<F, PACKED>;
    constexpr int each = mx::Lying<T>::in_a_word;
    uint32_t words[C::numbers / each] = {}, codes[C::bytes / 4];
    for (int i = 0; i < 16; ++i)
        words[i / each] |= (each == 2 ? patterns[i] >> 16 : patterns[i]) << (i % each * 16);
    mx::encode_chunk<F, T, Encoder, C>(words, scale, 0, codes);
    Bytes bytes(C::bytes);
    mx::store_bytes(codes, C::bytes, bytes.data(), 1);
    for (size_t i = 0; i < 16; ++i) {
        const uint32_t x = each == 2 ? patterns[i] & 0xffff0000u : patterns[i];
        const uint32_t want = mx::encode<F, SATURATE>(x, scale);
        counts.cases += 1;
        counts.wrong += mx::unpacked_code<C::width>(bytes.data(), i) != want;
    }
}

template <class F> Counts of_format()
{
    Counts counts;
    const int scales[] = {0, 1, mx::least_plain<F>() - 1, mx::least_plain<F>(), 64, 127, 253, 254};
    for (const int code : scales) {
        const uint8_t scale = static_cast<uint8_t>(code);
        uint32_t patterns[16];
        int filled = 0;
        for (uint32_t i = 0; i < 1u << 16; ++i) {
            const uint32_t x = i << 16 | (i * 40503u >> 3 & 0xffffu);
            const int field = static_cast<int>(x >> 23 & 0xff);
            /* What rounding a scale down leaves is at most twice the largest number. */
            if (field == 255 || (code < 24 && field - code > F::emax + 1))
                continue;
            patterns[filled++] = i % 3 == 2 ? x : (x & 0xffff0000u) | i % 3; /* a little above */
            if (filled < 16)
                continue;
            filled = 0;
            compare<F, uint32_t, mx::Integers<true>, false, true>(patterns, scale, counts);
            compare<F, uint16_t, mx::Integers<true>, false, true>(patterns, scale, counts);
            compare<F, uint32_t, mx::Hardware, false, true>(patterns, scale, counts);
            compare<F, uint16_t, mx::Hardware, F::bits < 8, true>(patterns, scale, counts);
            compare<F, uint32_t, mx::Integers<false>, false, false>(patterns, scale, counts);
        }
    }
    return counts;
}

/* All, or only those of NVFP4. */
inline int run(bool all, const std::string &head, Report &report)
{
    for (const char *name : {"e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "int8"})
        if (all)
            with_format(name, [&](auto f) {
                nvfp4::add(name, of_format<decltype(f)>(), report);
            });
    nvfp4::add("nvfp4 scales", nvfp4::scales(), report);
    nvfp4::add("nvfp4 elements", nvfp4::elements(), report);
    nvfp4::add("nvfp4 of 16 bits beside midpoints", nvfp4::near_midpoints(), report);
    return report.finish(head, "codes of the kernels' encoders");
}

} // namespace encoders

#endif

/* quantize_both_kernel against quantize_block, which the vectors check: matrices of all kinds of
 * edges, in all kinds of places, both directions or one. */
#ifndef MX_BOTH_H
#define MX_BOTH_H

#include "operations.h"
#include "report.h"

namespace both {

struct Case {
    size_t rows, columns, gap, code_gap, first_code; /* gaps behind lines of values and of codes */
    bool across, down, transposed, tiles;
};
constexpr Case CASES[] = {
    {64, 128, 0, 0, 0, true, true, true, true},     {96, 192, 16, 16, 16, true, true, true, false},
    {32, 64, 0, 0, 0, false, true, true, false},    {64, 64, 0, 0, 0, true, false, true, true},
    {33, 32, 0, 0, 0, true, true, true, true},      {160, 96, 8, 0, 0, true, true, false, false},
    {70, 100, 0, 0, 0, true, true, true, true},     {1, 1, 0, 0, 0, true, true, true, false},
    {64, 160, 1, 0, 0, true, true, true, false},    {64, 64, 0, 1, 0, true, true, true, false},
    {200, 64, 0, 0, 2, false, true, true, true},
};

/* What there is of one direction: the tensor, and room for scales and codes, filled with a5. */
struct Side {
    mx::Tensor tensor;
    Bytes scales, codes;

    Side(size_t lines, size_t length, mx::Axis values, const Case &c, int width, size_t size,
         bool in_place)
        : tensor{lines, length, values, {}, {}}
    {
        const size_t blocks = mx::blocks_of(tensor, size);
        const size_t bytes = blocks * size * static_cast<size_t>(width) / 8;
        tensor.scales = {blocks, 1};
        tensor.codes = in_place ? mx::Axis{1, lines + c.code_gap} : mx::Axis{bytes + c.code_gap, 1};
        scales.assign(c.tiles ? mx::tiled_size(lines, blocks) : lines * blocks, 0xa5);
        codes.assign(c.first_code + (in_place ? bytes : lines) * (lines + bytes + c.code_gap),
                     0xa5);
    }
};

template <class F, class Encoder, bool PACKED, class T>
bool is_right(const Case &c, uint32_t seed)
{
    constexpr int width = PACKED ? F::bits : 8, size = mx::Blocks<F>::size;
    const size_t pitch = c.columns + c.gap;
    std::vector<T> values(c.rows * pitch, static_cast<T>(~uint32_t(0)));
    for (size_t i = 0; i < c.rows * pitch; ++i) {
        seed = seed * 1664525u + 1013904223u;
        const uint32_t x = sizeof(T) == 4 ? seed & 0xbfffffffu : seed >> 16 & 0xbfffu;
        if (i % pitch < c.columns) /* some NaN, and lines of zeros; the gaps are NaN */
            values[i] = static_cast<T>(i % 997 == 5 ? ~0u : i / pitch % 40 == 7 ? 0u : x);
    }
    const mx::Axis along{pitch, 1}, upright{1, pitch};
    Side across(c.rows, c.columns, along, c, width, size, false);
    Side down(c.columns, c.rows, upright, c, width, size, !c.transposed);
    Side want_across = across, want_down = down;
    const mx::Recipe recipe{mx::Rule::floor, c.tiles, 0x3b124925u + seed % 9};
    const Starts starts{0, 0, c.first_code};
    const auto expect = [&](bool is, Side &side) {
        if (is)
            Host::quantize<F, Encoder, PACKED>(values, side.tensor, recipe, side.scales,
                                               side.codes, starts);
        else
            side.scales.clear();
    };
    expect(c.across, want_across);
    expect(c.down, want_down);
    if (!c.across)
        across.scales.clear();
    if (!c.down)
        down.scales.clear();
    Device::quantize_both<F, Encoder, PACKED>(values, across.tensor, down.tensor, recipe,
                                              across.scales, across.codes, down.scales,
                                              down.codes, c.first_code);
    return across.scales == want_across.scales && across.codes == want_across.codes
           && down.scales == want_down.scales && down.codes == want_down.codes;
}

template <class F, class Encoder, bool PACKED, class T>
void one(const std::string &name, Report &report)
{
    uint32_t seed = 1;
    for (const Case &c : CASES) {
        const bool right = is_right<F, Encoder, PACKED, T>(c, seed++);
        const std::string text = name + (PACKED ? " packed" : "")
                                 + ::format(" %zu bits", 8 * sizeof(T))
                                 + ::format(", case %zu", static_cast<size_t>(&c - CASES));
        report.add("{\"case\": " + quoted(text) + ", \"wrong\": " + (right ? "0}" : "1}"),
                   (right ? "ok    " : "FAIL  ") + text, 1, right ? 0 : 1);
    }
}

/* quantize_stochastic_kernel against encode_stochastic of the same bits, and the scales against
 * quantize_block's. */
template <class F, bool PACKED, class T>
void by_chance(const std::string &name, int width, Report &report)
{
    constexpr uint64_t seed = 0x123456789abcdefull;
    const size_t lines = 5, length = 70, blocks = 3, padded = blocks * mx::BLOCK;
    std::vector<T> values(lines * length);
    uint32_t x = 7;
    for (T &value : values) {
        x = x * 1664525u + 1013904223u;
        value = static_cast<T>(((x & 0x83ffffffu) + 0x3c000000u) >> (4 - sizeof(T)) * 8);
    }
    const size_t bytes = padded * (PACKED ? F::bits : 8) / 8;
    const mx::Tensor t{lines, length, {length, 1}, {bytes, 1}, {blocks, 1}};
    Bytes scales(lines * blocks), codes(lines * bytes), want_scales = scales, plain = codes;
    Host::quantize<F, mx::Integers<true>, PACKED>(values, t, {mx::Rule::floor, false}, want_scales,
                                                  plain);
    Device::quantize_by_chance<F, PACKED>(values, t, {mx::Rule::floor, false}, seed, width, scales,
                                          codes);
    bool right = scales == want_scales && codes != plain;
    for (size_t i = 0; i < lines * padded; ++i) {
        const size_t line = i / padded, at = i % padded;
        const uint32_t number
            = at < length ? mx::float32_bits(values[line * length + at]) : 0u;
        const uint32_t want = mx::encode_stochastic<F>(
            number, mx::random_bits(seed, i, width), width, scales[i / mx::BLOCK]);
        const uint8_t got = PACKED ? mx::unpacked_code<F::bits>(codes.data() + line * bytes, at)
                                   : codes[line * bytes + at];
        right = right && got == want;
    }
    report.add("{\"case\": " + quoted(name) + ", \"wrong\": " + (right ? "0}" : "1}"),
               (right ? "ok    " : "FAIL  ") + name, 1, right ? 0 : 1);
}

/* Philox by the known answers of its authors' Random123. */
inline bool is_philox()
{
    const auto same = [](const mx::Words4 &c, uint32_t w0, uint32_t w1, uint32_t w2, uint32_t w3) {
        return c.x[0] == w0 && c.x[1] == w1 && c.x[2] == w2 && c.x[3] == w3;
    };
    return same(mx::philox(0, 0), 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8)
           && same(mx::philox(~0ull, ~0ull, ~0ull), 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd)
           && same(mx::philox(0x299f31d0a4093822ull, 0x85a308d3243f6a88ull, 0x0370734413198a2eull),
                   0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1);
}

inline int run(const std::string &head, Report &report)
{
    one<mx::E5M2, mx::Integers<false>, false, uint32_t>("e5m2", report);
    one<mx::E4M3, mx::Hardware, false, uint32_t>("e4m3", report);
    one<mx::E4M3, mx::Hardware, false, uint16_t>("e4m3", report);
    one<mx::E4M3, mx::Hardware, false, mx::Half>("e4m3, float16,", report);
    one<mx::E3M2, mx::Hardware, true, uint16_t>("e3m2", report);
    one<mx::E2M1, mx::Hardware, true, uint32_t>("e2m1", report);
    one<mx::E2M1, mx::Hardware, true, uint16_t>("e2m1", report);
    one<mx::Int8, mx::Integers<true>, false, uint16_t>("int8", report);
    one<mx::NVFP4, mx::Hardware, true, uint32_t>("nvfp4", report);
    one<mx::NVFP4, mx::Integers<true>, false, uint16_t>("nvfp4", report);
    one<mx::NVFP4, mx::Hardware, true, mx::Half>("nvfp4, float16,", report);
    by_chance<mx::E4M3, false, uint32_t>("e4m3 by chance", 8, report);
    by_chance<mx::E2M3, true, uint16_t>("e2m3 packed by chance", 32, report);
    by_chance<mx::E2M1, true, uint32_t>("e2m1 packed by chance", 16, report);
    const bool right = is_philox();
    report.add(std::string("{\"case\": \"philox\", \"wrong\": ") + (right ? "0}" : "1}"),
               right ? "ok    philox" : "FAIL  philox", 1, right ? 0 : 1);
    return report.finish(head, "matrices in both directions");
}

} // namespace both

#endif

/* Tensors in larger memory, at addresses and strides where a kernel must not load 16 bytes at
 * once; and all other ways to the same codes. */
#ifndef MX_PLACES_H
#define MX_PLACES_H

#include "machines.h"

/* Where items lie: `first` items after an aligned address, `step` apart; the lengths of lines are
 * rounded up to 16 items, and lines are `gap` items further apart. */
struct Place {
    size_t first, step, gap;

    mx::Axis axis(size_t length) const { return {(length * step + 15) / 16 * 16 + gap, step}; }
    size_t at(const mx::Axis &axis, size_t line, size_t i) const
    {
        return first + line * axis.line + i * axis.step;
    }
};

/* Also a way of computing: by the hardware's conversions, packed, scales in tiles. */
struct Places { const char *name; Place values, codes; bool hardware, packed, tiles; };

/* In the first ones all lines are aligned, also those of ragged length; the others break one of the
 * conditions of vector loads and stores each. */
constexpr Place SCALES{3, 2, 1};
constexpr Places PLACES[] = {
    {"lines 16 apart", {0, 1, 16}, {0, 1, 16}, false, false, false},
    {"by conversions", {0, 1, 16}, {0, 1, 16}, true, false, false},
    {"packed", {0, 1, 16}, {0, 1, 16}, false, true, false},
    {"packed, by conversions, scales in tiles", {0, 1, 16}, {0, 1, 16}, true, true, true},
    {"packed from 4 on", {0, 1, 0}, {4, 1, 0}, true, true, false},
    {"values from 2 on", {2, 1, 0}, {0, 1, 0}, false, false, true},
    {"codes from 8 on", {0, 1, 0}, {8, 1, 0}, false, false, false},
    {"lines of values 2 apart", {0, 1, 2}, {0, 1, 0}, false, false, false},
    {"lines of codes 8 apart", {0, 1, 0}, {0, 1, 8}, false, false, false},
    {"every second value", {0, 2, 0}, {0, 1, 0}, false, false, false},
    {"every second code", {0, 1, 0}, {0, 2, 0}, false, false, false},
};

/* A tensor as `places` says, of so many bytes of codes and so many scales in a line. */
inline mx::Tensor moved_to(const Places &places, const mx::Tensor &t, size_t bytes, size_t blocks)
{
    return {t.lines, t.length, places.values.axis(t.length), places.codes.axis(bytes),
            SCALES.axis(blocks)};
}
inline size_t scale_at(const Places &places, const mx::Tensor &moved, size_t blocks, size_t line,
                       size_t i)
{
    return places.tiles ? SCALES.first + mx::tiled_offset(line, i, blocks)
                        : SCALES.at(moved.scales, line, i);
}
inline size_t scales_size(const Places &places, const mx::Tensor &moved, size_t blocks)
{
    return places.tiles ? SCALES.first + mx::tiled_size(moved.lines, blocks)
                        : SCALES.at(moved.scales, moved.lines, 0);
}

/* Machine::quantize from and to other places. The memory between values is NaN; that between codes
 * and scales must stay as it is. */
template <class Machine, class F, class T>
void quantize_at(const Places &places, const std::vector<T> &values, const mx::Tensor &t,
                 mx::Recipe recipe, Bytes &scales, Bytes &codes)
{
    constexpr size_t size = mx::Blocks<F>::size;
    const size_t blocks = mx::blocks_of(t, size), length = blocks * size;
    const size_t bytes = places.packed ? length * F::bits / 8 : length;
    const mx::Tensor moved = moved_to(places, t, bytes, blocks);
    recipe.tiles = places.tiles;
    std::vector<T> from(places.values.at(moved.values, t.lines, 0), static_cast<T>(~uint32_t(0)));
    for (size_t line = 0; line < t.lines; ++line)
        for (size_t i = 0; i < t.length; ++i)
            from[places.values.at(moved.values, line, i)]
                = values[line * t.values.line + i * t.values.step];
    Bytes to_scales(scales_size(places, moved, blocks), 0xa5);
    Bytes to_codes(places.codes.at(moved.codes, t.lines, 0), 0xa5);
    const auto call = [&](auto encoder, auto packed) {
        Machine::template quantize<F, decltype(encoder), decltype(packed)::value>(
            from, moved, recipe, to_scales, to_codes,
            {places.values.first, SCALES.first, places.codes.first});
    };
    const auto encoded = [&](auto encoder) {
        if constexpr (F::bits < 8)
            if (places.packed)
                return call(encoder, std::true_type{});
        call(encoder, std::false_type{});
    };
    constexpr bool is_host = std::is_same_v<Machine, Host>; /* the encoders are compared there */
    using Other = std::conditional_t<is_host, mx::Integers<true>, mx::Hardware>;
    if (places.hardware)
        encoded(Other{});
    else
        encoded(mx::Integers<true>{});
    const auto taken = [](Bytes &memory, size_t at) {
        const uint8_t byte = memory[at];
        memory[at] = 0xa5;
        return byte;
    };
    for (size_t line = 0; line < t.lines; ++line) {
        for (size_t i = 0; i < blocks; ++i)
            scales[line * t.scales.line + i * t.scales.step]
                = taken(to_scales, scale_at(places, moved, blocks, line, i));
        Bytes whole(bytes);
        for (size_t i = 0; i < bytes; ++i)
            whole[i] = taken(to_codes, places.codes.at(moved.codes, line, i));
        for (size_t i = 0; i < length; ++i)
            codes[line * t.codes.line + i * t.codes.step]
                = places.packed ? mx::unpacked_code<F::bits>(whole.data(), i) : whole[i];
    }
    for (const Bytes *memory : {&to_scales, &to_codes})
        if (std::any_of(memory->begin(), memory->end(), [](uint8_t byte) { return byte != 0xa5; }))
            throw std::runtime_error(std::string(places.name) + ": memory beside it is written");
}

/* Machine::dequantize from and to other places, once whole lines and once all but their last three
 * numbers, which must not be written, nor the memory between. */
template <class Machine, class F, class T>
void dequantize_at(const Places &places, const Bytes &scales, const Bytes &codes,
                   const mx::Tensor &t, mx::Recipe recipe, std::vector<T> &values)
{
    constexpr size_t size = mx::Blocks<F>::size;
    const size_t blocks = mx::blocks_of(t, size), length = blocks * size;
    const bool packed = places.packed && F::bits < 8;
    const size_t bytes = packed ? length * F::bits / 8 : length;
    mx::Tensor moved = moved_to(places, t, bytes, blocks);
    recipe.tiles = places.tiles;
    Bytes from_scales(scales_size(places, moved, blocks), 0xa5);
    Bytes from_codes(places.codes.at(moved.codes, t.lines, 0), 0xa5);
    for (size_t line = 0; line < t.lines; ++line) {
        for (size_t i = 0; i < blocks; ++i)
            from_scales[scale_at(places, moved, blocks, line, i)]
                = scales[line * t.scales.line + i * t.scales.step];
        for (size_t i = 0; i < bytes; ++i)
            from_codes[places.codes.at(moved.codes, line, i)]
                = packed ? mx::packed_byte<F::bits>(&codes[line * t.codes.line], length, i)
                         : codes[line * t.codes.line + i];
    }
    const T untouched = static_cast<T>(0x5a5a5a5au);
    for (const size_t less : {size_t(3), size_t(0)}) {
        moved.length = t.length - less;
        std::vector<T> to(places.values.at(moved.values, t.lines, 0), untouched);
        const Starts starts{places.values.first, SCALES.first, places.codes.first};
        if (packed)
            Machine::template dequantize<F, (F::bits < 8)>(from_scales, from_codes, moved, recipe,
                                                           to, starts);
        else
            Machine::template dequantize<F, false>(from_scales, from_codes, moved, recipe, to,
                                                   starts);
        for (size_t line = 0; line < t.lines; ++line)
            for (size_t i = 0; i < moved.length; ++i) {
                T &value = to[places.values.at(moved.values, line, i)];
                values[line * t.values.line + i * t.values.step] = value;
                value = untouched;
            }
        for (const T value : to)
            if (static_cast<uint32_t>(value) != static_cast<uint32_t>(untouched))
                throw std::runtime_error(std::string(places.name) + ": memory beside it is written");
    }
}

#endif

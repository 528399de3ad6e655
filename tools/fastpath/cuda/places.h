/* Tensors in larger memory, at addresses and strides where a kernel must not load four at once. */
#ifndef MX_PLACES_H
#define MX_PLACES_H

#include "machines.h"

/* Where items lie: `first` items after an aligned address, `step` apart; the lengths of lines are
 * rounded up to four items, and lines are `gap` items further apart. */
struct Place {
    size_t first, step, gap;

    mx::Axis axis(size_t length) const { return {(length * step + 3) / 4 * 4 + gap, step}; }
    size_t at(const mx::Axis &axis, size_t line, size_t i) const
    {
        return first + line * axis.line + i * axis.step;
    }
};

struct Places { const char *name; Place values, codes; };

/* In the first one all lines are aligned, also those of ragged length; the others break one of the
 * conditions of vector loads and stores each. */
constexpr Place SCALES{3, 2, 1};
constexpr Places PLACES[] = {
    {"lines 4 apart", {0, 1, 4}, {0, 1, 4}},
    {"values from 2 on", {2, 1, 0}, {0, 1, 0}},
    {"codes from 2 on", {0, 1, 0}, {2, 1, 0}},
    {"lines of values 2 apart", {0, 1, 2}, {0, 1, 0}},
    {"lines of codes 2 apart", {0, 1, 0}, {0, 1, 2}},
    {"every second value", {0, 2, 0}, {0, 1, 0}},
    {"every second code", {0, 1, 0}, {0, 2, 0}},
};

/* Machine::quantize from and to other places. The memory between values is NaN; that between codes
 * and scales must stay as it is. */
template <class Machine, class F, class T>
void quantize_at(const Places &places, const std::vector<T> &values, const mx::Tensor &t,
                 mx::Rule rule, Bytes &scales, Bytes &codes)
{
    const size_t blocks = mx::blocks_of(t);
    const mx::Tensor moved{t.lines, t.length, places.values.axis(t.length),
                           places.codes.axis(blocks * mx::BLOCK), SCALES.axis(blocks)};
    std::vector<T> from(places.values.at(moved.values, t.lines, 0), static_cast<T>(~T(0)));
    for (size_t line = 0; line < t.lines; ++line)
        for (size_t i = 0; i < t.length; ++i)
            from[places.values.at(moved.values, line, i)]
                = values[line * t.values.line + i * t.values.step];
    Bytes to_scales(SCALES.at(moved.scales, t.lines, 0), 0xa5);
    Bytes to_codes(places.codes.at(moved.codes, t.lines, 0), 0xa5);
    Machine::template quantize<F>(from, moved, rule, to_scales, to_codes,
                                  {places.values.first, SCALES.first, places.codes.first});
    const auto take = [&](Bytes &memory, const Place &place, const mx::Axis &there,
                          const mx::Axis &here, size_t length, Bytes &out) {
        for (size_t line = 0; line < t.lines; ++line)
            for (size_t i = 0; i < length; ++i) {
                uint8_t &byte = memory[place.at(there, line, i)];
                out[line * here.line + i * here.step] = byte;
                byte = 0xa5;
            }
        if (std::any_of(memory.begin(), memory.end(), [](uint8_t byte) { return byte != 0xa5; }))
            throw std::runtime_error(std::string(places.name) + ": memory beside it is written");
    };
    take(to_scales, SCALES, moved.scales, t.scales, blocks, scales);
    take(to_codes, places.codes, moved.codes, t.codes, blocks * mx::BLOCK, codes);
}

#endif

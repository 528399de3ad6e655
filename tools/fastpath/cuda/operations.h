/* The operations of the vectors: words in, words out, by a machine and a kit of functions. */
#ifndef MX_OPERATIONS_H
#define MX_OPERATIONS_H

#include <optional>
#include <stdexcept>
#include <string>

#include "places.h"

using Words = std::vector<uint32_t>;

/* The header's own functions; intrinsics.h has the other kit. */
struct HeaderKit {
    static constexpr const char *name = "header";
    static constexpr bool whole = true; /* blocks and bytes, too */
    static constexpr bool nearest = true; /* scales to the nearest, too */
    template <class F> static constexpr bool has = true;
    template <class F, bool SATURATE> using Encode = mx::Encode<F, SATURATE>;
    template <class F> using Decode = mx::Decode<F>;
    using EncodeScale = mx::EncodeScale;
    using DecodeScale = mx::DecodeScale;
};

/* What a policy of mxref says, as far as the header has it. */
struct Policy {
    std::string text = "ocp";
    mx::Rule rule = mx::Rule::floor;
    mx::ScaleRounding rounding = mx::ScaleRounding::toward_zero;
    bool saturate = true, tiles = false;
    bool conversions = false; /* blocks by the hardware's, which saturate */

    static Policy parse(const std::string &text);
};

inline Policy Policy::parse(const std::string &text)
{
    Policy policy;
    policy.text = text;
    for (size_t at = 0, end; at <= text.size(); at = end + 1) {
        end = std::min(text.find('+', at), text.size());
        const std::string choice = text.substr(at, end - at);
        if (choice == "overflow=nonsaturating")
            policy.saturate = false;
        else if (choice == "scale_rule=ceil")
            policy.rule = mx::Rule::ceil;
        else if (choice == "scale_rule=rceil")
            policy.rule = mx::Rule::rceil;
        else if (choice == "scale_rule=even")
            policy.rule = mx::Rule::even;
        else if (choice == "scale_rule=rceil_reciprocal")
            policy.rule = mx::Rule::rceil_reciprocal;
        else if (choice == "scale_rounding=toward_positive")
            policy.rounding = mx::ScaleRounding::toward_positive;
        else if (choice == "scale_rounding=ties_to_away")
            policy.rounding = mx::ScaleRounding::ties_to_away;
        else if (choice == "scale_layout=tiles_128x4")
            policy.tiles = true;
        else if (choice != "ocp" && choice != "scale_rule=floor" && choice != "scale_place=before")
            throw std::invalid_argument("no such choice: " + choice);
    }
    return policy;
}

/* Calls with a value of the format's type; false if there is no such format. */
template <class Call> bool with_format(const std::string &name, Call call)
{
    const std::string element = name.substr(name.rfind('_') + 1);
    if (element == "e5m2")
        call(mx::E5M2{});
    else if (element == "e4m3")
        call(mx::E4M3{});
    else if (element == "e3m2")
        call(mx::E3M2{});
    else if (element == "e2m3")
        call(mx::E2M3{});
    else if (element == "e2m1")
        call(mx::E2M1{});
    else if (element == "int8" || element == "mxint8")
        call(mx::Int8{});
    else
        return false;
    return true;
}

/* The same, also NVFP4, of which there are only blocks. */
template <class Call> bool with_block_format(const std::string &name, Call call)
{
    if (name != "fp4_ue4m3" && name != "nvfp4")
        return with_format(name, call);
    call(mx::NVFP4{});
    return true;
}

template <class Call> bool with_type(const std::string &name, Call call)
{
    if (name == "f32")
        call(uint32_t{});
    else if (name == "bf16")
        call(uint16_t{});
    else if (name == "f16")
        call(mx::Half{});
    else
        return false;
    return true;
}

template <class Machine, class Kit> class Operations {
  public:
    /* Tensors lie without gaps, or as `places` says. */
    explicit Operations(Policy policy, const Places *places = nullptr)
        : policy_(std::move(policy)), places_(places)
    {
    }

    /* The answers to so many cases of the same widths, case by case; nothing where there is no
     * such operation, format or type. */
    std::optional<Words> operator()(const std::string &op, const std::string &format,
                                    const std::string &type, size_t cases, const Words &in) const
    {
        Words out;
        bool known = false;
        if (op == "encode")
            known = encode(format, type, in, out);
        else if (op == "decode")
            known = decode(format, type, in, out);
        else if (op == "encode_scale")
            known = format == "e8m0" && encode_scale(type, in, out);
        else if (op == "decode_scale")
            known = format == "e8m0" && decoded<typename Kit::DecodeScale>(type, in, out);
        else if constexpr (Kit::whole)
            known = whole(op, format, type, cases, in, out);
        return known ? std::optional<Words>(std::move(out)) : std::nullopt;
    }

  private:
    bool whole(const std::string &op, const std::string &format, const std::string &type,
               size_t cases, const Words &in, Words &out) const
    {
        if (op == "shared_scale")
            return shared_scale(format, type, in, out);
        if (op == "encode_stochastic")
            return encode_stochastic(format, type, cases, in, out);
        if (op == "quantize")
            return quantize(format, type, cases, in, out);
        if (op == "dequantize")
            return dequantize(format, type, cases, in, out);
        if (op == "quantize_tensor" && format.find("mx") == 0)
            return quantize_tensor(format, type, in, out);
        if (op == "pack" && type == "bytes")
            return pack(format, in, 0, out);
        if (op == "unpack" && (type == "low_nibble_first" || type == "lsb_first"))
            return unpack(format, in, 1, at(in, 0), out);
        if (op == "pack_blocks" && type == "bytes") {
            out.push_back(at(in, 0));
            return pack(format, in, 1, out);
        }
        if (op == "unpack_blocks" && type == "bytes") {
            out.push_back(at(in, 0));
            return unpack(format, in, 1, mx::BLOCK, out);
        }
        if (op == "pack_scales" && type == "bytes")
            return pack_scales(in, policy_.tiles, out);
        if (op == "unpack_scales" && (type == "row_major" || type == "tiles_128x4"))
            return unpack_scales(in, type == "tiles_128x4", out);
        return false;
    }

    static uint32_t at(const Words &words, size_t i)
    {
        need(i < words.size());
        return words[i];
    }
    static void need(bool condition)
    {
        if (!condition)
            throw std::runtime_error("the words do not belong together");
    }
    template <class T> static std::vector<T> narrow(const Words &words, size_t first = 0)
    {
        return std::vector<T>(words.begin() + static_cast<std::ptrdiff_t>(first), words.end());
    }

    template <class In, class Out, class Function>
    static void map(Function function, const Words &in, Words &out)
    {
        std::vector<Out> answers(in.size());
        Machine::map(function, narrow<In>(in), answers);
        for (const Out answer : answers)
            out.push_back(static_cast<uint32_t>(answer));
    }
    template <class Call> static bool with_kit_type(const std::string &type, Call call)
    {
        bool has = false;
        const bool known = with_type(type, [&](auto t) {
            if constexpr (Kit::whole || !std::is_same_v<decltype(t), mx::Half>) {
                has = true;
                call(t);
            }
        });
        return known && has;
    }
    bool encode(const std::string &format, const std::string &type, const Words &in,
                Words &out) const
    {
        bool has = false;
        const bool known = with_format(format, [&](auto f) {
            using F = decltype(f);
            if constexpr (Kit::template has<F>)
                has = with_kit_type(type, [&](auto t) {
                    using T = decltype(t);
                    if (policy_.saturate)
                        map<T, uint8_t>(typename Kit::template Encode<F, true>{}, in, out);
                    else
                        map<T, uint8_t>(typename Kit::template Encode<F, false>{}, in, out);
                });
        });
        return known && has;
    }
    template <class Function>
    static bool decoded(const std::string &type, const Words &in, Words &out)
    {
        return with_kit_type(type, [&](auto t) {
            map<uint8_t, decltype(t)>(mx::Stored<Function, decltype(t)>{}, in, out);
        });
    }
    bool decode(const std::string &format, const std::string &type, const Words &in,
                Words &out) const
    {
        bool has = false;
        const bool known = with_format(format, [&](auto f) {
            using F = decltype(f);
            if constexpr (Kit::template has<F>)
                has = decoded<typename Kit::template Decode<F>>(type, in, out);
        });
        return known && has;
    }
    bool encode_scale(const std::string &type, const Words &in, Words &out) const
    {
        if (policy_.rounding == mx::ScaleRounding::ties_to_away && !Kit::nearest)
            return false;
        return with_kit_type(type, [&](auto t) {
            map<decltype(t), uint8_t>(typename Kit::EncodeScale{policy_.rounding}, in, out);
        });
    }

    bool encode_stochastic(const std::string &format, const std::string &type, size_t cases,
                           const Words &in, Words &out) const
    {
        need(in.size() == 3 * cases);
        bool typed = false;
        const bool known = with_format(format, [&](auto f) {
            typed = with_type(type, [&](auto t) {
                for (size_t i = 0; i < in.size(); i += 3) {
                    const uint32_t x = mx::float32_bits(static_cast<decltype(t)>(in[i]));
                    const int width = static_cast<int>(in[i + 2]);
                    need(width >= 1 && width <= 32);
                    out.push_back(mx::encode_stochastic<decltype(f)>(x, in[i + 1], width));
                }
            });
        });
        return known && typed;
    }

    /* Calls with a format and a type. */
    template <class Call>
    static bool with(const std::string &format, const std::string &type, Call call)
    {
        bool typed = false;
        const bool known = with_block_format(format, [&](auto f) {
            typed = with_type(type, [&](auto t) { call(f, t); });
        });
        return known && typed;
    }
    bool shared_scale(const std::string &format, const std::string &type, const Words &in,
                      Words &out) const
    {
        bool typed = false;
        const bool known = with_format(format, [&](auto f) {
            typed = with_type(type, [&](auto t) {
                map<decltype(t), uint8_t>(mx::SharedScale<decltype(f)>{policy_.rule}, in, out);
            });
        });
        return known && typed;
    }
    template <class F, class T>
    void quantize(const std::vector<T> &values, const mx::Tensor &tensor, mx::Recipe recipe,
                  Bytes &scales, Bytes &codes) const
    {
        if (places_)
            return quantize_at<Machine, F>(*places_, values, tensor, recipe, scales, codes);
        const auto call = [&](auto encoder) {
            Machine::template quantize<F, decltype(encoder), false>(values, tensor, recipe, scales,
                                                                    codes);
        };
        if constexpr (!std::is_same_v<Machine, Host>)
            if (policy_.conversions && policy_.saturate)
                return call(mx::Hardware{});
        if (policy_.saturate || !F::has_nan)
            return call(mx::Integers<true>{});
        if constexpr (F::has_nan)
            call(mx::Integers<false>{});
    }

    /* Calls with the words of the cases, without the scale of a tensor, and that; cases with the
     * same scale are one tensor. */
    template <class Call>
    static void by_tensor(const std::string &format, size_t cases, const Words &in, Call call)
    {
        const size_t width = cases ? in.size() / cases : 0;
        if (format != "nvfp4")
            return call(cases, in, mx::Recipe{}.tensor);
        for (size_t first = 0, last; first < cases; first = last) {
            const uint32_t tensor = in[first * width];
            need(tensor > 0 && tensor < mx::INFINITE);
            Words some;
            for (last = first; last < cases && in[last * width] == tensor; ++last)
                some.insert(some.end(), &in[last * width] + 1, &in[last * width] + width);
            call(last - first, some, tensor);
        }
    }
    /* A tensor of blocks: one in a line, if they are to lie in many places, or all. */
    template <class F> mx::Tensor tensor_of(size_t cases) const
    {
        constexpr size_t size = mx::Blocks<F>::size;
        const size_t lines = places_ ? cases : 1, blocks = cases / lines;
        const mx::Axis across{blocks * size, 1};
        return {lines, across.line, across, across, {blocks, 1}};
    }
    bool quantize(const std::string &format, const std::string &type, size_t cases,
                  const Words &all, Words &out) const
    {
        return with(format, type, [&](auto f, auto t) {
            using F = decltype(f);
            constexpr size_t size = mx::Blocks<F>::size;
            need(all.size() == cases * (size + (format == "nvfp4" ? 1 : 0)));
            by_tensor(format, cases, all, [&](size_t n, const Words &in, uint32_t scale) {
                Bytes scales(n), codes(in.size());
                quantize<F>(narrow<decltype(t)>(in), tensor_of<F>(n), {policy_.rule, false, scale},
                            scales, codes);
                for (size_t i = 0; i < n; ++i) {
                    out.push_back(scales[i]);
                    out.insert(out.end(), &codes[i * size], &codes[i * size] + size);
                }
            });
        });
    }
    bool quantize_tensor(const std::string &format, const std::string &type, const Words &in,
                         Words &out) const
    {
        const size_t rows = at(in, 0), columns = at(in, 1);
        need(in.size() == 3 + rows * columns && at(in, 2) < 2);
        const bool along_rows = in[2] == 1;
        mx::Tensor t{};
        t.lines = along_rows ? rows : columns;
        t.length = along_rows ? columns : rows;
        const size_t blocks = mx::blocks_of(t);
        t.values = along_rows ? mx::Axis{columns, 1} : mx::Axis{1, columns};
        t.codes = along_rows ? mx::Axis{blocks * mx::BLOCK, 1} : mx::Axis{1, columns};
        t.scales = along_rows ? mx::Axis{blocks, 1} : mx::Axis{1, columns};
        return with(format, type, [&](auto f, auto x) {
            Bytes scales(t.lines * blocks), codes(t.lines * blocks * mx::BLOCK);
            if constexpr (!std::is_same_v<decltype(f), mx::NVFP4>)
                quantize<decltype(f)>(narrow<decltype(x)>(in, 3), t, {policy_.rule, false}, scales,
                                      codes);
            out.assign(scales.begin(), scales.end());
            out.insert(out.end(), codes.begin(), codes.end());
        });
    }
    bool dequantize(const std::string &format, const std::string &type, size_t cases,
                    const Words &all, Words &out) const
    {
        return with(format, type, [&](auto f, auto t) {
            using F = decltype(f);
            using T = decltype(t);
            constexpr size_t size = mx::Blocks<F>::size;
            need(all.size() == cases * (size + (format == "nvfp4" ? 2 : 1)));
            by_tensor(format, cases, all, [&](size_t, const Words &in, uint32_t scale) {
                Bytes scales, codes;
                for (size_t i = 0; i < in.size(); ++i)
                    (i % (size + 1) ? codes : scales).push_back(static_cast<uint8_t>(in[i]));
                std::vector<T> values(codes.size());
                const mx::Tensor tensor = tensor_of<F>(scales.size());
                const mx::Recipe recipe{policy_.rule, false, scale};
                if (places_)
                    dequantize_at<Machine, F>(*places_, scales, codes, tensor, recipe, values);
                else
                    Machine::template dequantize<F, false>(scales, codes, tensor, recipe, values);
                for (const T value : values)
                    out.push_back(static_cast<uint32_t>(value));
            });
        });
    }

    /* The rest of the words from `first` on, put behind what `out` holds. */
    static bool pack(const std::string &format, const Words &in, size_t first, Words &out)
    {
        need(in.size() >= first);
        return with_format(format, [&](auto f) {
            constexpr int bits = decltype(f)::bits;
            const Bytes codes = narrow<uint8_t>(in, first);
            Bytes packed(mx::packed_size(bits, codes.size()));
            Machine::template pack<bits>(codes, packed);
            out.insert(out.end(), packed.begin(), packed.end());
        });
    }
    static bool unpack(const std::string &format, const Words &in, size_t first, size_t count,
                       Words &out)
    {
        return with_format(format, [&](auto f) {
            constexpr int bits = decltype(f)::bits;
            need(in.size() == first + mx::packed_size(bits, count));
            Bytes codes(count);
            Machine::template unpack<bits>(narrow<uint8_t>(in, first), codes);
            out.insert(out.end(), codes.begin(), codes.end());
        });
    }
    static bool pack_scales(const Words &in, bool tiles, Words &out)
    {
        const size_t rows = at(in, 0), columns = at(in, 1);
        need(in.size() == 2 + rows * columns);
        Bytes packed = narrow<uint8_t>(in, 2);
        if (tiles) {
            const Bytes scales = packed;
            packed.assign(mx::tiled_size(rows, columns), 0xa5);
            Machine::tile(scales, rows, columns, packed);
        }
        out.assign(packed.begin(), packed.end());
        return true;
    }
    static bool unpack_scales(const Words &in, bool tiles, Words &out)
    {
        const size_t rows = at(in, 0), columns = at(in, 1);
        need(in.size() == 2 + (tiles ? mx::tiled_size(rows, columns) : rows * columns));
        Bytes scales = narrow<uint8_t>(in, 2);
        if (tiles) {
            const Bytes packed = scales;
            scales.assign(rows * columns, 0xa5);
            Machine::untile(packed, rows, columns, scales);
        }
        out.assign(scales.begin(), scales.end());
        return true;
    }

    Policy policy_;
    const Places *places_;
};

#endif

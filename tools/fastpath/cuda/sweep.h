/* Every float of a type, encoded and compared with the published thresholds, on the device or, a
 * share of float32, on the host; what is wrong, as intervals. */
#ifndef MX_SWEEP_H
#define MX_SWEEP_H

#include <chrono>
#include <fstream>
#include <type_traits>

#include "operations.h"
#include "report.h"

namespace sweep {

/* For each sign the codes and the magnitude from which each is the answer. */
struct Table {
    struct Side { uint32_t count, from[128]; uint8_t codes[128]; } sides[2];
    uint32_t infinite; /* magnitudes above are NaN */
    uint8_t nan, nan_is_class; /* the code of NaN; whether every NaN code is right */
};

MX_BOTH uint8_t wanted(const Table &table, uint32_t sign, uint32_t magnitude)
{
    if (magnitude > table.infinite)
        return table.nan;
    const Table::Side &side = table.sides[sign];
    uint32_t low = 0, high = side.count; /* from[low] <= magnitude < from[high] */
    while (high - low > 1) {
        const uint32_t middle = (low + high) / 2;
        if (side.from[middle] <= magnitude)
            low = middle;
        else
            high = middle;
    }
    return side.codes[low];
}

template <class Encoder, class T> MX_BOTH bool is_wrong(const Table &table, T x)
{
    constexpr uint32_t sign_bit = 8 * sizeof(T) - 1;
    const uint32_t sign = static_cast<uint32_t>(x) >> sign_bit;
    const uint32_t magnitude = static_cast<uint32_t>(x) & ((1u << sign_bit) - 1u);
    const uint8_t got = Encoder{}(x);
    if (magnitude > table.infinite && table.nan_is_class)
        return (got & 0x7f) < table.nan_is_class;
    return got != wanted(table, sign, magnitude);
}

#if defined(MX_KERNELS)
/* Word i of `wrong` has a bit for each of the 32 inputs from 32 * (first + i) on. */
template <class Encoder, class T>
__global__ void sweep_kernel(const Table *table, uint64_t first, uint32_t *wrong, uint32_t words,
                             unsigned long long *count)
{
    MX_FOR(i, words)
    {
        uint32_t word = 0;
        for (uint32_t bit = 0; bit < 32; ++bit)
            if (is_wrong<Encoder>(*table, static_cast<T>((first + i) * 32 + bit)))
                word |= 1u << bit;
        wrong[i] = word;
        if (word)
            atomicAdd(count, static_cast<unsigned long long>(__popc(word)));
    }
}
#endif

/* The list of hex words of a key in a line of JSON. */
inline Words listed(const std::string &line, const std::string &key)
{
    const std::string start = "\"" + key + "\":\"";
    const size_t at = line.find(start);
    if (at == std::string::npos)
        throw std::runtime_error("no " + key + " in a line of the thresholds");
    Words words;
    const char *text = line.c_str() + at + start.size();
    while (*text != '"') {
        char *end = nullptr;
        words.push_back(static_cast<uint32_t>(std::strtoul(text, &end, 16)));
        if (end == text || words.size() > 128)
            throw std::runtime_error("no list of at most 128 hex words: " + key);
        text = *end == ' ' ? end + 1 : end;
    }
    return words;
}

template <class F> Table read(const std::string &path, const std::string &type)
{
    Table table{};
    table.infinite = type == "bf16" ? mx::INFINITE >> 16 : mx::INFINITE;
    table.nan = F::nan;
    table.nan_is_class = F::has_nan ? static_cast<uint8_t>(F::infinity < 0 ? 0x7f : 0x7d) : 0;
    std::ifstream stream(path);
    for (std::string line; std::getline(stream, line);) {
        const std::string start = "{\"float\":\"" + type + "\",\"rounding\":\"ties_to_even\",";
        if (line.compare(0, start.size(), start) != 0)
            continue;
        Table::Side &side = table.sides[line.find("\"sign\":\"-\"") != std::string::npos];
        const Words codes = listed(line, "codes"), from = listed(line, "from");
        if (codes.size() != from.size() || from.empty() || from[0] != 0)
            throw std::runtime_error(path + ": codes and thresholds do not belong together");
        side.count = static_cast<uint32_t>(codes.size());
        for (size_t i = 0; i < codes.size(); ++i) {
            side.codes[i] = static_cast<uint8_t>(codes[i]);
            side.from[i] = from[i];
        }
    }
    if (!table.sides[0].count || !table.sides[1].count)
        throw std::runtime_error(path + ": no thresholds of " + type + " in it");
    return table;
}

/* Runs of wrong inputs, from ascending ones; `step` is the distance of those that were asked. */
struct Intervals {
    struct Run { uint64_t first, last; };
    std::vector<Run> longest; /* eight of them, in the order of the inputs */
    uint64_t inputs = 0, wrong = 0, runs = 0, step = 1;

    void add(uint64_t x)
    {
        wrong += 1;
        if (open_ && x - run_.last <= step) {
            run_.last = x;
            return;
        }
        close();
        run_ = Run{x, x};
        open_ = true;
    }
    void close()
    {
        if (!open_)
            return;
        open_ = false;
        runs += 1;
        longest.push_back(run_);
        if (longest.size() > 8) {
            const auto shorter = [](const Run &a, const Run &b) {
                return a.last - a.first < b.last - b.first;
            };
            longest.erase(std::min_element(longest.begin(), longest.end(), shorter));
        }
    }

  private:
    Run run_{};
    bool open_ = false;
};

/* On the host: every `stride`-th input, and four inputs on each side of every threshold. */
template <class Encoder, class T> Intervals on_host(const Table &table, uint64_t stride)
{
    constexpr uint64_t all = uint64_t(1) << (8 * sizeof(T)), sign_bit = all / 2;
    Intervals found;
    found.step = stride;
    std::vector<uint64_t> near;
    for (uint64_t sign = 0; sign < 2; ++sign)
        for (uint32_t i = 0; i < table.sides[sign].count; ++i)
            for (int64_t d = -4; d <= 4; ++d)
                near.push_back((sign * sign_bit + table.sides[sign].from[i] + uint64_t(d)) % all);
    std::sort(near.begin(), near.end());
    near.erase(std::unique(near.begin(), near.end()), near.end());
    size_t next = 0;
    const auto ask = [&](uint64_t x) {
        found.inputs += 1;
        if (is_wrong<Encoder>(table, static_cast<T>(x)))
            found.add(x);
    };
    for (uint64_t x = 0; x < all; x += stride) {
        for (; next < near.size() && near[next] <= x; ++next)
            if (near[next] != x)
                ask(near[next]);
        ask(x);
    }
    for (; next < near.size(); ++next)
        ask(near[next]);
    found.close();
    return found;
}

#if defined(MX_KERNELS)
/* On the device: every input. */
template <class Encoder, class T> Intervals on_device(const Table &table)
{
    const uint64_t words = (uint64_t(1) << (8 * sizeof(T))) / 32;
    const uint32_t chunk = static_cast<uint32_t>(std::min<uint64_t>(words, 1 << 23));
    const Buffer<Table> on(std::vector<Table>{table});
    const Buffer<uint32_t> wrong(chunk);
    std::vector<uint32_t> bits(chunk);
    Intervals found;
    for (uint64_t first = 0; first < words; first += chunk) {
        std::vector<unsigned long long> count{0};
        const Buffer<unsigned long long> counter(count);
        MX_LAUNCH(grid(chunk), Device::threads, (sweep_kernel<Encoder, T>), on.get(), first,
                  wrong.get(), chunk, counter.get());
        counter.read(count);
        found.inputs += uint64_t(chunk) * 32;
        if (count[0] == 0)
            continue;
        wrong.read(bits);
        for (uint64_t i = 0; i < chunk; ++i)
            for (uint32_t bit = 0; bits[i] >> bit; ++bit)
                if (bits[i] >> bit & 1u)
                    found.add((first + i) * 32 + bit);
    }
    found.close();
    return found;
}
#endif

template <class Encoder, class T, class Machine>
Intervals run(const Table &table, uint64_t stride)
{
#if defined(MX_KERNELS)
    if constexpr (std::is_same_v<Machine, Device>)
        return on_device<Encoder, T>(table);
#endif
    return on_host<Encoder, T>(table, stride);
}

template <class F, class Encoder, class T, class Machine>
void one(const std::string &folder, const std::string &name, const std::string &type,
         uint64_t stride, Report &report)
{
    const int digits = 2 * static_cast<int>(sizeof(T));
    try {
        const auto start = std::chrono::steady_clock::now();
        const Table table = read<F>(folder + "/" + name + ".json", type);
        const Intervals found = run<Encoder, T, Machine>(table, stride);
        const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
        std::string runs, text;
        for (const auto &run : found.longest) {
            const auto code = [&](uint64_t x) {
                return static_cast<unsigned>(Encoder{}(static_cast<T>(x)));
            };
            const uint64_t mask = (uint64_t(1) << (8 * sizeof(T) - 1)) - 1;
            const unsigned want = wanted(table, run.first > mask,
                                         static_cast<uint32_t>(run.first & mask));
            const auto first = static_cast<unsigned long long>(run.first);
            const auto last = static_cast<unsigned long long>(run.last);
            /* What a device got there is not brought back; the host's answer would be another's. */
            const std::string got = std::is_same_v<Machine, Host>
                                        ? format("%02x", code(run.first)) : std::string();
            text += format("\n      %0*llx to %0*llx: want %02x first", digits, first, digits, last,
                           want) + (got.empty() ? "" : ", got " + got);
            runs += format("%s{\"first\": \"%0*llx\", \"last\": \"%0*llx\", \"want\": \"%02x\"",
                           runs.empty() ? "" : ", ", digits, first, digits, last, want)
                    + (got.empty() ? "" : ", \"got\": \"" + got + "\"") + "}";
        }
        const auto inputs = static_cast<unsigned long long>(found.inputs);
        const auto wrong = static_cast<unsigned long long>(found.wrong);
        const auto count = static_cast<unsigned long long>(found.runs);
        report.add(format("{\"format\": \"%s\", \"float\": \"%s\", \"inputs\": %llu, \"wrong\": "
                          "%llu, \"intervals\": %llu, \"seconds\": %.3f, \"longest\": [",
                          name.c_str(), type.c_str(), inputs, wrong, count, time.count())
                       + runs + "]}",
                   format("%s  encode %s %s  %llu inputs, %llu wrong, in %llu intervals",
                          wrong ? "FAIL" : "ok  ", name.c_str(), type.c_str(), inputs, wrong, count)
                       + text,
                   found.inputs, found.wrong);
    } catch (const std::exception &error) {
        report.broken = true;
        report.add("{\"format\": " + quoted(name) + ", \"error\": " + quoted(error.what()) + "}",
                   "FAIL  encode " + name + " " + type + ": " + error.what(), 0, 0);
    }
}

/* All formats of one float type. */
template <class Machine, class Kit>
int check(const std::string &folder, const std::string &type, uint64_t stride,
          const std::string &head, Report &report)
{
    for (const char *name : {"e5m2", "e4m3", "e3m2", "e2m3", "e2m1", "int8"})
        with_format(name, [&](auto f) {
            using F = decltype(f);
            if constexpr (Kit::template has<F>)
                with_type(type, [&](auto t) {
                    using T = decltype(t);
                    if constexpr (!std::is_same_v<T, mx::Half>) /* no thresholds */
                        one<F, typename Kit::template Encode<F, true>, T, Machine>(
                            folder, name, type, stride, report);
                });
        });
    return report.finish(head, "inputs of encode");
}

} // namespace sweep

#endif

/* Launches that an interpreter of PTX has run (tools/gpu/ptx/report.py --save), made again: memory
 * must be as they left it there, byte for byte but for what kind of NaN a number is. */
#ifndef MX_REPLAY_H
#define MX_REPLAY_H

#if defined(MX_KERNELS)

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "operations.h"
#include "report.h"
#include "vectors.h"

namespace replay {

/* What a file has, from the front on. */
class Reader {
  public:
    explicit Reader(std::string bytes) : bytes_(std::move(bytes)) {}
    std::string take(size_t size)
    {
        if (size > bytes_.size() - at_)
            throw std::runtime_error("it ends early");
        at_ += size;
        return bytes_.substr(at_ - size, size);
    }
    std::string line() { return take(bytes_.find('\n', at_) + 1 - at_); }
    /* A value, filled up to 8 bytes. */
    template <class T> T value()
    {
        T out;
        std::memcpy(&out, take((sizeof(T) + 7) / 8 * 8).data(), sizeof(T));
        return out;
    }
    size_t word() { return static_cast<size_t>(value<uint64_t>()); }

  private:
    std::string bytes_;
    size_t at_ = 0;
};

struct Name { std::string kind, format, type, encoder; bool packed = false; };

/* Arguments of a launch; addresses are those of the memory here. */
struct Arguments {
    Reader reader;
    uint8_t *memory;
    size_t base;

    template <class T> T *pointer()
    {
        const size_t address = reader.word();
        return address ? reinterpret_cast<T *>(memory + (address - base)) : nullptr;
    }
    template <class T> T value() { return reader.value<T>(); }
};

template <class F, class T, class Encoder, bool PACKED>
void by_encoder(const std::string &kind, dim3 blocks, dim3 threads, Arguments &a)
{
    const T *const values = a.pointer<const T>();
    const mx::Tensor across = a.value<mx::Tensor>();
    if (kind == "quantize") {
        const mx::Recipe recipe = a.value<mx::Recipe>();
        uint8_t *const scales = a.pointer<uint8_t>(), *const codes = a.pointer<uint8_t>();
        MX_LAUNCH(blocks, threads, (mx::quantize_kernel<F, T, Encoder, PACKED>), values, across,
                  recipe, scales, codes);
    } else if (kind == "quantize_both") {
        const mx::Tensor down = a.value<mx::Tensor>();
        const mx::Recipe recipe = a.value<mx::Recipe>();
        uint8_t *to[4];
        for (uint8_t *&one : to)
            one = a.pointer<uint8_t>();
        MX_LAUNCH(blocks, threads, (mx::quantize_both_kernel<F, T, Encoder, PACKED>), values,
                  across, down, recipe, to[0], to[1], to[2], to[3]);
    } else {
        throw std::runtime_error("no such kernel: " + kind);
    }
}

template <class F, class T, bool PACKED>
void launch(const Name &name, dim3 blocks, dim3 threads, Arguments &a)
{
    if (name.encoder == "Hardware")
        return by_encoder<F, T, mx::Hardware, PACKED>(name.kind, blocks, threads, a);
    if (name.encoder == "Integers<true>")
        return by_encoder<F, T, mx::Integers<true>, PACKED>(name.kind, blocks, threads, a);
    if constexpr (F::has_nan)
        if (name.encoder == "Integers<false>")
            return by_encoder<F, T, mx::Integers<false>, PACKED>(name.kind, blocks, threads, a);
    if (name.kind == "dequantize") {
        const uint8_t *const scales = a.pointer<const uint8_t>();
        const uint8_t *const codes = a.pointer<const uint8_t>();
        const mx::Tensor t = a.value<mx::Tensor>();
        const mx::Recipe recipe = a.value<mx::Recipe>();
        T *const values = a.pointer<T>();
        MX_LAUNCH(blocks, threads, (mx::dequantize_kernel<F, T, PACKED>), scales, codes, t, recipe,
                  values);
        return;
    }
    if constexpr (!std::is_same_v<F, mx::NVFP4>)
        if (name.kind == "quantize_stochastic") {
            const T *const values = a.pointer<const T>();
            const mx::Tensor t = a.value<mx::Tensor>();
            const mx::Recipe recipe = a.value<mx::Recipe>();
            const uint64_t seed = a.value<uint64_t>();
            const int width = a.value<int>();
            uint8_t *const scales = a.pointer<uint8_t>(), *const codes = a.pointer<uint8_t>();
            MX_LAUNCH(blocks, threads, (mx::quantize_stochastic_kernel<F, T, PACKED>), values, t,
                      recipe, seed, width, scales, codes);
            return;
        }
    throw std::runtime_error("no such kernel: " + name.kind + " by " + name.encoder);
}

inline void launch(const Name &name, dim3 blocks, dim3 threads, Arguments &a)
{
    bool typed = false;
    const bool known = with_block_format(name.format, [&](auto f) {
        using F = decltype(f);
        typed = with_type(name.type, [&](auto t) {
            using T = decltype(t);
            if constexpr (F::bits < 8)
                if (name.packed)
                    return launch<F, T, true>(name, blocks, threads, a);
            launch<F, T, false>(name, blocks, threads, a);
        });
    });
    if (!known || !typed)
        throw std::runtime_error("no such format or type: " + name.format + " " + name.type);
}

/* Whether bytes are as they should be; with a type, NaN is compared as a class. */
inline bool alike(const uint8_t *got, const char *want, size_t size, const std::string &type)
{
    if (type.empty())
        return std::memcmp(got, want, size) == 0;
    const size_t width = type == "f32" ? 4 : 2;
    const auto word = [&](const void *from, size_t i) {
        uint32_t out = 0;
        std::memcpy(&out, static_cast<const char *>(from) + i, width);
        return out;
    };
    const auto is_nan = [&](uint32_t x) { return vectors::is_nan(x, "dequantize", "", type); };
    for (size_t i = 0; i + width <= size; i += width) {
        const uint32_t have = word(got, i), should = word(want, i);
        if (have != should && !(is_nan(have) && is_nan(should)))
            return false;
    }
    return true;
}

struct Result { size_t tensors = 0, failed = 0, launches = 0; std::string kernel, first; };

inline Result run_file(const std::filesystem::path &path)
{
    std::ifstream stream(path, std::ios::binary);
    std::stringstream all;
    all << stream.rdbuf();
    Reader reader(all.str());
    Result result;
    result.kernel = reader.line();
    result.kernel.pop_back();
    Name name;
    std::istringstream(result.kernel) >> name.kind >> name.format >> name.type >> name.encoder
        >> name.packed;
    const size_t base = reader.word(), size = reader.word();
    result.tensors = reader.word();
    result.launches = reader.word();
    const std::string before = reader.take(size), after = reader.take(size);
    std::vector<std::pair<size_t, size_t>> tensors(result.tensors);
    for (auto &[at, bytes] : tensors) {
        at = reader.word();
        bytes = reader.word();
        if (bytes > size || at > size - bytes)
            throw std::runtime_error("a tensor beyond the memory");
    }
    std::vector<uint8_t> memory(before.begin(), before.end());
    const Buffer<uint8_t> device(memory);
    for (size_t i = 0; i < result.launches; ++i) {
        unsigned shape[4];
        for (unsigned &one : shape)
            one = static_cast<unsigned>(reader.word());
        const size_t given = reader.word();
        Arguments arguments{Reader(reader.take(given)), device.get(), base};
        launch(name, {shape[0], shape[1]}, {shape[2], shape[3]}, arguments);
    }
    device.read(memory);
    const std::string type = name.kind == "dequantize" ? name.type : "";
    for (const auto &[at, bytes] : tensors) {
        const bool right = alike(&memory[at], &after[at], bytes, type);
        result.failed += right ? 0 : 1;
        if (!right && result.first.empty())
            result.first = format("the tensor of %zu bytes at %zu", bytes, at);
        std::copy(&after[at], &after[at] + bytes, &memory[at]);
    }
    if (!alike(memory.data(), after.data(), size, "")) {
        result.failed += 1;
        result.first += result.first.empty() ? "memory beside all tensors" : "";
    }
    return result;
}

inline int run(const std::string &folder, const std::string &head, Report &report)
{
    std::vector<std::filesystem::path> files;
    for (const auto &entry : std::filesystem::directory_iterator(folder))
        if (entry.path().extension() == ".run")
            files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const auto &path : files) {
        const std::string file = path.filename().string();
        try {
            const Result result = run_file(path);
            report.add("{\"kernel\": " + quoted(result.kernel)
                           + ::format(", \"launches\": %zu, \"cases\": %zu, \"failed\": %zu",
                                      result.launches, result.tensors, result.failed)
                           + (result.failed ? ", \"first\": " + quoted(result.first) : "") + "}",
                       std::string(result.failed ? "FAIL  " : "ok    ") + result.kernel
                           + ::format(": %zu launches, %zu tensors, %zu differ", result.launches,
                                      result.tensors, result.failed)
                           + (result.failed ? ", " + result.first : ""),
                       result.tensors, result.failed);
        } catch (const std::exception &error) {
            report.broken = true;
            report.add("{\"kernel\": " + quoted(file) + ", \"error\": " + quoted(error.what()) + "}",
                       "FAIL  " + file + ": " + error.what(), 0, 0);
        }
    }
    return report.finish(head, "tensors that PTX wrote, too");
}

} // namespace replay

#endif
#endif

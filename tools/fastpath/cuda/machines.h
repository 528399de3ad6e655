/* Who computes: this processor by the header's functions, or a GPU (or its emulation) by its
 * kernels. Both have the same functions, on vectors. */
#ifndef MX_MACHINES_H
#define MX_MACHINES_H

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#if !defined(__CUDACC__) && !defined(MX_HOST_ONLY)
#include "emulated.h"
#endif

#include "mx_kernels.cuh"

#include "elementwise.h"

using Bytes = std::vector<uint8_t>;

/* The items of a tensor that its first value, scale and code come after. */
struct Starts { size_t values, scales, codes; };

struct Host {
    static constexpr const char *name = "host";

    template <class Function, class In, class Out>
    static void map(Function function, const std::vector<In> &in, std::vector<Out> &out)
    {
        for (size_t i = 0; i < in.size(); ++i)
            out[i] = function(in[i]);
    }
    template <class F, class Encoder, bool PACKED, class T>
    static void quantize(const std::vector<T> &values, const mx::Tensor &t, mx::Recipe recipe,
                         Bytes &scales, Bytes &codes, const Starts &starts = {0, 0, 0})
    {
        for (size_t line = 0; line < t.lines; ++line)
            for (size_t block = 0; block < mx::blocks_of(t, mx::Blocks<F>::size); ++block)
                mx::quantize_block<F, T, Encoder, PACKED>(
                    values.data() + starts.values, t, recipe, line, block,
                    scales.data() + starts.scales, codes.data() + starts.codes);
    }
    template <class F, bool PACKED, class T>
    static void dequantize(const Bytes &scales, const Bytes &codes, const mx::Tensor &t,
                           mx::Recipe recipe, std::vector<T> &values,
                           const Starts &starts = {0, 0, 0})
    {
        for (size_t line = 0; line < t.lines; ++line)
            for (size_t i = 0; i < t.length; ++i) {
                const size_t block = i / mx::Blocks<F>::size, bit = PACKED ? i * F::bits : i * 8;
                const auto byte = [&](size_t at) {
                    return uint32_t(codes[starts.codes + mx::place(t.codes, line, at)]);
                };
                const bool two = PACKED && bit % 8 + F::bits > 8;
                const uint32_t both = byte(bit / 8) | (two ? byte(bit / 8 + 1) << 8 : 0u);
                const uint32_t code = PACKED ? both >> bit % 8 & ((1u << F::bits) - 1u) : both;
                const uint8_t scale = scales[starts.scales
                                             + mx::scale_place<F>(t, recipe, line, block)];
                mx::store(number<T>(F(), static_cast<uint8_t>(code), scale, recipe),
                          values[starts.values + mx::place(t.values, line, i)]);
            }
    }
    template <class T, class F>
    static uint32_t number(F, uint8_t code, uint8_t scale, const mx::Recipe &)
    {
        return mx::decode<F>(code, scale);
    }
    template <class T>
    static uint32_t number(mx::NVFP4, uint8_t code, uint8_t scale, const mx::Recipe &recipe)
    {
        return mx::decoded<T>(mx::NVFP4(), code, mx::scale_number(mx::NVFP4(), scale),
                              recipe.tensor);
    }
    template <int BITS> static void pack(const Bytes &codes, Bytes &packed)
    {
        for (size_t i = 0; i < packed.size(); ++i)
            packed[i] = mx::packed_byte<BITS>(codes.data(), codes.size(), i);
    }
    template <int BITS> static void unpack(const Bytes &packed, Bytes &codes)
    {
        for (size_t i = 0; i < codes.size(); ++i)
            codes[i] = mx::unpacked_code<BITS>(packed.data(), i);
    }
    static void tile(const Bytes &scales, size_t rows, size_t columns, Bytes &tiles)
    {
        for (size_t i = 0; i < tiles.size(); ++i)
            tiles[i] = mx::tiled_byte(scales.data(), rows, columns, i);
    }
    static void untile(const Bytes &tiles, size_t rows, size_t columns, Bytes &scales)
    {
        for (size_t i = 0; i < rows * columns; ++i)
            scales[i] = tiles[mx::tiled_offset(i / columns, i % columns, columns)];
    }
};

#if defined(MX_KERNELS)

inline void cuda(cudaError_t status)
{
    if (status != cudaSuccess)
        throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(status));
}

/* A vector's copy on the device. */
template <class T> class Buffer {
  public:
    explicit Buffer(size_t count) : count_(count)
    {
        cuda(cudaMalloc(&data_, std::max<size_t>(count * sizeof(T), 1)));
    }
    explicit Buffer(const std::vector<T> &values) : Buffer(values.size())
    {
        if (count_)
            cuda(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
    }
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;
    ~Buffer() { cudaFree(data_); }
    T *get() const { return data_; }
    void read(std::vector<T> &values) const /* after all kernels, whose errors it throws */
    {
        cuda(cudaDeviceSynchronize());
        if (count_)
            cuda(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    }

  private:
    T *data_ = nullptr;
    size_t count_;
};

#if defined(__CUDACC__)
#define MX_LAUNCH(blocks, threads, kernel, ...)                                                    \
    do {                                                                                           \
        kernel<<<blocks, threads>>>(__VA_ARGS__);                                                  \
        cuda(cudaGetLastError());                                                                  \
    } while (0)
#else
#define MX_LAUNCH(blocks, threads, kernel, ...)                                                    \
    emulated::launch(blocks, threads, [&] { kernel(__VA_ARGS__); })
#endif

/* Blocks of 256 threads for so many threads; at most so many that each has some work. */
inline dim3 grid(size_t threads)
{
#if defined(__CUDACC__)
    const size_t most = 1 << 16;
#else
    const size_t most = 3; /* so that the loops of the kernels go round */
#endif
    return {static_cast<unsigned>(std::min<size_t>((threads + 255) / 256, most)), 1};
}

/* The blocks and threads of quantize_kernel: at least two threads in x, so many blocks in x that
 * each chunk of a line has a thread. */
struct Shape { dim3 blocks, threads; };
template <class F, bool PACKED> Shape shape_of(const mx::Tensor &t)
{
#if defined(__CUDACC__)
    const unsigned threads = 256, most = 1 << 13;
#else
    const unsigned threads = 64, most = 3;
#endif
    const size_t chunks = mx::chunks_of<F, mx::Chunk<F, PACKED>>(t);
    unsigned x = 2;
    while (x < threads && x < chunks)
        x *= 2;
    const unsigned y = threads / x;
    const size_t across = (chunks + x - 1) / x, down = (t.lines + y - 1) / y;
    const size_t few = std::max<size_t>(most / across, 1);
    return {{static_cast<unsigned>(across), static_cast<unsigned>(std::min(down, few))}, {x, y}};
}

struct Device {
#if defined(__CUDACC__)
    static constexpr const char *name = "device";
    static constexpr unsigned threads = 256;
#else
    static constexpr const char *name = "emulated";
    static constexpr unsigned threads = 64;
#endif

    template <class Function, class In, class Out>
    static void map(Function function, const std::vector<In> &in, std::vector<Out> &out)
    {
        if (in.empty())
            return;
        const Buffer<In> from(in);
        const Buffer<Out> to(out.size());
        MX_LAUNCH(grid(in.size()), threads, (mx::map_kernel<Function, In, Out>), function,
                  from.get(), to.get(), in.size());
        to.read(out);
    }
    template <class F, class Encoder, bool PACKED, class T>
    static void quantize(const std::vector<T> &values, const mx::Tensor &t, mx::Recipe recipe,
                         Bytes &scales, Bytes &codes, const Starts &starts = {0, 0, 0})
    {
        if (t.lines * t.length == 0)
            return;
        const Buffer<T> from(values);
        const Buffer<uint8_t> to_scales(scales), to_codes(codes);
        const Shape shape = shape_of<F, PACKED>(t);
        MX_LAUNCH(shape.blocks, shape.threads, (mx::quantize_kernel<F, T, Encoder, PACKED>),
                  from.get() + starts.values, t, recipe, to_scales.get() + starts.scales,
                  to_codes.get() + starts.codes);
        to_scales.read(scales);
        to_codes.read(codes);
    }
    template <class F, bool PACKED, class T>
    static void quantize_by_chance(const std::vector<T> &values, const mx::Tensor &t,
                                   mx::Recipe recipe, uint64_t seed, int width, Bytes &scales,
                                   Bytes &codes)
    {
        const Buffer<T> from(values);
        const Buffer<uint8_t> to_scales(scales), to_codes(codes);
        const Shape shape = shape_of<F, PACKED>(t);
        MX_LAUNCH(shape.blocks, shape.threads, (mx::quantize_stochastic_kernel<F, T, PACKED>),
                  from.get(), t, recipe, seed, width, to_scales.get(), to_codes.get());
        to_scales.read(scales);
        to_codes.read(codes);
    }
    /* Both directions of a matrix; what has no scales is left out. */
    template <class F, class Encoder, bool PACKED, class T>
    static void quantize_both(const std::vector<T> &values, const mx::Tensor &across,
                              const mx::Tensor &down, mx::Recipe recipe, Bytes &scales,
                              Bytes &codes, Bytes &down_scales, Bytes &down_codes,
                              size_t first_code)
    {
        const Buffer<T> from(values);
        const Buffer<uint8_t> to_scales(scales), to_codes(codes), to_down(down_scales),
            to_transposed(down_codes);
        const unsigned x = static_cast<unsigned>((down.lines + 63) / 64);
        const size_t y = std::min<size_t>(mx::blocks_of(down), grid(1 << 20).x);
        MX_LAUNCH(dim3(x, static_cast<unsigned>(y)), 128,
                  (mx::quantize_both_kernel<F, T, Encoder, PACKED>), from.get(), across,
                  down, recipe, scales.empty() ? nullptr : to_scales.get(), to_codes.get() + first_code,
                  down_scales.empty() ? nullptr : to_down.get(), to_transposed.get() + first_code);
        to_scales.read(scales);
        to_codes.read(codes);
        to_down.read(down_scales);
        to_transposed.read(down_codes);
    }
    template <class F, bool PACKED, class T>
    static void dequantize(const Bytes &scales, const Bytes &codes, const mx::Tensor &t,
                           mx::Recipe recipe, std::vector<T> &values,
                           const Starts &starts = {0, 0, 0})
    {
        if (t.lines * t.length == 0)
            return;
        const Buffer<uint8_t> from_scales(scales), from_codes(codes);
        const Buffer<T> to(values);
        const Shape shape = shape_of<F, PACKED>(t);
        MX_LAUNCH(shape.blocks, shape.threads, (mx::dequantize_kernel<F, T, PACKED>),
                  from_scales.get() + starts.scales, from_codes.get() + starts.codes, t, recipe,
                  to.get() + starts.values);
        to.read(values);
    }
    template <int BITS> static void pack(const Bytes &codes, Bytes &packed)
    {
        if (packed.empty())
            return;
        const Buffer<uint8_t> from(codes), to(packed.size());
        MX_LAUNCH(grid(packed.size()), threads, (mx::pack_kernel<BITS>), from.get(), codes.size(),
                  to.get(), packed.size());
        to.read(packed);
    }
    template <int BITS> static void unpack(const Bytes &packed, Bytes &codes)
    {
        if (codes.empty())
            return;
        const Buffer<uint8_t> from(packed), to(codes.size());
        MX_LAUNCH(grid(codes.size()), threads, (mx::unpack_kernel<BITS>), from.get(), to.get(),
                  codes.size());
        to.read(codes);
    }
    static void tile(const Bytes &scales, size_t rows, size_t columns, Bytes &tiles)
    {
        if (tiles.empty())
            return;
        const Buffer<uint8_t> from(scales), to(tiles.size());
        MX_LAUNCH(grid(tiles.size()), threads, mx::tile_kernel<uint8_t>, from.get(), rows, columns,
                  to.get());
        to.read(tiles);
    }
    static void untile(const Bytes &tiles, size_t rows, size_t columns, Bytes &scales)
    {
        if (scales.empty())
            return;
        const Buffer<uint8_t> from(tiles), to(scales.size());
        MX_LAUNCH(grid(scales.size()), threads, mx::untile_kernel<uint8_t>, from.get(), rows, columns,
                  to.get());
        to.read(scales);
    }
};

#endif

#endif

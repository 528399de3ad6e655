/* The kernels' throughput as a share of what copying as many bytes on the device reaches. */
#ifndef MX_BENCH_H
#define MX_BENCH_H

#include "operations.h"
#include "report.h"

#if defined(__CUDACC__)

namespace bench {

/* The least seconds of ten runs, after one that is not counted. */
template <class Call> double seconds(Call call)
{
    cudaEvent_t start, stop;
    cuda(cudaEventCreate(&start));
    cuda(cudaEventCreate(&stop));
    float least = 0;
    for (int i = 0; i < 11; ++i) {
        float time = 0;
        cuda(cudaEventRecord(start));
        call();
        cuda(cudaEventRecord(stop));
        cuda(cudaEventSynchronize(stop));
        cuda(cudaEventElapsedTime(&time, start, stop));
        if (i == 1 || (i > 1 && time < least))
            least = time;
    }
    cuda(cudaEventDestroy(start));
    cuda(cudaEventDestroy(stop));
    return least / 1000.0;
}

/* Patterns of normal numbers of either sign, none NaN or infinite. */
template <class T> __global__ void fill_kernel(T *values, size_t n)
{
    MX_FOR(i, n)
    {
        const uint32_t x = static_cast<uint32_t>(i) * 2654435761u; /* float16: up to 2^8 */
        mx::store((x & 0x83ffffffu) + 0x3c000000u, values[i]);
    }
}

/* What is measured of a format and a type, with codes packed where they have fewer bits than 8. */
template <class F, class T> class Measured {
  public:
    Measured(const std::string &name, const std::string &type, Report &report)
        : name_(name), type_(type), report_(report)
    {
        MX_LAUNCH(grid(N), Device::threads, fill_kernel<T>, values_.get(), N);
        const double copied = seconds([&] {
            cuda(cudaMemcpyAsync(copy_.get(), values_.get(), N * sizeof(T),
                                 cudaMemcpyDeviceToDevice));
        });
        best_ = 2.0 * double(N) * sizeof(T) / copied; /* bytes a second */
    }
    void run()
    {
        const Shape shape = shape_of<F, PACKED>(across_);
        const dim3 tiles((LENGTH + 63) / 64, 64); /* eight tiles for each block */
        const double in = double(N) * sizeof(T), out = double(CODES + BLOCKS);
        add("quantize", in + out, [&] {
            MX_LAUNCH(shape.blocks, shape.threads,
                      (mx::quantize_kernel<F, T, mx::Hardware, PACKED>), values_.get(), across_,
                      mx::Recipe{}, scales_.get(), codes_.get());
        });
        add("quantize_integers", in + out, [&] {
            MX_LAUNCH(shape.blocks, shape.threads,
                      (mx::quantize_kernel<F, T, mx::Integers<true>, PACKED>), values_.get(),
                      across_, mx::Recipe{}, scales_.get(), codes_.get());
        });
        add("quantize_both", in + 2 * out, [&] {
            MX_LAUNCH(tiles, 128, (mx::quantize_both_kernel<F, T, mx::Hardware, PACKED>),
                      values_.get(), across_, down_, mx::Recipe{}, scales_.get(), codes_.get(),
                      down_scales_.get(), down_codes_.get());
        });
        if constexpr (!std::is_same_v<F, mx::NVFP4>)
            add("quantize_stochastic", in + out, [&] {
                MX_LAUNCH(shape.blocks, shape.threads,
                          (mx::quantize_stochastic_kernel<F, T, PACKED>), values_.get(), across_,
                          mx::Recipe{}, uint64_t(1), 16, scales_.get(), codes_.get());
            });
        add("dequantize", in + out, [&] {
            MX_LAUNCH(shape.blocks, shape.threads, (mx::dequantize_kernel<F, T, PACKED>),
                      scales_.get(), codes_.get(), across_, mx::Recipe{}, copy_.get());
        });
    }

  private:
    static constexpr bool PACKED = F::bits < 8;
    static constexpr size_t N = size_t(1) << 27, LINES = 1 << 14, LENGTH = N / LINES;
    static constexpr size_t SIZE = mx::Blocks<F>::size, BLOCKS = N / SIZE;
    static constexpr size_t CODES = N * (PACKED ? F::bits : 8) / 8;

    template <class Call> void add(const char *op, double bytes, Call call)
    {
        const double time = seconds(call);
        report_.add(format("{\"op\": \"%s\", \"format\": \"%s\", \"float\": \"%s\", \"elements\": "
                           "%zu, \"seconds\": %.6f, \"gigabytes_per_second\": %.1f, "
                           "\"copy_gigabytes_per_second\": %.1f, \"share_of_copy\": %.3f}",
                           op, name_.c_str(), type_.c_str(), N, time, bytes / time * 1e-9,
                           best_ * 1e-9, bytes / time / best_),
                    format("%-19s %s %-4s  %7.1f GB/s, %.0f %% of a copy's %.1f GB/s", op,
                           name_.c_str(), type_.c_str(), bytes / time * 1e-9,
                           100 * bytes / time / best_, best_ * 1e-9),
                    1, 0);
    }

    std::string name_, type_;
    Report &report_;
    double best_ = 0;
    const Buffer<T> values_{N}, copy_{N};
    const Buffer<uint8_t> codes_{CODES}, scales_{BLOCKS}, down_codes_{CODES}, down_scales_{BLOCKS};
    const mx::Tensor across_{LINES, LENGTH, {LENGTH, 1}, {CODES / LINES, 1}, {BLOCKS / LINES, 1}};
    const mx::Tensor down_{LENGTH, LINES, {1, LENGTH}, {CODES / LENGTH, 1}, {BLOCKS / LENGTH, 1}};
};

inline int run(const std::string &head, Report &report)
{
    for (const char *type : {"f32", "bf16", "f16"})
        for (const char *name : {"e4m3", "e2m3", "e2m1", "int8", "nvfp4"})
            with_block_format(name, [&](auto f) {
                with_type(type, [&](auto t) {
                    Measured<decltype(f), decltype(t)>(name, type, report).run();
                });
            });
    return report.finish(head);
}

} // namespace bench

#endif
#endif

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
        const uint32_t x = static_cast<uint32_t>(i) * 2654435761u;
        mx::store((x & 0x83ffffffu) + 0x3c000000u, values[i]);
    }
}

template <class F, class T> void one(const std::string &name, const std::string &type, Report &report)
{
    const size_t n = size_t(1) << 27, blocks = n / mx::BLOCK;
    const Buffer<T> values(n), copy(n);
    const Buffer<uint8_t> codes(n), scales(blocks);
    MX_LAUNCH(grid(n), Device::threads, fill_kernel<T>, values.get(), n);
    const size_t lines = 1 << 14, length = n / lines;
    const mx::Tensor tensor{lines, length, {length, 1}, {length, 1}, {length / mx::BLOCK, 1}};
    const double copied = seconds([&] {
        cuda(cudaMemcpyAsync(copy.get(), values.get(), n * sizeof(T), cudaMemcpyDeviceToDevice));
    });
    const double quantized = seconds([&] {
        const Shape shape = shape_of<F, false>(tensor);
        MX_LAUNCH(shape.blocks, shape.threads, (mx::quantize_kernel<F, T>), values.get(), tensor,
                  mx::Recipe{mx::Rule::floor, false}, scales.get(), codes.get());
    });
    const double dequantized = seconds([&] {
        MX_LAUNCH(grid(n / 16), Device::threads, (mx::dequantize_kernel<F, T>), scales.get(),
                  codes.get(), copy.get(), n);
    });
    const double bytes = double(n) * (sizeof(T) + 1) + double(blocks);
    const double best = 2.0 * double(n) * sizeof(T) / copied; /* bytes a second */
    const auto add = [&](const char *op, double time) {
        report.add(format("{\"op\": \"%s\", \"format\": \"%s\", \"float\": \"%s\", \"elements\": "
                          "%zu, \"seconds\": %.6f, \"gigabytes_per_second\": %.1f, "
                          "\"copy_gigabytes_per_second\": %.1f, \"share_of_copy\": %.3f}",
                          op, name.c_str(), type.c_str(), n, time, bytes / time * 1e-9, best * 1e-9,
                          bytes / time / best),
                   format("%-10s %s %-4s  %7.1f GB/s, %.0f %% of a copy's %.1f GB/s", op,
                          name.c_str(), type.c_str(), bytes / time * 1e-9,
                          100 * bytes / time / best, best * 1e-9),
                   1, 0);
    };
    add("quantize", quantized);
    add("dequantize", dequantized);
}

inline int run(const std::string &head, Report &report)
{
    for (const char *type : {"f32", "bf16"})
        for (const char *name : {"e4m3", "e2m3", "e2m1", "int8"})
            with_format(name, [&](auto f) {
                with_type(type, [&](auto t) { one<decltype(f), decltype(t)>(name, type, report); });
            });
    return report.finish(head);
}

} // namespace bench

#endif
#endif

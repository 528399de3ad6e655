/* Tensors of more than 2^32 numbers, on a CPU: memory that is only reserved, and the blocks of
 * threads that have its end. What a kernel writes there is compared with quantize_block's answer
 * elsewhere, and the beginning, where an index of 32 bits would lead, must stay empty. */
#ifndef MX_WIDE_H
#define MX_WIDE_H

#if defined(MX_KERNELS) && !defined(__CUDACC__)

#include <sys/mman.h>

#include "operations.h"
#include "report.h"

namespace wide {

template <class T> class Reserved {
  public:
    explicit Reserved(size_t count) : size_(count * sizeof(T))
    {
        void *const memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED)
            throw std::runtime_error("no address space of " + std::to_string(size_) + " bytes");
        data_ = static_cast<T *>(memory);
    }
    Reserved(const Reserved &) = delete;
    Reserved &operator=(const Reserved &) = delete;
    ~Reserved() { munmap(data_, size_); }
    T *get() const { return data_; }

  private:
    T *data_;
    size_t size_;
};

constexpr size_t COLUMNS = 1024, ROWS = (size_t(1) << 22) + 32, N = ROWS * COLUMNS;

/* The last 32 numbers of the last row, the block's answer, and memory for everything. */
struct Memory {
    Reserved<uint32_t> values{N};
    Reserved<uint8_t> scales{N / 32}, codes{N}, down_scales{N / 32}, down_codes{N};
    uint8_t scale = 0, code[mx::BLOCK] = {};

    Memory()
    {
        uint32_t *last = values.get() + N - mx::BLOCK;
        for (uint32_t i = 0; i < 32; ++i)
            last[i] = 0x3f800000u + i * 0x123456u;
        const mx::Tensor one{1, 32, {0, 1}, {0, 1}, {0, 1}};
        mx::quantize_block<mx::E4M3>(last, one, {mx::Rule::floor, false}, 0, 0, &scale, code);
    }
    bool ends_right() const
    {
        return scales.get()[N / 32 - 1] == scale
               && std::equal(code, code + 32, codes.get() + N - 32) && is_empty(codes.get())
               && is_empty(scales.get());
    }
    static bool is_empty(const uint8_t *beginning)
    {
        return std::all_of(beginning, beginning + (1 << 16), [](uint8_t byte) { return byte == 0; });
    }
};

template <class Kernel> void at(dim3 block, dim3 blocks, dim3 threads, Kernel kernel)
{
    emulated::launch(blocks, threads, kernel, &block);
}

inline bool one_line()
{
    const Memory m;
    const mx::Tensor t{1, N, {N, 1}, {N, 1}, {N / 32, 1}};
    const unsigned blocks = static_cast<unsigned>(N / 16 / 64);
    at({blocks - 1, 0}, {blocks, 1}, {64, 1}, [&] {
        mx::quantize_kernel<mx::E4M3, uint32_t, mx::Integers<true>>(
            m.values.get(), t, {mx::Rule::floor, false}, m.scales.get(), m.codes.get());
    });
    return m.ends_right();
}

inline bool many_lines()
{
    const Memory m;
    const mx::Tensor t{ROWS, COLUMNS, {COLUMNS, 1}, {COLUMNS, 1}, {COLUMNS / 32, 1}};
    const unsigned rows = static_cast<unsigned>(ROWS);
    at({0, rows - 1}, {1, rows}, {64, 1}, [&] {
        mx::quantize_kernel<mx::E4M3, uint32_t, mx::Integers<true>>(
            m.values.get(), t, {mx::Rule::floor, false}, m.scales.get(), m.codes.get());
    });
    return m.ends_right();
}

/* The last column's last block has one number that is not zero. */
inline bool both_directions()
{
    const Memory m;
    const mx::Tensor across{ROWS, COLUMNS, {COLUMNS, 1}, {COLUMNS, 1}, {COLUMNS / 32, 1}};
    const mx::Tensor down{COLUMNS, ROWS, {1, COLUMNS}, {ROWS, 1}, {ROWS / 32, 1}};
    const unsigned x = COLUMNS / 64, y = static_cast<unsigned>(ROWS / 32);
    at({x - 1, y - 1}, {x, y}, {128, 1}, [&] {
        mx::quantize_both_kernel<mx::E4M3, uint32_t, mx::Integers<true>>(
            m.values.get(), across, down, {mx::Rule::floor, false}, m.scales.get(), m.codes.get(),
            m.down_scales.get(), m.down_codes.get());
    });
    const uint8_t *end = m.down_codes.get() + N;
    const uint32_t last = m.values.get()[N - 1];
    return m.ends_right() && m.is_empty(m.down_codes.get())
           && m.down_scales.get()[N / 32 - 1] == mx::shared_scale<mx::E4M3>(last, mx::Rule::floor)
           && end[-1] == mx::encode<mx::E4M3>(last, m.down_scales.get()[N / 32 - 1])
           && std::all_of(end - 32, end - 1, [](uint8_t code) { return code == 0; });
}

/* Of one line, or of many. */
inline bool dequantized(bool many)
{
    const Memory m;
    const mx::Tensor t = many ? mx::Tensor{ROWS, COLUMNS, {COLUMNS, 1}, {COLUMNS, 1}, {COLUMNS / 32, 1}}
                              : mx::Tensor{1, N, {N, 1}, {N, 1}, {N / 32, 1}};
    const dim3 blocks = many ? dim3(1, static_cast<unsigned>(ROWS))
                             : dim3(static_cast<unsigned>(N / 16 / 64), 1);
    m.scales.get()[N / 32 - 1] = m.scale;
    std::copy(m.code, m.code + 32, m.codes.get() + N - 32);
    std::fill(m.values.get() + N - 32, m.values.get() + N, 0u);
    at({blocks.x - 1, blocks.y - 1}, blocks, {64, 1}, [&] {
        mx::dequantize_kernel<mx::E4M3, uint32_t>(m.scales.get(), m.codes.get(), t,
                                                  {mx::Rule::floor, false}, m.values.get());
    });
    bool right = std::all_of(m.values.get(), m.values.get() + 1024, [](uint32_t x) { return !x; });
    for (size_t i = 0; i < 32; ++i)
        right = right && m.values.get()[N - 32 + i] == mx::decode<mx::E4M3>(m.code[i], m.scale);
    return right;
}

inline int run(const std::string &head, Report &report)
{
    const auto add = [&](const char *name, bool right) {
        report.add(format("{\"case\": \"%s\", \"wrong\": %d}", name, right ? 0 : 1),
                   std::string(right ? "ok    " : "FAIL  ") + name, 1, right ? 0 : 1);
    };
    add("quantize, one line", one_line());
    add("quantize, many lines", many_lines());
    add("quantize, both directions", both_directions());
    add("dequantize, one line", dequantized(false));
    add("dequantize, many lines", dequantized(true));
    return report.finish(head, "tensors of more than 2^32 numbers");
}

} // namespace wide

#endif
#endif

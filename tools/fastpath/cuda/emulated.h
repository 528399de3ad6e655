/* As much of CUDA as the kernels of mx_kernels.cuh need, on a CPU, for g++: each thread of a block
 * is a fiber that waits at a shuffle or a barrier until all others of the warp or the block have come
 * there or, at a shuffle, ended. */
#ifndef MX_EMULATED_H
#define MX_EMULATED_H

#include <ucontext.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#define MX_KERNELS
#define __global__
#define __shared__ static

struct Index { unsigned x, y; };
struct dim3 : Index {
    dim3(unsigned x, unsigned y = 1) : Index{x, y} {}
};
inline Index threadIdx, blockIdx, blockDim, gridDim;

namespace emulated {

struct Fiber {
    ucontext_t context;
    std::vector<char> stack;
    bool ended;
    unsigned barriers, shuffles, given[2], mask[2]; /* of this shuffle and the one before */
};

inline std::vector<Fiber> fibers; /* of a block */
inline ucontext_t scheduler;
inline std::function<void()> body;
inline unsigned running;

inline void fail(const char *what)
{
    std::fprintf(stderr, "emulated: %s\n", what);
    std::abort();
}

inline void enter()
{
    body();
    fibers[running].ended = true;
    swapcontext(&fibers[running].context, &scheduler);
}

inline void run_block()
{
    for (Fiber &fiber : fibers) {
        fiber.stack.resize(1 << 16);
        fiber.ended = false;
        fiber.shuffles = fiber.barriers = 0;
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = fiber.stack.data();
        fiber.context.uc_stack.ss_size = fiber.stack.size();
        makecontext(&fiber.context, enter, 0);
    }
    for (bool more = true; more;) {
        more = false;
        for (running = 0; running < fibers.size(); ++running)
            if (!fibers[running].ended) {
                threadIdx = {running % blockDim.x, running / blockDim.x};
                swapcontext(&scheduler, &fibers[running].context);
                more = more || !fibers[running].ended;
            }
    }
}

/* All blocks, or only one. */
inline void launch(dim3 blocks, dim3 threads, std::function<void()> kernel,
                   const dim3 *only = nullptr)
{
    body = std::move(kernel);
    blockDim = threads;
    gridDim = blocks;
    fibers.resize(threads.x * threads.y);
    if (only) {
        blockIdx = *only;
        return run_block();
    }
    for (blockIdx.y = 0; blockIdx.y < blocks.y; ++blockIdx.y)
        for (blockIdx.x = 0; blockIdx.x < blocks.x; ++blockIdx.x)
            run_block();
}

} // namespace emulated

inline unsigned __shfl_xor_sync(unsigned mask, unsigned value, int distance)
{
    using namespace emulated;
    const unsigned lane = running % 32, partner = lane ^ static_cast<unsigned>(distance);
    Fiber *const warp = &fibers[running - lane];
    const unsigned now = warp[lane].shuffles++ % 2;
    warp[lane].given[now] = value;
    warp[lane].mask[now] = mask;
    swapcontext(&warp[lane].context, &scheduler);
    if (!(mask >> lane & 1) || !(mask >> partner & 1))
        fail("a shuffle with a thread that its mask does not name");
    for (unsigned other = 0; other < 32; ++other) {
        const bool named = mask >> other & 1;
        const bool here = warp[other].shuffles - warp[lane].shuffles <= 1; /* or one ahead */
        if (named && (!here || warp[other].mask[now] != mask))
            fail("a shuffle for which a thread did not come, or with another mask");
    }
    return warp[partner].given[now];
}

inline void __syncthreads()
{
    using namespace emulated;
    Fiber &here = fibers[running];
    here.barriers += 1;
    for (bool waits = true; waits;) {
        swapcontext(&here.context, &scheduler);
        waits = false;
        for (const Fiber &other : fibers) {
            if (other.ended && other.barriers < here.barriers)
                fail("a barrier for which a thread did not come");
            waits = waits || other.barriers < here.barriers;
        }
    }
}

inline unsigned __popc(unsigned x) { return static_cast<unsigned>(__builtin_popcount(x)); }
inline void atomicAdd(unsigned long long *sum, unsigned long long more) { *sum += more; }

/* The runtime. */
enum cudaError_t { cudaSuccess };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };

template <class T> cudaError_t cudaMalloc(T **out, size_t size)
{
    *out = static_cast<T *>(std::malloc(size));
    std::memset(*out, 0xa5, size);
    return cudaSuccess;
}
inline cudaError_t cudaFree(void *memory) { return std::free(memory), cudaSuccess; }
inline cudaError_t cudaMemcpy(void *to, const void *from, size_t size, cudaMemcpyKind)
{
    return std::memcpy(to, from, size), cudaSuccess;
}
inline cudaError_t cudaMemset(void *to, int byte, size_t size)
{
    return std::memset(to, byte, size), cudaSuccess;
}
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
inline const char *cudaGetErrorString(cudaError_t) { return "no error"; }

#endif

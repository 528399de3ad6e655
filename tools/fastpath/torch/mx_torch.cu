/* A plain C interface to the kernels, for one format: -DMX_FORMAT=E4M3 and the like, or NVFP4.
 *
 *     nvcc -std=c++17 -O2 -shared -Xcompiler -fPIC -arch=sm_90 -DMX_FORMAT=E4M3 -I../cuda mx_torch.cu
 *     g++ -std=c++17 -O2 -shared -fPIC -x c++ -fopenmp -DMX_FORMAT=E4M3 -I../cuda mx_torch.cu
 *
 * By nvcc pointers are the device's and work goes to a stream; by g++ they are the processor's, the
 * same functions run there, by integers, and there is no stream. A function returns 0, or the error
 * of CUDA (mx_error has its words); what it is given is checked by who calls it. */
#if !defined(__CUDACC__)
#define MX_HOST_ONLY
#endif
#include "mx_kernels.cuh"

#include <algorithm>

namespace {

using F = mx::MX_FORMAT;

#if defined(__CUDACC__)

using Stream = cudaStream_t;

/* At least two threads in x, so many blocks in x that each chunk of a line has a thread. */
template <bool PACKED> void shape_of(const mx::Tensor &t, dim3 &blocks, dim3 &threads)
{
    const size_t chunks = mx::chunks_of<F, mx::Chunk<F, PACKED>>(t);
    unsigned x = 2;
    while (x < 256 && x < chunks)
        x *= 2;
    const size_t across = (chunks + x - 1) / x, down = (t.lines + 256 / x - 1) / (256 / x);
    const size_t most = std::max<size_t>((size_t(1) << 13) / across, 1);
    blocks = dim3(static_cast<unsigned>(across), static_cast<unsigned>(std::min(down, most)));
    threads = dim3(x, 256 / x);
}
template <class T, bool PACKED>
int quantize(const T *values, const mx::Tensor &t, const mx::Recipe &recipe, uint8_t *scales,
             uint8_t *codes, Stream stream)
{
    dim3 blocks, threads;
    shape_of<PACKED>(t, blocks, threads);
    mx::quantize_kernel<F, T, mx::Hardware, PACKED>
        <<<blocks, threads, 0, stream>>>(values, t, recipe, scales, codes);
    return cudaGetLastError();
}
template <class T, bool PACKED>
int both(const T *values, const mx::Tensor &across, const mx::Tensor &down,
         const mx::Recipe &recipe, uint8_t *scales, uint8_t *codes, uint8_t *down_scales,
         uint8_t *down_codes, Stream stream)
{
    const size_t x = (down.lines + 63) / 64, most = std::max<size_t>((size_t(1) << 13) / x, 1);
    const size_t y = std::min(mx::blocks_of(down), most);
    const dim3 blocks(static_cast<unsigned>(x), static_cast<unsigned>(y));
    mx::quantize_both_kernel<F, T, mx::Hardware, PACKED><<<blocks, 128, 0, stream>>>(
        values, across, down, recipe, scales, codes, down_scales, down_codes);
    return cudaGetLastError();
}
template <class T, bool PACKED>
int dequantize(const uint8_t *scales, const uint8_t *codes, const mx::Tensor &t,
               const mx::Recipe &recipe, T *values, Stream stream)
{
    dim3 blocks, threads;
    shape_of<PACKED>(t, blocks, threads);
    mx::dequantize_kernel<F, T, PACKED>
        <<<blocks, threads, 0, stream>>>(scales, codes, t, recipe, values);
    return cudaGetLastError();
}

#else

using Stream = void *;

template <class T, bool PACKED>
int quantize(const T *values, const mx::Tensor &t, const mx::Recipe &recipe, uint8_t *scales,
             uint8_t *codes, Stream)
{
    const size_t blocks = mx::blocks_of(t, mx::Blocks<F>::size), all = t.lines * blocks;
#pragma omp parallel for
    for (size_t i = 0; i < all; ++i)
        mx::quantize_block<F, T, mx::Integers<true>, PACKED>(values, t, recipe, i / blocks,
                                                             i % blocks, scales, codes);
    return 0;
}
template <class T, bool PACKED>
int both(const T *values, const mx::Tensor &across, mx::Tensor down, const mx::Recipe &recipe,
         uint8_t *scales, uint8_t *codes, uint8_t *down_scales, uint8_t *down_codes, Stream stream)
{
    down.values = {across.values.step, across.values.line};
    return quantize<T, PACKED>(values, across, recipe, scales, codes, stream)
           | quantize<T, PACKED>(values, down, recipe, down_scales, down_codes, stream);
}
template <class T, bool PACKED>
int dequantize(const uint8_t *scales, const uint8_t *codes, const mx::Tensor &t,
               const mx::Recipe &recipe, T *values, Stream)
{
    using C = mx::Chunk<F, PACKED>;
    const size_t chunks = mx::chunks_of<F, C>(t), all = t.lines * chunks;
#pragma omp parallel for
    for (size_t i = 0; i < all; ++i) {
        const size_t line = i / chunks, chunk = i % chunks;
        uint32_t words[C::bytes / 4], out[C::numbers / mx::Lying<T>::in_a_word];
        mx::load_bytes(codes + mx::code_place<C>(t, line, chunk), C::bytes, words, t.codes.step);
        const uint8_t scale = scales[mx::chunk_scale_place<F, C>(t, recipe, line, chunk)];
        mx::decode_chunk<F, T, C>(words, scale, recipe.tensor, out);
        mx::store_numbers(out, t, line, chunk * C::numbers, C::numbers, values);
    }
    return 0;
}

#endif

/* function(values of their type, whether codes are packed); one byte a code of FP8 and MXINT8. */
template <class Function> int with_type(int type, bool packed, Function function)
{
    const auto with_packed = [&](auto *values) {
        if (packed && F::bits < 8)
            return function(values, std::integral_constant<bool, (F::bits < 8)>());
        return function(values, std::false_type());
    };
    if (type == 0)
        return with_packed(static_cast<uint32_t *>(nullptr));
    if (type == 1)
        return with_packed(static_cast<uint16_t *>(nullptr));
    return with_packed(static_cast<mx::Half *>(nullptr));
}

} // namespace

/* What all functions are told: float32 0, bfloat16 1, float16 2; a number of mx::Rule; whether codes
 * are packed, whether scales lie in tiles; the scale of the tensor. */
struct MxHow { int type, rule, packed, tiles; float tensor; };

static mx::Recipe recipe(const MxHow &how)
{
    return {static_cast<mx::Rule>(how.rule), how.tiles != 0, mx::as_bits(how.tensor)};
}

extern "C" {

int mx_quantize(const MxHow *how, const mx::Tensor *t, const void *values, uint8_t *scales,
                uint8_t *codes, void *stream)
{
    return with_type(how->type, how->packed, [&](auto *type, auto packed) {
        return quantize<std::remove_pointer_t<decltype(type)>, packed>(
            static_cast<decltype(type)>(const_cast<void *>(values)), *t, recipe(*how), scales, codes,
            static_cast<Stream>(stream));
    });
}
int mx_quantize_both(const MxHow *how, const mx::Tensor *across, const mx::Tensor *down,
                     const void *values, uint8_t *scales, uint8_t *codes, uint8_t *down_scales,
                     uint8_t *down_codes, void *stream)
{
    return with_type(how->type, how->packed, [&](auto *type, auto packed) {
        return both<std::remove_pointer_t<decltype(type)>, packed>(
            static_cast<decltype(type)>(const_cast<void *>(values)), *across, *down, recipe(*how),
            scales, codes, down_scales, down_codes, static_cast<Stream>(stream));
    });
}
int mx_dequantize(const MxHow *how, const mx::Tensor *t, const uint8_t *scales,
                  const uint8_t *codes, void *values, void *stream)
{
    return with_type(how->type, how->packed, [&](auto *type, auto packed) {
        return dequantize<std::remove_pointer_t<decltype(type)>, packed>(
            scales, codes, *t, recipe(*how), static_cast<decltype(type)>(values),
            static_cast<Stream>(stream));
    });
}
const char *mx_error(int status)
{
#if defined(__CUDACC__)
    return cudaGetErrorString(static_cast<cudaError_t>(status));
#else
    return status ? "an error" : "no error";
#endif
}

} // extern "C"

/* The functions of mx_fastpath.cuh for every element of an array: what the vectors ask beside blocks. */
#ifndef MX_ELEMENTWISE_H
#define MX_ELEMENTWISE_H

#include "mx_fastpath.cuh"

namespace mx {

/* Functions of one element. */
template <class F, bool SATURATE = true> struct Encode {
    template <class T> MX_BOTH uint8_t operator()(T x) const
    {
        return static_cast<uint8_t>(encode<F, SATURATE>(float32_bits(x)));
    }
};
template <class F> struct Decode {
    MX_BOTH uint32_t operator()(uint8_t code) const { return decode<F>(code); }
};
template <class F> struct SharedScale {
    Rule rule;
    template <class T> MX_BOTH uint8_t operator()(T amax) const
    {
        return shared_scale<F>(float32_bits(amax), rule);
    }
};
struct EncodeScale {
    ScaleRounding rounding;
    template <class T> MX_BOTH uint8_t operator()(T x) const
    {
        return encode_scale(float32_bits(x), rounding);
    }
};
struct DecodeScale {
    MX_BOTH uint32_t operator()(uint8_t code) const { return decode_scale(code); }
};
/* What a function of a code gives, rounded to a type. */
template <class Function, class T> struct Stored {
    MX_BOTH T operator()(uint8_t code) const
    {
        T out;
        store(Function{}(code), out);
        return out;
    }
};

#if defined(MX_KERNELS)

/* One thread an element, a byte or a scale; right with any number of blocks and threads. */
#define MX_FOR(i, count)                                                                           \
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < (count);                    \
         i += size_t(gridDim.x) * blockDim.x)

/* A function of every element. */
template <class Function, class In, class Out>
__global__ void map_kernel(Function function, const In *in, Out *out, size_t n)
{
    MX_FOR(i, n) out[i] = function(in[i]);
}

template <int BITS>
__global__ void pack_kernel(const uint8_t *codes, size_t count, uint8_t *packed, size_t size)
{
    MX_FOR(i, size) packed[i] = packed_byte<BITS>(codes, count, i);
}

template <int BITS>
__global__ void unpack_kernel(const uint8_t *packed, uint8_t *codes, size_t count)
{
    MX_FOR(i, count) codes[i] = unpacked_code<BITS>(packed, i);
}

template <class Byte>
__global__ void tile_kernel(const Byte *scales, size_t rows, size_t columns, Byte *tiles)
{
    MX_FOR(i, tiled_size(rows, columns)) tiles[i] = tiled_byte(scales, rows, columns, i);
}

template <class Byte>
__global__ void untile_kernel(const Byte *tiles, size_t rows, size_t columns, Byte *scales)
{
    MX_FOR(i, rows * columns)
    scales[i] = tiles[tiled_offset(i / columns, i % columns, columns)];
}

#endif

} // namespace mx

#endif

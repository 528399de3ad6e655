/* The conversions of NVIDIA's cuda_fp8.h, cuda_fp6.h and cuda_fp4.h as a kit: on a GPU its own
 * instructions where it has them, on a CPU what the headers compute instead. */
#ifndef MX_INTRINSICS_H
#define MX_INTRINSICS_H

#include <cuda_runtime_api.h>

#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

#include <cstring>

#include "operations.h"

namespace nv {

MX_BOTH float number(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
MX_BOTH uint32_t pattern(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
MX_BOTH __nv_bfloat16_raw number(uint16_t bits)
{
    __nv_bfloat16_raw x;
    x.x = bits;
    return x;
}

/* cvt<F>::from_float, from_bfloat16, to_half. */
template <class F> struct Cvt;

#define MX_CVT(F, KIND, WIDTH, ...)                                                                \
    template <> struct Cvt<mx::F> {                                                                \
        static MX_BOTH uint8_t from(float x, __nv_saturation_t saturation)                         \
        {                                                                                          \
            (void)saturation;                                                                      \
            return __nv_cvt_float_to_##WIDTH(x, __VA_ARGS__);                                      \
        }                                                                                          \
        static MX_BOTH uint8_t from(__nv_bfloat16_raw x, __nv_saturation_t saturation)             \
        {                                                                                          \
            (void)saturation;                                                                      \
            return __nv_cvt_bfloat16raw_to_##WIDTH(x, __VA_ARGS__);                                \
        }                                                                                          \
        static MX_BOTH __half_raw to(uint8_t code)                                                 \
        {                                                                                          \
            return __nv_cvt_##WIDTH##_to_halfraw(code, KIND);                                      \
        }                                                                                          \
    }
MX_CVT(E5M2, __NV_E5M2, fp8, saturation, __NV_E5M2);
MX_CVT(E4M3, __NV_E4M3, fp8, saturation, __NV_E4M3);
MX_CVT(E3M2, __NV_E3M2, fp6, __NV_E3M2, cudaRoundNearest);
MX_CVT(E2M3, __NV_E2M3, fp6, __NV_E2M3, cudaRoundNearest);
MX_CVT(E2M1, __NV_E2M1, fp4, __NV_E2M1, cudaRoundNearest);
#undef MX_CVT

template <class F, bool SATURATE> struct Encode {
    template <class T> MX_BOTH uint8_t operator()(T bits) const
    {
        return Cvt<F>::from(number(bits), SATURATE ? __NV_SATFINITE : __NV_NOSAT);
    }
};
template <class F> struct Decode {
    MX_BOTH uint32_t operator()(uint8_t code) const
    {
        return pattern(__half2float(__half(Cvt<F>::to(code))));
    }
};

MX_BOTH uint8_t to_e8m0(float x, cudaRoundMode mode)
{
    return __nv_cvt_float_to_e8m0(x, __NV_SATFINITE, mode);
}
MX_BOTH uint8_t to_e8m0(__nv_bfloat16_raw x, cudaRoundMode mode)
{
    return __nv_cvt_bfloat16raw_to_e8m0(x, __NV_SATFINITE, mode);
}
struct EncodeScale {
    mx::ScaleRounding rounding;
    template <class T> MX_BOTH uint8_t operator()(T bits) const
    {
        using R = mx::ScaleRounding;
        return to_e8m0(number(bits), rounding == R::toward_zero       ? cudaRoundZero
                                     : rounding == R::toward_positive ? cudaRoundPosInf
                                                                      : cudaRoundNearest);
    }
};
struct DecodeScale {
    MX_BOTH uint32_t operator()(uint8_t code) const
    {
        return mx::float32_bits(static_cast<uint16_t>(__nv_cvt_e8m0_to_bf16raw(code).x));
    }
};

} // namespace nv

struct IntrinsicsKit {
    static constexpr const char *name = "intrinsics";
    static constexpr bool whole = false;
    static constexpr bool nearest = CUDART_VERSION >= 13050; /* 13.0 ends at it, by assert */
    template <class F> static constexpr bool has = !F::complement;
    template <class F, bool SATURATE> using Encode = nv::Encode<F, SATURATE>;
    template <class F> using Decode = nv::Decode<F>;
    using EncodeScale = nv::EncodeScale;
    using DecodeScale = nv::DecodeScale;
};

#endif

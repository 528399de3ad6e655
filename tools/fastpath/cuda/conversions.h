/* The hardware's conversions on a CPU, by the tables of `mxref export table --as c`, in the folder
 * that the compiler is told: e5m2.h and so on. */
#ifndef MX_CONVERSIONS_H
#define MX_CONVERSIONS_H

#include <cstring>

#include "e2m1.h"
#include "e2m3.h"
#include "e3m2.h"
#include "e4m3.h"
#include "e5m2.h"
#include "mx_fastpath.cuh"

namespace mx {

inline uint32_t pattern_of(float x)
{
    uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}
inline float times(uint32_t x, uint32_t y)
{
    float a, b;
    std::memcpy(&a, &x, sizeof a);
    std::memcpy(&b, &y, sizeof b);
    return a * b;
}
#define MX_PAIR(F, NAME, SHIFT)                                                                    \
    inline uint32_t pair(F, float low, float high)                                                 \
    {                                                                                              \
        return mxref_encode_##NAME##_f32(pattern_of(low))                                          \
               | uint32_t(mxref_encode_##NAME##_f32(pattern_of(high))) << SHIFT;                   \
    }
MX_PAIR(E5M2, e5m2, 8)
MX_PAIR(E4M3, e4m3, 8)
MX_PAIR(E3M2, e3m2, 8)
MX_PAIR(E2M3, e2m3, 8)
MX_PAIR(E2M1, e2m1, 4)
#undef MX_PAIR

} // namespace mx

#endif

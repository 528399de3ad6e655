/* The hardware's conversions on a CPU, by the tables of `mxref export table --as c`, in the folder
 * that the compiler is told: e5m2.h and so on. */
#ifndef MX_CONVERSIONS_H
#define MX_CONVERSIONS_H

#include "e2m1.h"
#include "e2m3.h"
#include "e3m2.h"
#include "e4m3.h"
#include "e5m2.h"
#include "mx_fastpath.cuh"

namespace mx {

#define MX_PAIR(F, NAME, SHIFT)                                                                    \
    inline uint32_t pair(F, uint32_t low, uint32_t high)                                                 \
    {                                                                                              \
        return mxref_encode_##NAME##_f32(low)                                          \
               | uint32_t(mxref_encode_##NAME##_f32(high)) << SHIFT;                   \
    }
MX_PAIR(E5M2, e5m2, 8)
MX_PAIR(E4M3, e4m3, 8)
MX_PAIR(E3M2, e3m2, 8)
MX_PAIR(E2M3, e2m3, 8)
MX_PAIR(E2M1, e2m1, 4)
#undef MX_PAIR

} // namespace mx

#endif

// The kernel that check.cpp checks: MXFP8 E4M3 from float32, in double. Put yours in its place.
#include <algorithm>
#include <cmath>
#include <cstdint>

// The code of a number: ties to even, saturating. A double holds every step exactly.
inline uint8_t encode(double x)
{
    const uint8_t sign = std::signbit(x) ? 0x80 : 0;
    if (std::isnan(x))
        return sign | 0x7f;
    const double magnitude = std::min(std::fabs(x), 448.0);
    const int exponent = magnitude > 0 ? std::max(std::ilogb(magnitude), -6) : -6;
    return sign | uint8_t(8 * (exponent + 6) + std::nearbyint(std::ldexp(magnitude, 3 - exponent)));
}

// The scale code and the 32 codes of a block: FLOOR, the rule that the standard suggests.
inline void quantize(const float *x, uint8_t *scale, uint8_t *codes)
{
    double largest = 0;
    bool finite = true;
    for (int i = 0; i < 32; ++i) {
        finite = finite && std::isfinite(x[i]);
        largest = std::max(largest, std::fabs(double(x[i])));
    }
    const int exponent = largest > 0 && finite ? std::max(std::ilogb(largest) - 8, -127) : -127;
    *scale = finite ? uint8_t(exponent + 127) : 0xff;
    for (int i = 0; i < 32; ++i)
        codes[i] = encode(std::ldexp(double(x[i]), -exponent));
}

/* Float32 to E4M3, saturating, by scaling: written for the tests from OCP MX v1.0 5.3.1. */
#include <stdint.h>
uint8_t encode(uint32_t bits)
{
    uint32_t sign = bits >> 31 << 7, mag = bits & 0x7fffffffu;
    uint32_t drop, whole, rest, half;
    if (mag > 0x7f800000u) return 0x7f;
    if (mag >= 0x43e80000u) return (uint8_t)(sign | 0x7e);
    if (mag < 0x3a800000u) return (uint8_t)sign;
    drop = mag >= 0x3c800000u ? 20 : 20 + 121 - (mag >> 23);
    whole = mag >= 0x3c800000u ? mag - (120u << 23) : (mag & 0x7fffffu) | 0x800000u;
    half = 1u << (drop - 1);
    rest = whole & (2 * half - 1);
    whole >>= drop;
    return (uint8_t)(sign | (whole + (rest > half || (rest == half && (whole & 1)))));
}

// The bits of half and bfloat16, as integers.
#pragma once

namespace grader {

// Round to nearest, ties to even; overflow is infinity, NaN stays NaN.
GRADER_INLINE unsigned short half_bits(float value) {
    unsigned x = __float_as_uint(value), sign = x >> 16 & 0x8000u;
    x &= 0x7fffffffu;
    if (x > 0x7f800000u) return 0x7fff;
    if (x >= 0x477ff000u) return (unsigned short)(sign | 0x7c00u);
    if (x < 0x38800000u) {  // subnormal: let float addition do the rounding
        float shifted = __uint_as_float(x) + 0.5f;
        return (unsigned short)(sign | (__float_as_uint(shifted) - 0x3f000000u));
    }
    unsigned odd = x >> 13 & 1;
    return (unsigned short)(sign | (x - 0x38000000u + 0xfffu + odd) >> 13);
}
GRADER_INLINE float half_value(unsigned short h) {
    unsigned sign = (unsigned)(h & 0x8000) << 16, magnitude = h & 0x7fffu;
    if (magnitude >= 0x7c00u) return __uint_as_float(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
    float value = __uint_as_float(magnitude << 13) * 5.192296858534828e33f;  // 2^112: the exponents' offset
    return __uint_as_float(sign | __float_as_uint(value));
}

// bfloat16: the upper half of a float, rounded to nearest, ties to even.
GRADER_INLINE unsigned short bfloat_bits(float value) {
    const unsigned x = __float_as_uint(value);
    if ((x & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
    return (unsigned short)((x + 0x7fffu + (x >> 16 & 1)) >> 16);
}
GRADER_INLINE float bfloat_value(unsigned short bits) { return __uint_as_float((unsigned)bits << 16); }

// The upper 19 bits of a float, which a tensor core multiplies; rounded to nearest, ties away.
GRADER_INLINE float tf32_value(float value) {
    const unsigned x = __float_as_uint(value);
    return (x & 0x7f800000u) == 0x7f800000u ? value : __uint_as_float((x + 0x1000u) & 0xffffe000u);
}

}  // namespace grader


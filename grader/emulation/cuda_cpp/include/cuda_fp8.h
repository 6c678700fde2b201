// 8-bit floating point: storage alone, as in CUDA. Conversions round to nearest
// and saturate; arithmetic is done in float.
#pragma once
#include "cuda_bf16.h"
#include "cuda_fp16.h"

typedef unsigned char __nv_fp8_storage_t;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

namespace grader {

// The value of 7 bits of magnitude; `fraction` of them are the fraction's.
GRADER_INLINE float fp8_magnitude(int bits, int fraction) {
    int bias = fraction == 3 ? 7 : 15, exponent = bits >> fraction;
    float part = (float)(bits & ((1 << fraction) - 1));
    return exponent ? ldexpf(part + (float)(1 << fraction), exponent - bias - fraction)
                    : ldexpf(part, 1 - bias - fraction);
}
// e4m3 has no infinity and one NaN; in e5m2 the last exponent is for both.
GRADER_INLINE unsigned char fp8_bits(double value, bool saturate, int fraction) {
    int largest = fraction == 3 ? 0x7e : 0x7b, beyond = fraction == 3 ? 0x7f : 0x7c;
    int sign = __builtin_signbit(value) ? 0x80 : 0;
    if (value != value) return 0x7f;
    double wanted = sign ? -value : value;
    int low = 0, high = largest;  // the largest magnitude that is not above the wanted one
    while (low < high) {
        int middle = (low + high + 1) / 2;
        if ((double)fp8_magnitude(middle, fraction) <= wanted) low = middle;
        else high = middle - 1;
    }
    double below = fp8_magnitude(low, fraction), above = fp8_magnitude(low + 1, fraction);
    int nearest = wanted - below > above - wanted || (wanted - below == above - wanted && low % 2) ? low + 1 : low;
    if (nearest > largest) nearest = saturate ? largest : beyond;
    return (unsigned char)(sign | nearest);
}
GRADER_INLINE float fp8_value(unsigned char bits, int fraction) {
    int magnitude = bits & 0x7f;
    if (fraction == 3 ? magnitude == 0x7f : magnitude > 0x7c) return __uint_as_float(0x7fffffffu);
    float value = fraction == 2 && magnitude == 0x7c ? __uint_as_float(0x7f800000u) : fp8_magnitude(magnitude, fraction);
    return bits & 0x80 ? -value : value;
}

}  // namespace grader

#define GRADER_FP8(name, fraction)                                                                       \
    struct name {                                                                                        \
        __nv_fp8_storage_t __x;                                                                          \
        name() = default;                                                                                \
        GRADER_INLINE explicit name(float v) : __x(grader::fp8_bits(v, true, fraction)) {}               \
        GRADER_INLINE explicit name(double v) : __x(grader::fp8_bits(v, true, fraction)) {}              \
        GRADER_INLINE explicit name(int v) : __x(grader::fp8_bits(v, true, fraction)) {}                 \
        GRADER_INLINE explicit name(__half v) : __x(grader::fp8_bits((float)v, true, fraction)) {}       \
        GRADER_INLINE explicit name(__nv_bfloat16 v) : __x(grader::fp8_bits((float)v, true, fraction)) {} \
        GRADER_INLINE explicit operator float() const { return grader::fp8_value(__x, fraction); }       \
        GRADER_INLINE explicit operator double() const { return grader::fp8_value(__x, fraction); }      \
        GRADER_INLINE explicit operator __half() const { return __half((float)*this); }                  \
        GRADER_INLINE explicit operator __nv_bfloat16() const { return __nv_bfloat16((float)*this); }    \
    };
GRADER_FP8(__nv_fp8_e4m3, 3)
GRADER_FP8(__nv_fp8_e5m2, 2)
#undef GRADER_FP8

GRADER_INLINE __nv_fp8_storage_t __nv_cvt_float_to_fp8(
    float v, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind) {
    return grader::fp8_bits(v, saturate == __NV_SATFINITE, kind == __NV_E4M3 ? 3 : 2);
}

// Floating types of 8 bits: e4m3 (no infinity) and e5m2. Only conversions: a GPU has no other
// operations on them outside its tensor cores.
#pragma once
#include "cuda_bf16.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned __nv_fp8x4_storage_t;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

namespace grader {

struct Fp8 {
    int fraction, bias;
    unsigned largest, infinity;  // infinity: 0 if the type has none
};
GRADER_INLINE Fp8 fp8(__nv_fp8_interpretation_t kind) {
    return kind == __NV_E4M3 ? Fp8{3, 7, 0x7e, 0} : Fp8{2, 15, 0x7b, 0x7c};
}

GRADER_INLINE float fp8_value(unsigned char bits, __nv_fp8_interpretation_t kind) {
    const Fp8 f = fp8(kind);
    const unsigned magnitude = bits & 0x7f, fraction = magnitude & ((1u << f.fraction) - 1);
    const int exponent = (int)(magnitude >> f.fraction);
    float value;
    if (f.infinity ? magnitude > f.infinity : magnitude == 0x7f) value = NAN;
    else if (f.infinity && magnitude == f.infinity) value = INFINITY;
    else if (exponent == 0) value = ldexpf((float)fraction, 1 - f.bias - f.fraction);
    else value = ldexpf((float)((1u << f.fraction) + fraction), exponent - f.bias - f.fraction);
    return bits & 0x80 ? -value : value;
}

// Round to nearest, ties to even.
GRADER_INLINE unsigned char fp8_bits(float value, __nv_saturation_t saturation, __nv_fp8_interpretation_t kind) {
    const Fp8 f = fp8(kind);
    const unsigned sign = __float_as_uint(value) >> 24 & 0x80;
    const float magnitude = fabsf(value);
    if (value != value) return 0x7f;
    int exponent = magnitude > 0 ? ilogbf(magnitude) : -1000;
    if (exponent < 1 - f.bias) exponent = 1 - f.bias;
    unsigned bits = 0xff;
    if (exponent <= 16) {
        // Units of the last place: 8 to 15 (or fewer, if subnormal), and their carry into the exponent.
        const unsigned units = (unsigned)rintf(ldexpf(magnitude, f.fraction - exponent));
        bits = units + ((unsigned)(exponent + f.bias - 1) << f.fraction);
    }
    if (bits > f.largest) bits = saturation == __NV_SATFINITE ? f.largest : f.infinity ? f.infinity : 0x7f;
    return (unsigned char)(sign | bits);
}

}  // namespace grader

GRADER_INLINE __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t s, __nv_fp8_interpretation_t k) { return grader::fp8_bits(x, s, k); }
GRADER_INLINE __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t s, __nv_fp8_interpretation_t k) { return grader::fp8_bits((float)x, s, k); }
GRADER_INLINE __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw x, __nv_saturation_t s, __nv_fp8_interpretation_t k) { return grader::fp8_bits((float)__half(x), s, k); }
GRADER_INLINE __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw x, __nv_saturation_t s, __nv_fp8_interpretation_t k) { return grader::fp8_bits((float)__nv_bfloat16(x), s, k); }
GRADER_INLINE __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 x, __nv_saturation_t s, __nv_fp8_interpretation_t k) {
    return (__nv_fp8x2_storage_t)(grader::fp8_bits(x.x, s, k) | grader::fp8_bits(x.y, s, k) << 8);
}
GRADER_INLINE __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t k) { return __half(grader::fp8_value(x, k)); }
GRADER_INLINE __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t x, __nv_fp8_interpretation_t k) {
    return {__half(grader::fp8_value((unsigned char)x, k)).bits, __half(grader::fp8_value((unsigned char)(x >> 8), k)).bits};
}

#define GRADER_FP8(name, kind)                                                                                \
    struct __nv_fp8_##name {                                                                                  \
        __nv_fp8_storage_t __x;                                                                               \
        __nv_fp8_##name() = default;                                                                          \
        GRADER_INLINE explicit __nv_fp8_##name(float v) : __x(grader::fp8_bits(v, __NV_SATFINITE, kind)) {}   \
        GRADER_INLINE explicit __nv_fp8_##name(double v) : __nv_fp8_##name((float)v) {}                       \
        GRADER_INLINE explicit __nv_fp8_##name(int v) : __nv_fp8_##name((float)v) {}                          \
        GRADER_INLINE explicit __nv_fp8_##name(unsigned v) : __nv_fp8_##name((float)v) {}                     \
        GRADER_INLINE explicit __nv_fp8_##name(__half v) : __nv_fp8_##name((float)v) {}                       \
        GRADER_INLINE explicit __nv_fp8_##name(__nv_bfloat16 v) : __nv_fp8_##name((float)v) {}                \
        GRADER_INLINE explicit operator float() const { return grader::fp8_value(__x, kind); }                \
        GRADER_INLINE explicit operator double() const { return (float)*this; }                               \
        GRADER_INLINE explicit operator __half() const { return __half((float)*this); }                       \
        GRADER_INLINE explicit operator __nv_bfloat16() const { return __nv_bfloat16((float)*this); }         \
        GRADER_INLINE explicit operator int() const { return (int)(float)*this; }                             \
        GRADER_INLINE explicit operator bool() const { return (__x & 0x7f) != 0; }                            \
    };                                                                                                        \
    struct __nv_fp8x2_##name {                                                                                \
        __nv_fp8x2_storage_t __x;                                                                             \
        __nv_fp8x2_##name() = default;                                                                        \
        GRADER_INLINE explicit __nv_fp8x2_##name(float2 v) : __x(__nv_cvt_float2_to_fp8x2(v, __NV_SATFINITE, kind)) {} \
        GRADER_INLINE explicit operator float2() const {                                                      \
            return {grader::fp8_value((unsigned char)__x, kind), grader::fp8_value((unsigned char)(__x >> 8), kind)}; \
        }                                                                                                     \
    };                                                                                                        \
    struct __nv_fp8x4_##name {                                                                                \
        __nv_fp8x4_storage_t __x;                                                                             \
        __nv_fp8x4_##name() = default;                                                                        \
        GRADER_INLINE explicit __nv_fp8x4_##name(float4 v)                                                    \
            : __x(__nv_cvt_float2_to_fp8x2({v.x, v.y}, __NV_SATFINITE, kind) |                                \
                  (unsigned)__nv_cvt_float2_to_fp8x2({v.z, v.w}, __NV_SATFINITE, kind) << 16) {}              \
        GRADER_INLINE explicit operator float4() const {                                                      \
            return {grader::fp8_value((unsigned char)__x, kind), grader::fp8_value((unsigned char)(__x >> 8), kind), \
                    grader::fp8_value((unsigned char)(__x >> 16), kind), grader::fp8_value((unsigned char)(__x >> 24), kind)}; \
        }                                                                                                     \
    };
GRADER_FP8(e4m3, __NV_E4M3)
GRADER_FP8(e5m2, __NV_E5M2)
#undef GRADER_FP8

// bfloat16: the upper half of a float, arithmetic in float (grader_host/half_operations.h).
#pragma once
#include "cuda_fp16.h"

struct __nv_bfloat16_raw { unsigned short x; };
struct __nv_bfloat162_raw { unsigned short x, y; };

struct __nv_bfloat16 {
    unsigned short bits;

    __nv_bfloat16() = default;
    __nv_bfloat16(const __nv_bfloat16&) = default;
    constexpr __nv_bfloat16(const __nv_bfloat16_raw& raw) : bits(raw.x) {}
    GRADER_INLINE explicit __nv_bfloat16(__half v) : bits(grader::bfloat_bits((float)v)) {}
    GRADER_INLINE __nv_bfloat16(float v) : bits(grader::bfloat_bits(v)) {}
    GRADER_INLINE __nv_bfloat16(double v) : bits(grader::bfloat_bits((float)v)) {}
    GRADER_INLINE __nv_bfloat16(short v) : bits(grader::bfloat_bits((float)v)) {}
    GRADER_INLINE __nv_bfloat16(unsigned short v) : bits(grader::bfloat_bits((float)v)) {}
    GRADER_INLINE __nv_bfloat16(int v) : bits(grader::bfloat_bits((float)v)) {}
    GRADER_INLINE __nv_bfloat16(unsigned v) : bits(grader::bfloat_bits((float)v)) {}
    GRADER_INLINE __nv_bfloat16(long long v) : bits(grader::bfloat_bits((float)v)) {}
    GRADER_INLINE __nv_bfloat16(unsigned long long v) : bits(grader::bfloat_bits((float)v)) {}
    GRADER_INLINE operator float() const { return grader::bfloat_value(bits); }
    GRADER_INLINE operator __nv_bfloat16_raw() const { return {bits}; }
    template <class T> GRADER_INLINE __nv_bfloat16& operator=(T v) { bits = __nv_bfloat16(v).bits; return *this; }
    GRADER_INLINE __nv_bfloat16& operator=(const __nv_bfloat16& v) = default;
};
typedef __nv_bfloat16 nv_bfloat16;

struct alignas(4) __nv_bfloat162 {
    __nv_bfloat16 x, y;

    __nv_bfloat162() = default;
    GRADER_INLINE __nv_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) : x(a), y(b) {}
};
typedef __nv_bfloat162 nv_bfloat162;

#define GRADER_TYPE __nv_bfloat16
#define GRADER_PAIR __nv_bfloat162
#define GRADER_RAW __nv_bfloat16_raw
#define GRADER_INFINITY 0x7f80
#include "grader_host/half_operations.h"
#undef GRADER_TYPE
#undef GRADER_PAIR
#undef GRADER_RAW
#undef GRADER_INFINITY

// ---- conversions ----

GRADER_INLINE __nv_bfloat16 __float2bfloat16(float v) { return __nv_bfloat16(v); }
GRADER_INLINE __nv_bfloat16 __float2bfloat16_rn(float v) { return __nv_bfloat16(v); }
GRADER_INLINE __nv_bfloat16 __float2bfloat16_rz(float v) { return __nv_bfloat16_raw{(unsigned short)(__float_as_uint(v) >> 16)}; }
GRADER_INLINE __nv_bfloat16 __double2bfloat16(double v) { return __nv_bfloat16(v); }
GRADER_INLINE float __bfloat162float(__nv_bfloat16 v) { return (float)v; }
GRADER_INLINE __nv_bfloat162 __float2bfloat162_rn(float v) { return {__nv_bfloat16(v), __nv_bfloat16(v)}; }
GRADER_INLINE __nv_bfloat162 __floats2bfloat162_rn(float a, float b) { return {__nv_bfloat16(a), __nv_bfloat16(b)}; }
GRADER_INLINE __nv_bfloat162 __float22bfloat162_rn(float2 v) { return {__nv_bfloat16(v.x), __nv_bfloat16(v.y)}; }
GRADER_INLINE float2 __bfloat1622float2(__nv_bfloat162 v) { return {(float)v.x, (float)v.y}; }
GRADER_INLINE __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 v) { return {v, v}; }
GRADER_INLINE __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return {a, b}; }
GRADER_INLINE __nv_bfloat162 make_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return {a, b}; }
GRADER_INLINE __nv_bfloat16 __low2bfloat16(__nv_bfloat162 v) { return v.x; }
GRADER_INLINE __nv_bfloat16 __high2bfloat16(__nv_bfloat162 v) { return v.y; }
GRADER_INLINE __nv_bfloat162 __low2bfloat162(__nv_bfloat162 v) { return {v.x, v.x}; }
GRADER_INLINE __nv_bfloat162 __high2bfloat162(__nv_bfloat162 v) { return {v.y, v.y}; }
GRADER_INLINE float __low2float(__nv_bfloat162 v) { return (float)v.x; }
GRADER_INLINE float __high2float(__nv_bfloat162 v) { return (float)v.y; }
GRADER_INLINE short __bfloat16_as_short(__nv_bfloat16 v) { return (short)v.bits; }
GRADER_INLINE unsigned short __bfloat16_as_ushort(__nv_bfloat16 v) { return v.bits; }
GRADER_INLINE __nv_bfloat16 __short_as_bfloat16(short v) { return __nv_bfloat16_raw{(unsigned short)v}; }
GRADER_INLINE __nv_bfloat16 __ushort_as_bfloat16(unsigned short v) { return __nv_bfloat16_raw{v}; }
GRADER_INLINE int __bfloat162int_rn(__nv_bfloat16 v) { return __float2int_rn(v); }
GRADER_INLINE int __bfloat162int_rz(__nv_bfloat16 v) { return __float2int_rz(v); }
GRADER_INLINE __nv_bfloat16 __int2bfloat16_rn(int v) { return __nv_bfloat16((float)v); }
GRADER_INLINE __nv_bfloat16 __uint2bfloat16_rn(unsigned v) { return __nv_bfloat16((float)v); }

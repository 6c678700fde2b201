// Half precision: storage in 16 bits, arithmetic in float (grader_host/half_operations.h).
#pragma once
#include "cuda_runtime.h"

struct __half_raw { unsigned short x; };
struct __half2_raw { unsigned short x, y; };

struct __half {
    unsigned short bits;

    __half() = default;
    constexpr __half(const __half_raw& raw) : bits(raw.x) {}
    GRADER_INLINE __half(float v) : bits(grader::half_bits(v)) {}
    GRADER_INLINE __half(double v) : bits(grader::half_bits((float)v)) {}
    GRADER_INLINE __half(int v) : bits(grader::half_bits((float)v)) {}
    GRADER_INLINE __half(unsigned v) : bits(grader::half_bits((float)v)) {}
    GRADER_INLINE __half(long long v) : bits(grader::half_bits((float)v)) {}
    GRADER_INLINE __half(unsigned long long v) : bits(grader::half_bits((float)v)) {}
    GRADER_INLINE __half(short v) : bits(grader::half_bits((float)v)) {}
    GRADER_INLINE __half(unsigned short v) : bits(grader::half_bits((float)v)) {}
    GRADER_INLINE operator float() const { return grader::half_value(bits); }
    GRADER_INLINE operator __half_raw() const { return {bits}; }
    template <class T> GRADER_INLINE __half& operator=(T v) { bits = __half(v).bits; return *this; }
    GRADER_INLINE __half& operator=(const __half& v) = default;
    __half(const __half&) = default;
};
typedef __half half;
typedef __half nv_half;
typedef __half __nv_half;

struct alignas(4) __half2 {
    __half x, y;

    __half2() = default;
    GRADER_INLINE __half2(__half a, __half b) : x(a), y(b) {}
    GRADER_INLINE __half2(const __half2_raw& raw) : x(__half_raw{raw.x}), y(__half_raw{raw.y}) {}
};
typedef __half2 half2;
typedef __half2 nv_half2;

#define GRADER_TYPE __half
#define GRADER_PAIR __half2
#define GRADER_RAW __half_raw
#define GRADER_INFINITY 0x7c00
#include "grader_host/half_operations.h"
#undef GRADER_TYPE
#undef GRADER_PAIR
#undef GRADER_RAW
#undef GRADER_INFINITY

// ---- conversions ----

GRADER_INLINE __half __float2half(float v) { return __half(v); }
GRADER_INLINE __half __float2half_rn(float v) { return __half(v); }
GRADER_INLINE __half __double2half(double v) { return __half((float)v); }
GRADER_INLINE float __half2float(__half v) { return (float)v; }
GRADER_INLINE __half2 __float2half2_rn(float v) { return {__half(v), __half(v)}; }
GRADER_INLINE __half2 __floats2half2_rn(float a, float b) { return {__half(a), __half(b)}; }
GRADER_INLINE __half2 __float22half2_rn(float2 v) { return {__half(v.x), __half(v.y)}; }
GRADER_INLINE float2 __half22float2(__half2 v) { return {(float)v.x, (float)v.y}; }
GRADER_INLINE __half2 __half2half2(__half v) { return {v, v}; }
GRADER_INLINE __half2 __halves2half2(__half a, __half b) { return {a, b}; }
GRADER_INLINE __half2 make_half2(__half a, __half b) { return {a, b}; }
GRADER_INLINE __half __low2half(__half2 v) { return v.x; }
GRADER_INLINE __half __high2half(__half2 v) { return v.y; }
GRADER_INLINE float __low2float(__half2 v) { return (float)v.x; }
GRADER_INLINE float __high2float(__half2 v) { return (float)v.y; }
GRADER_INLINE __half2 __low2half2(__half2 v) { return {v.x, v.x}; }
GRADER_INLINE __half2 __high2half2(__half2 v) { return {v.y, v.y}; }
GRADER_INLINE __half2 __lowhigh2highlow(__half2 v) { return {v.y, v.x}; }
GRADER_INLINE __half2 __lows2half2(__half2 a, __half2 b) { return {a.x, b.x}; }
GRADER_INLINE __half2 __highs2half2(__half2 a, __half2 b) { return {a.y, b.y}; }
GRADER_INLINE short __half_as_short(__half v) { return (short)v.bits; }
GRADER_INLINE unsigned short __half_as_ushort(__half v) { return v.bits; }
GRADER_INLINE __half __short_as_half(short v) { return __half_raw{(unsigned short)v}; }
GRADER_INLINE __half __ushort_as_half(unsigned short v) { return __half_raw{v}; }
GRADER_INLINE int __half2int_rn(__half v) { return __float2int_rn(v); }
GRADER_INLINE int __half2int_rz(__half v) { return __float2int_rz(v); }
GRADER_INLINE __half __int2half_rn(int v) { return __half((float)v); }
GRADER_INLINE __half __uint2half_rn(unsigned v) { return __half((float)v); }
GRADER_INLINE __half __double2half_rn(double v) { return __half((float)v); }
GRADER_INLINE __half __float2half_rz(float v) {
    const __half near = v;
    return (v < 0 ? -(float)near : (float)near) > fabsf(v) ? __half_raw{(unsigned short)(near.bits - 1)} : __half_raw{near.bits};
}
GRADER_INLINE __half __short2half_rn(short v) { return __half((float)v); }
GRADER_INLINE __half __ushort2half_rn(unsigned short v) { return __half((float)v); }
GRADER_INLINE __half __ll2half_rn(long long v) { return __half((float)v); }
GRADER_INLINE unsigned __half2uint_rn(__half v) { return __float2uint_rn(v); }
GRADER_INLINE unsigned __half2uint_rz(__half v) { return __float2uint_rz(v); }
GRADER_INLINE short __half2short_rn(__half v) { return (short)__float2int_rn(v); }
GRADER_INLINE unsigned short __half2ushort_rn(__half v) { return (unsigned short)__float2uint_rn(v); }

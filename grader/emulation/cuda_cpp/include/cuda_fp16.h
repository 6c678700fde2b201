// Half precision: storage in 16 bits, arithmetic in float, one rounding per
// operation. This agrees with the hardware's +, -, *, / and fma on finite
// numbers: a float holds every product of two halves, and rounding to float
// first does not change the rounding to half.
#pragma once
#include "cuda_runtime.h"

namespace grader {

// Round to nearest, ties to even; overflow is infinity, NaN stays NaN.
GRADER_INLINE unsigned short half_bits(float value) {
    unsigned x = __float_as_uint(value), sign = x >> 16 & 0x8000u;
    x &= 0x7fffffffu;
    if (x > 0x7f800000u) return (unsigned short)(sign | 0x7fffu);
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

}  // namespace grader

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
    GRADER_INLINE operator float() const { return grader::half_value(bits); }
    GRADER_INLINE operator __half_raw() const { return {bits}; }
    template <class T> GRADER_INLINE __half& operator=(T v) { bits = __half(v).bits; return *this; }
    GRADER_INLINE __half& operator=(const __half& v) = default;
    __half(const __half&) = default;
};
typedef __half half;

struct alignas(4) __half2 {
    __half x, y;

    __half2() = default;
    GRADER_INLINE __half2(__half a, __half b) : x(a), y(b) {}
};
typedef __half2 half2;

#define GRADER_HALF_OPERATOR(op)                                                                                  \
    GRADER_INLINE __half operator op(const __half& a, const __half& b) { return __half((float)a op (float)b); }   \
    GRADER_INLINE __half& operator op##=(__half& a, const __half& b) { return a = __half((float)a op (float)b); } \
    GRADER_INLINE __half2 operator op(const __half2& a, const __half2& b) { return {a.x op b.x, a.y op b.y}; }    \
    GRADER_INLINE __half2& operator op##=(__half2& a, const __half2& b) { return a = a op b; }
GRADER_HALF_OPERATOR(+)
GRADER_HALF_OPERATOR(-)
GRADER_HALF_OPERATOR(*)
GRADER_HALF_OPERATOR(/)
#undef GRADER_HALF_OPERATOR
GRADER_INLINE __half operator-(const __half& a) { return __half_raw{(unsigned short)(a.bits ^ 0x8000)}; }
GRADER_INLINE __half operator+(const __half& a) { return a; }
GRADER_INLINE __half2 operator-(const __half2& a) { return {-a.x, -a.y}; }
#define GRADER_HALF_COMPARISON(op, name)                                                                       \
    GRADER_INLINE bool operator op(const __half& a, const __half& b) { return (float)a op (float)b; }          \
    GRADER_INLINE bool __h##name(__half a, __half b) { return (float)a op (float)b; }                          \
    GRADER_INLINE __half2 __h##name##2(__half2 a, __half2 b) {                                                 \
        return {__half((a.x op b.x) ? 1.0f : 0.0f), __half((a.y op b.y) ? 1.0f : 0.0f)};                       \
    }                                                                                                          \
    GRADER_INLINE bool __hb##name##2(__half2 a, __half2 b) { return (a.x op b.x) && (a.y op b.y); }
GRADER_HALF_COMPARISON(==, eq)
GRADER_HALF_COMPARISON(!=, ne)
GRADER_HALF_COMPARISON(<, lt)
GRADER_HALF_COMPARISON(<=, le)
GRADER_HALF_COMPARISON(>, gt)
GRADER_HALF_COMPARISON(>=, ge)
#undef GRADER_HALF_COMPARISON

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

// ---- arithmetic by name ----

#define GRADER_HALF_BINARY(name, op)                                              \
    GRADER_INLINE __half __h##name(__half a, __half b) { return a op b; }         \
    GRADER_INLINE __half __h##name##_rn(__half a, __half b) { return a op b; }    \
    GRADER_INLINE __half2 __h##name##2(__half2 a, __half2 b) { return a op b; }   \
    GRADER_INLINE __half2 __h##name##2_rn(__half2 a, __half2 b) { return a op b; }
GRADER_HALF_BINARY(add, +)
GRADER_HALF_BINARY(sub, -)
GRADER_HALF_BINARY(mul, *)
#undef GRADER_HALF_BINARY
GRADER_INLINE __half __hdiv(__half a, __half b) { return a / b; }
GRADER_INLINE __half2 __h2div(__half2 a, __half2 b) { return a / b; }
GRADER_INLINE __half __hneg(__half a) { return -a; }
GRADER_INLINE __half2 __hneg2(__half2 a) { return -a; }
GRADER_INLINE __half __habs(__half a) { return __half_raw{(unsigned short)(a.bits & 0x7fff)}; }
GRADER_INLINE __half2 __habs2(__half2 a) { return {__habs(a.x), __habs(a.y)}; }
// The product is exact in float, the sum is rounded to float and then to half: the last bit may differ.
GRADER_INLINE __half __hfma(__half a, __half b, __half c) { return __half(fmaf((float)a, (float)b, (float)c)); }
GRADER_INLINE __half2 __hfma2(__half2 a, __half2 b, __half2 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }
GRADER_INLINE __half __hmax(__half a, __half b) { return __half(fmaxf(a, b)); }
GRADER_INLINE __half __hmin(__half a, __half b) { return __half(fminf(a, b)); }
GRADER_INLINE __half2 __hmax2(__half2 a, __half2 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }
GRADER_INLINE __half2 __hmin2(__half2 a, __half2 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }
GRADER_INLINE bool __hisnan(__half a) { return (a.bits & 0x7fff) > 0x7c00; }
GRADER_INLINE int __hisinf(__half a) { return (a.bits & 0x7fff) == 0x7c00 ? (a.bits & 0x8000 ? -1 : 1) : 0; }

#define GRADER_HALF_FUNCTION(name, expression)                                                \
    GRADER_INLINE __half h##name(__half value) { float x = value; return __half(expression); } \
    GRADER_INLINE __half2 h2##name(__half2 v) { return {h##name(v.x), h##name(v.y)}; }
GRADER_HALF_FUNCTION(sqrt, sqrtf(x))
GRADER_HALF_FUNCTION(rsqrt, rsqrtf(x))
GRADER_HALF_FUNCTION(rcp, 1.0f / x)
GRADER_HALF_FUNCTION(exp, expf(x))
GRADER_HALF_FUNCTION(exp2, exp2f(x))
GRADER_HALF_FUNCTION(exp10, powf(10.0f, x))
GRADER_HALF_FUNCTION(log, logf(x))
GRADER_HALF_FUNCTION(log2, log2f(x))
GRADER_HALF_FUNCTION(log10, log10f(x))
GRADER_HALF_FUNCTION(sin, sinf(x))
GRADER_HALF_FUNCTION(cos, cosf(x))
GRADER_HALF_FUNCTION(tanh, tanhf(x))
GRADER_HALF_FUNCTION(floor, floorf(x))
GRADER_HALF_FUNCTION(ceil, ceilf(x))
GRADER_HALF_FUNCTION(trunc, truncf(x))
GRADER_HALF_FUNCTION(rint, rintf(x))
#undef GRADER_HALF_FUNCTION

// ---- atomics ----

GRADER_INLINE __half atomicAdd(__half* p, __half v) {
    grader_atomic(p, sizeof(__half));
    unsigned short* word = reinterpret_cast<unsigned short*>(p);
    unsigned short seen = __atomic_load_n(word, __ATOMIC_RELAXED), wanted;
    do {
        wanted = (__half(__half_raw{seen}) + v).bits;
    } while (!__atomic_compare_exchange_n(word, &seen, wanted, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return __half_raw{seen};
}
GRADER_INLINE __half2 atomicAdd(__half2* p, __half2 v) {
    __half low = atomicAdd(&p->x, v.x), high = atomicAdd(&p->y, v.y);
    return {low, high};
}

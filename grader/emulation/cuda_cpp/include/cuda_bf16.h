// bfloat16, the upper half of a float; see grader_host/sixteen_bits.h.
#pragma once
#include "cuda_runtime.h"

namespace grader {

// Round to nearest, ties to even; NaN becomes the NaN of the hardware.
GRADER_INLINE unsigned short bfloat16_bits(float value) {
    unsigned x = __float_as_uint(value);
    if ((x & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
    return (unsigned short)((x + 0x7fffu + (x >> 16 & 1)) >> 16);
}
GRADER_INLINE float bfloat16_value(unsigned short bits) { return __uint_as_float((unsigned)bits << 16); }

}  // namespace grader

struct __nv_bfloat16_raw { unsigned short x; };
struct __nv_bfloat162_raw { unsigned short x, y; };

#define GRADER_F __nv_bfloat16
#define GRADER_F2 __nv_bfloat162
#define GRADER_F_RAW __nv_bfloat16_raw
#define GRADER_F_BITS grader::bfloat16_bits
#define GRADER_F_VALUE grader::bfloat16_value
#define GRADER_F_INFINITY 0x7f80
#include "grader_host/sixteen_bits.h"

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

// ---- conversions ----

GRADER_INLINE __nv_bfloat16 __float2bfloat16(float v) { return __nv_bfloat16(v); }
GRADER_INLINE __nv_bfloat16 __float2bfloat16_rn(float v) { return __nv_bfloat16(v); }
GRADER_INLINE __nv_bfloat16 __double2bfloat16(double v) { return __nv_bfloat16((float)v); }
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
GRADER_INLINE __nv_bfloat162 __lowhigh2highlow(__nv_bfloat162 v) { return {v.y, v.x}; }
GRADER_INLINE __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.x, b.x}; }
GRADER_INLINE __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.y, b.y}; }
GRADER_INLINE short __bfloat16_as_short(__nv_bfloat16 v) { return (short)v.bits; }
GRADER_INLINE unsigned short __bfloat16_as_ushort(__nv_bfloat16 v) { return v.bits; }
GRADER_INLINE __nv_bfloat16 __short_as_bfloat16(short v) { return __nv_bfloat16_raw{(unsigned short)v}; }
GRADER_INLINE __nv_bfloat16 __ushort_as_bfloat16(unsigned short v) { return __nv_bfloat16_raw{v}; }
GRADER_INLINE int __bfloat162int_rn(__nv_bfloat16 v) { return __float2int_rn(v); }
GRADER_INLINE int __bfloat162int_rz(__nv_bfloat16 v) { return __float2int_rz(v); }
GRADER_INLINE __nv_bfloat16 __int2bfloat16_rn(int v) { return __nv_bfloat16((float)v); }
GRADER_INLINE __nv_bfloat16 __uint2bfloat16_rn(unsigned v) { return __nv_bfloat16((float)v); }

// Complex numbers, as pairs of float or double.
#pragma once
#include "cuda_runtime.h"

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

#define GRADER_COMPLEX(C, T, suffix, root, fused)                                                      \
    GRADER_INLINE T cuCreal##suffix(C a) { return a.x; }                                               \
    GRADER_INLINE T cuCimag##suffix(C a) { return a.y; }                                               \
    GRADER_INLINE C cuConj##suffix(C a) { return {a.x, -a.y}; }                                        \
    GRADER_INLINE C cuCadd##suffix(C a, C b) { return {a.x + b.x, a.y + b.y}; }                        \
    GRADER_INLINE C cuCsub##suffix(C a, C b) { return {a.x - b.x, a.y - b.y}; }                        \
    GRADER_INLINE C cuCmul##suffix(C a, C b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; } \
    GRADER_INLINE C cuCdiv##suffix(C a, C b) {                                                         \
        /* scaled, as the numbers' squares may overflow */                                             \
        T scale = (T)1 / ((b.x < 0 ? -b.x : b.x) + (b.y < 0 ? -b.y : b.y));                            \
        C c = {a.x * scale, a.y * scale}, d = {b.x * scale, b.y * scale};                              \
        T whole = (T)1 / (d.x * d.x + d.y * d.y);                                                      \
        return {(c.x * d.x + c.y * d.y) * whole, (c.y * d.x - c.x * d.y) * whole};                     \
    }                                                                                                  \
    GRADER_INLINE T cuCabs##suffix(C a) { return root(a.x, a.y); }                                     \
    GRADER_INLINE C cuCfma##suffix(C a, C b, C c) {                                                    \
        return {fused(-a.y, b.y, fused(a.x, b.x, c.x)), fused(a.y, b.x, fused(a.x, b.y, c.y))};        \
    }
GRADER_COMPLEX(cuFloatComplex, float, f, hypotf, fmaf)
GRADER_COMPLEX(cuDoubleComplex, double, , hypot, fma)
#undef GRADER_COMPLEX
GRADER_INLINE cuFloatComplex make_cuFloatComplex(float x, float y) { return {x, y}; }
GRADER_INLINE cuDoubleComplex make_cuDoubleComplex(double x, double y) { return {x, y}; }
GRADER_INLINE cuComplex make_cuComplex(float x, float y) { return {x, y}; }

// Complex numbers as CUDA's cuComplex.h names them.
#pragma once
#include "cuda_runtime.h"

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

#define GRADER_COMPLEX(suffix, C, R, root)                                                         \
    GRADER_INLINE R cuCreal##suffix(C a) { return a.x; }                                           \
    GRADER_INLINE R cuCimag##suffix(C a) { return a.y; }                                           \
    GRADER_INLINE C cuConj##suffix(C a) { return {a.x, -a.y}; }                                    \
    GRADER_INLINE C cuCadd##suffix(C a, C b) { return {a.x + b.x, a.y + b.y}; }                    \
    GRADER_INLINE C cuCsub##suffix(C a, C b) { return {a.x - b.x, a.y - b.y}; }                    \
    GRADER_INLINE C cuCmul##suffix(C a, C b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; } \
    GRADER_INLINE R cuCabs##suffix(C a) { return root(a.x, a.y); }                                 \
    GRADER_INLINE C cuCdiv##suffix(C a, C b) {                                                     \
        /* Scaled, so that large and small divisors neither overflow nor vanish. */                \
        const R scale = 1 / ((b.x < 0 ? -b.x : b.x) + (b.y < 0 ? -b.y : b.y));                     \
        const R ar = a.x * scale, ai = a.y * scale, br = b.x * scale, bi = b.y * scale;            \
        const R norm = 1 / (br * br + bi * bi);                                                    \
        return {(ar * br + ai * bi) * norm, (ai * br - ar * bi) * norm};                           \
    }                                                                                              \
    GRADER_INLINE C cuCfma##suffix(C a, C b, C c) {                                                \
        return {a.x * b.x + c.x - a.y * b.y, a.x * b.y + c.y + a.y * b.x};                         \
    }
GRADER_COMPLEX(f, cuFloatComplex, float, hypotf)
GRADER_COMPLEX(, cuDoubleComplex, double, hypot)
#undef GRADER_COMPLEX

GRADER_INLINE cuFloatComplex make_cuFloatComplex(float x, float y) { return {x, y}; }
GRADER_INLINE cuDoubleComplex make_cuDoubleComplex(double x, double y) { return {x, y}; }
GRADER_INLINE cuComplex make_cuComplex(float x, float y) { return {x, y}; }
GRADER_INLINE cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex c) { return {c.x, c.y}; }
GRADER_INLINE cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex c) { return {(float)c.x, (float)c.y}; }

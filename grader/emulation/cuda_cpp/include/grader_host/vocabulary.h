// The words of CUDA C++: function and variable marks, vector types, error codes.
//
// A mark such as __device__ has no meaning on the host and expands to nothing, or
// to an attribute without effect for grader/emulation/cuda_cpp/execution_space.py;
// `__shared__` and launches do not exist in C++ and are rewritten before
// compilation (grader/emulation/cuda_cpp/rewriter.py). So is `__noinline__`: as a macro
// it would break the `__attribute__((__noinline__))` of the standard library.
#pragma once
#include "errors.h"

#define __CUDACC__ 1
// What headers look for before they use the runtime API.
#define __DRIVER_TYPES_H__
#define __CUDA_RUNTIME_H__
#define __CUDA_RUNTIME_API_H__
#define __VECTOR_TYPES_H__
#define __CUDACC_EXTENDED_LAMBDA__ 1
#define __CUDACC_RELAXED_CONSTEXPR__ 1
#define __NVCC__ 1
#define CUDART_VERSION 13000
#define CUDA_VERSION 13000
#define __CUDACC_VER_MAJOR__ 13
#define __CUDA_ARCH__ 800  // in host code, too, which is compiled together with device code
#define __CUDACC_VER_MINOR__ 0
#define __CUDACC_VER_BUILD__ 88

#if GRADER_SPACES
#define __global__ __attribute__((noclone))
#define __device__ __attribute__((no_profile_instrument_function))
#define __host__ __attribute__((no_icf))
#else
#define __global__
#define __device__
#define __host__
#endif
#define __constant__
#define __managed__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __inline_hint__
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __maxnreg__(...)
#define CUDARTAPI
#define __builtin_assume(condition) ((void)0)  // a promise to nvcc, which g++ does not need
#define CUDART_CB

// Header functions are always inlined, so that a return address inside them
// still leads, through the inline frames, to the student's line.
#define GRADER_INLINE inline __attribute__((always_inline))

#ifndef GRADER_CHECKED
#define GRADER_CHECKED 0
#endif

// ---- vector types: alignments as in CUDA, on which vector loads depend ----

#define GRADER_VECTOR(T, name, align2, align4, ...)                                       \
    struct name##1 { T x; };                                                              \
    struct alignas(align2) name##2 { T x, y; };                                           \
    struct name##3 { T x, y, z; __VA_ARGS__ };                                            \
    struct alignas(align4) name##4 { T x, y, z, w; };                                     \
    GRADER_INLINE name##1 make_##name##1(T x) { return {x}; }                             \
    GRADER_INLINE name##2 make_##name##2(T x, T y) { return {x, y}; }                     \
    GRADER_INLINE name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }             \
    GRADER_INLINE name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }

GRADER_VECTOR(signed char, char, 2, 4)
GRADER_VECTOR(unsigned char, uchar, 2, 4)
GRADER_VECTOR(short, short, 4, 8)
GRADER_VECTOR(unsigned short, ushort, 4, 8)
GRADER_VECTOR(int, int, 8, 16)
#if GRADER_CHECKED
GRADER_VECTOR(unsigned int, uint, 8, 16)
#else
// The loop over a block's threads writes the constant threadIdx (execution.h): g++ takes an object
// for read-only, and moves loads out of the loop, unless its type has something mutable.
GRADER_VECTOR(unsigned int, uint, 8, 16, mutable unsigned : 0;)
#endif
GRADER_VECTOR(long, long, 16, 16)
GRADER_VECTOR(unsigned long, ulong, 16, 16)
GRADER_VECTOR(long long, longlong, 16, 16)
GRADER_VECTOR(unsigned long long, ulonglong, 16, 16)
GRADER_VECTOR(float, float, 8, 16)
GRADER_VECTOR(double, double, 16, 16)
#undef GRADER_VECTOR

struct dim3 {
    unsigned int x, y, z;
    constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1)
        : x(vx), y(vy), z(vz) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return uint3{x, y, z}; }
};

enum cudaMemcpyKind {
    cudaMemcpyHostToHost = 0,
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3,
    cudaMemcpyDefault = 4,
};

typedef struct GraderStream* cudaStream_t;
typedef struct GraderEvent* cudaEvent_t;
#define cudaStreamLegacy ((cudaStream_t)0x1)
#define cudaStreamPerThread ((cudaStream_t)0x2)
// Of launches by kernels.
#define cudaStreamTailLaunch ((cudaStream_t)0x3)
#define cudaStreamFireAndForget ((cudaStream_t)0x4)

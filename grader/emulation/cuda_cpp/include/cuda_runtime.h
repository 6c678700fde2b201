// CUDA on the host: the header that is force-included before a student's file,
// as nvcc force-includes its own. It declares the CUDA C++ language (types,
// built-in variables, intrinsics) and the runtime API in terms of ordinary
// C++17; the definitions that need a scheduler or a checker are in ../runtime.
//
//   vocabulary.h   __global__, __device__, dim3, float4, error codes
//   execution.h    threadIdx …, launches, __shared__, barriers
//   thread_loops.h kernels that run once for each block
//   warp.h         shuffles, votes, match, reduce
//   atomics.h      atomicAdd …
//   arithmetic.h   min/max, fast-math names, bit intrinsics, conversions
//   simd.h         the bytes and halves of a word
//   memory_api.h   cudaMalloc, cudaMemcpy …, symbols
//   device_api.h   devices, streams, events, errors, occupancy
//   texture_api.h  3-D memory, arrays, texture objects
//   graph_api.h    graphs, capture of streams
//   ptx.h          what inline PTX becomes
//
// Without <iostream> and the heavy parts of the standard library, so that a
// student's file compiles in about 0.15 s. A function that is no template uses as few templates
// as it can: g++ instantiates them anew for every file.
#pragma once

// Before every other header, whose templates copy, too. Not the C++ library's <math.h> and
// <stdlib.h>, which include such headers.
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#if GRADER_CHECKED && !defined(GRADER_INDEX)  // a student's file, not the runtime
#define GRADER_CHECKS_COPIES 1
// Redirects the student code's calls, explicit or by the compiler, to the checker.
extern "C" {
void* memcpy(void*, const void*, size_t) noexcept __asm__("grader_memcpy");
void* memmove(void*, const void*, size_t) noexcept __asm__("grader_memmove");
void* memset(void*, int, size_t) noexcept __asm__("grader_memset");
}
// The compiler's builtins are not renamed with the functions: without this they
// would be unchecked copies. (A student's #undef is refused.)
#define __builtin_memcpy memcpy
#define __builtin_memmove memmove
#define __builtin_memset memset
#define __builtin___memcpy_chk(to, from, bytes, room) memcpy(to, from, bytes)
#define __builtin___memmove_chk(to, from, bytes, room) memmove(to, from, bytes)
#define __builtin___memset_chk(to, value, bytes, room) memset(to, value, bytes)
#define bcopy(from, to, bytes) ((void)memmove(to, from, bytes))
#define bzero(to, bytes) ((void)memset(to, 0, bytes))
#define __builtin_bcopy bcopy
#define __builtin_bzero bzero

// Other library functions of device code that write through pointers, or read strings.
#define _GLIBCXX_INCLUDE_NEXT_C_HEADERS
#include <math.h>
#undef _GLIBCXX_INCLUDE_NEXT_C_HEADERS
extern "C" {
double modf(double, double*) noexcept __asm__("grader_modf");
float modff(float, float*) noexcept __asm__("grader_modff");
double frexp(double, int*) noexcept __asm__("grader_frexp");
float frexpf(float, int*) noexcept __asm__("grader_frexpf");
double remquo(double, double, int*) noexcept __asm__("grader_remquo");
float remquof(float, float, int*) noexcept __asm__("grader_remquof");
void sincos(double, double*, double*) noexcept __asm__("grader_sincos");
void sincosf(float, float*, float*) noexcept __asm__("grader_sincosf");
int printf(const char*, ...) __asm__("grader_printf");
int vprintf(const char*, __builtin_va_list) __asm__("grader_vprintf");
}
#define __builtin_modf modf
#define __builtin_modff modff
#define __builtin_frexp frexp
#define __builtin_frexpf frexpf
#define __builtin_remquo remquo
#define __builtin_remquof remquof
#define __builtin_sincos sincos
#define __builtin_sincosf sincosf
#define __builtin_printf printf
#define __builtin_vprintf vprintf
#endif

#ifndef GRADER_INDEX
// In a kernel these are the device's.
extern "C" {
void* malloc(size_t) noexcept __asm__("grader_heap_malloc");
void free(void*) noexcept __asm__("grader_heap_free");
long clock() noexcept __asm__("grader_clock");
#if GRADER_CHECKED
void* calloc(size_t, size_t) noexcept __asm__("grader_heap_calloc");
void* realloc(void*, size_t) noexcept __asm__("grader_heap_realloc");
#endif
}
extern "C" void* grader_heap_new(size_t) noexcept;
extern "C" void* grader_heap_new_array(size_t) noexcept;
// Always inlined: the rest of the program, and the runtime, keep the library's.
#define GRADER_ALWAYS inline __attribute__((always_inline))
GRADER_ALWAYS void* operator new(size_t bytes) { return grader_heap_new(bytes); }
GRADER_ALWAYS void* operator new[](size_t bytes) { return grader_heap_new_array(bytes); }
GRADER_ALWAYS void operator delete(void* memory) noexcept { free(memory); }
GRADER_ALWAYS void operator delete[](void* memory) noexcept { free(memory); }
GRADER_ALWAYS void operator delete(void* memory, size_t) noexcept { free(memory); }
GRADER_ALWAYS void operator delete[](void* memory, size_t) noexcept { free(memory); }
#undef GRADER_ALWAYS
#endif

// Without the special functions (std::legendre …) of <cmath>: g++ would instantiate their templates
// for every file, precompiled or not, which takes 14 ms of 35 for an empty one. The headers that come
// with them stay: nvcc has them too.
#include <cstddef>
#undef _GLIBCXX_USE_STD_SPEC_FUNCS
#include <bits/stl_algobase.h>
#include <limits>
#include <type_traits>

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "grader_host/vocabulary.h"
#include "grader_host/execution.h"
#include "grader_host/thread_loops.h"
#include "grader_host/warp.h"
#include "grader_host/atomics.h"
#include "grader_host/arithmetic.h"
#include "grader_host/simd.h"
#include "grader_host/memory_api.h"
#include "grader_host/device_api.h"
#include "grader_host/texture_api.h"
#include "grader_host/graph_api.h"
#include "grader_host/ptx.h"

// The trampoline's functions are visible, although everything else is hidden.
extern "C" __attribute__((visibility("default"))) int grader_call(const unsigned long long* arguments);
extern "C" __attribute__((visibility("default"))) int grader_call_again(const unsigned long long* arguments);

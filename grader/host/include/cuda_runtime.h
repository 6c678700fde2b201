// CUDA on the host: the header that is force-included before a student's file,
// as nvcc force-includes its own. It declares the CUDA C++ language (types,
// built-in variables, intrinsics) and the runtime API in terms of ordinary
// C++17; the definitions that need a scheduler or a checker are in ../runtime.
//
//   vocabulary.h   __global__, __device__, dim3, float4, error codes
//   execution.h    threadIdx …, launches, __shared__, barriers
//   warp.h         shuffles, votes, match, reduce
//   atomics.h      atomicAdd …
//   arithmetic.h   min/max, fast-math names, bit intrinsics, conversions
//   memory_api.h   cudaMalloc, cudaMemcpy …, symbols
//   device_api.h   devices, streams, events, errors, occupancy
//
// <iostream> and the heavy parts of the standard library stay out: that is
// what makes a student's file compile in about 0.15 s.
#pragma once

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "grader_host/vocabulary.h"

#if GRADER_CHECKED && !defined(GRADER_INDEX)
// Student code's calls, explicit or made by the compiler, go to the checker.
extern "C" {
void* memcpy(void*, const void*, size_t) noexcept __asm__("grader_memcpy");
void* memmove(void*, const void*, size_t) noexcept __asm__("grader_memmove");
void* memset(void*, int, size_t) noexcept __asm__("grader_memset");
}
#endif

#include "grader_host/execution.h"
#include "grader_host/warp.h"
#include "grader_host/atomics.h"
#include "grader_host/arithmetic.h"
#include "grader_host/memory_api.h"
#include "grader_host/device_api.h"

// What a trampoline defines, visible although everything else is hidden.
extern "C" __attribute__((visibility("default"))) int grader_call(const unsigned long long* arguments);

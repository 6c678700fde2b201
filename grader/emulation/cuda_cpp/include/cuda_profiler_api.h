// Profiler marks: there is no profiler here, so they do nothing.
#pragma once
#include "cuda_runtime.h"
inline cudaError_t cudaProfilerStart() { return cudaSuccess; }
inline cudaError_t cudaProfilerStop() { return cudaSuccess; }

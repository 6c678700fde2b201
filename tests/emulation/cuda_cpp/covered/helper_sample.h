// What sample code includes: it looks for the toolkit's headers before it declares its checks.
#pragma once
#include <cstdio>
#include <cstdlib>
#ifdef __DRIVER_TYPES_H__
static const char* error_name(cudaError_t error) { return cudaGetErrorName(error); }
#endif
#ifdef CUBLAS_API_H_
static const char* error_name(cublasStatus_t error) { return error == CUBLAS_STATUS_SUCCESS ? "success" : "failure"; }
#endif
template <class T> void check(T result, const char* call, const char* file, int line) {
    if (result) {
        fprintf(stderr, "%s:%d: %s from %s\n", file, line, error_name(result), call);
        exit(EXIT_FAILURE);
    }
}
#define checkErrors(call) check((call), #call, __FILE__, __LINE__)
#ifdef __CUDA_RUNTIME_H__
inline int find_device() {
    int count = 0, mode = -1, major = 0;
    checkErrors(cudaGetDeviceCount(&count));
    checkErrors(cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, 0));
    checkErrors(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    if (count == 0 || mode == cudaComputeModeProhibited || major < 1) exit(2);
    checkErrors(cudaSetDevice(0));
    return 0;
}
#endif

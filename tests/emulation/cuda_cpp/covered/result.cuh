// Small helpers of the programs here. Each prints what it computed, on a GPU and on the host alike;
// with -D PLANTED it has the fault that its `// FAULT` line marks.
#pragma once
#include <cstdio>
#include <cstdlib>

#ifdef PLANTED
#define PLANT(wrong, right) wrong
#else
#define PLANT(wrong, right) right
#endif

// n elements, element i from value(i).
template <class T, class Value> T* filled(int n, Value value) {
    T* host = (T*)malloc(n * sizeof(T));
    for (int i = 0; i < n; ++i) host[i] = value(i);
    T* device;
    cudaMalloc(&device, n * sizeof(T));
    cudaMemcpy(device, host, n * sizeof(T), cudaMemcpyHostToDevice);
    free(host);
    return device;
}
template <class T> T* zeros(int n) {
    T* device;
    cudaMalloc(&device, n * sizeof(T));
    cudaMemset(device, 0, n * sizeof(T));
    return device;
}
// Prints the first, some and the last of n elements; then frees them.
template <class T> void show(const char* name, T* device, int n) {
    T* host = (T*)malloc(n * sizeof(T));
    cudaError_t error = cudaMemcpy(host, device, n * sizeof(T), cudaMemcpyDeviceToHost);
    printf("%s (%s):", name, cudaGetErrorString(error));
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += (double)host[i];
    for (int i = 0; i < n; i += n < 8 ? 1 : n / 8) printf(" %.6g", (double)host[i]);
    printf("; sum %.6g\n", sum);
    free(host);
    cudaFree(device);
}

// Device memory for the programs of this folder, on a GPU and on the host.
#pragma once
#include <cstdio>
#include <cstdlib>

// n elements holding 0, 1, 2 …
template <class T> T* numbered(int n) {
    T* host = (T*)malloc(n * sizeof(T));
    for (int i = 0; i < n; ++i) host[i] = (T)i;
    T* device;
    cudaMalloc(&device, n * sizeof(T));
    cudaMemcpy(device, host, n * sizeof(T), cudaMemcpyHostToDevice);
    free(host);
    return device;
}

// n elements holding zero bytes.
template <class T> T* zeros(int n) {
    T* device;
    cudaMalloc(&device, n * sizeof(T));
    cudaMemset(device, 0, n * sizeof(T));
    return device;
}

// n uninitialized elements.
template <class T> T* blank(int n) {
    T* device;
    cudaMalloc(&device, n * sizeof(T));
    return device;
}

// Synchronises, frees the memory, and returns the error.
template <class... P> int finish(P*... device) {
    cudaError_t error = cudaDeviceSynchronize();
    if (error != cudaSuccess) printf("%s\n", cudaGetErrorString(error));
    cudaError_t freed[] = {cudaSuccess, cudaFree(device)...};
    (void)freed;
    return 0;
}

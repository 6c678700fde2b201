#include <cuda_runtime.h>
#include <initializer_list>
#include "expect.cuh"
__global__ void first_of_rows(const float* matrix, float* column, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) column[row] = matrix[row * cols];
}
int main() {
    const int rows = 40, cols = 3;
    static float matrix[rows * cols];
    for (int i = 0; i < rows * cols; ++i) matrix[i] = i;
    float* column = device<float>(rows);
    // Zero-copy: kernels may access registered host memory.
    float* seen = nullptr;
    EXPECT(cudaHostGetDevicePointer(&seen, matrix, 0) == cudaErrorInvalidValue && cudaGetLastError() != cudaSuccess);
    EXPECT(cudaHostRegister(matrix, sizeof matrix, cudaHostRegisterReadOnly) == cudaSuccess);
    EXPECT(cudaHostRegister(matrix + 1, 4, 0) == cudaErrorHostMemoryAlreadyRegistered && cudaGetLastError() != cudaSuccess);
    cudaPointerAttributes attributes;
    EXPECT(cudaPointerGetAttributes(&attributes, matrix) == cudaSuccess && attributes.type == cudaMemoryTypeHost);
    EXPECT(cudaHostGetDevicePointer(&seen, matrix, 0) == cudaSuccess && seen);
    first_of_rows<<<2, 32>>>(seen, column, rows, cols);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess && at(column, 39) == 117.0f);
    EXPECT(cudaHostUnregister(matrix) == cudaSuccess);
    EXPECT(cudaHostUnregister(matrix) == cudaErrorHostMemoryNotRegistered && cudaGetLastError() != cudaSuccess);
    // A pitch on one side only.
    EXPECT(cudaMemcpy2D(column, 4, matrix + 1, cols * 4, 4, rows, cudaMemcpyHostToDevice) == cudaSuccess);
    EXPECT(at(column, 39) == 118.0f);
    // Pinned memory is reused without waiting for the copy.
    float* pinned = nullptr;
    EXPECT(cudaHostAlloc(&pinned, rows * 4, cudaHostAllocDefault) == cudaSuccess);
    for (float value : {1.0f, 2.0f}) {
        for (int i = 0; i < rows; ++i) pinned[i] = value;
        EXPECT(cudaMemcpyAsync(column, pinned, rows * 4, cudaMemcpyHostToDevice) == cudaSuccess);
        if (value == 1.0f) pinned[7] = 5.0f;
        EXPECT(cudaStreamSynchronize(0) == cudaSuccess);
        EXPECT(at(column, 7) == (value == 1.0f ? 5.0f : 2.0f));
    }
    // Each of these waits, or comes after the copy on the device.
    cudaEvent_t event;
    cudaEventCreate(&event);
    pinned[0] = 10.0f;
    cudaMemcpyAsync(column, pinned, 4, cudaMemcpyHostToDevice);
    cudaEventRecord(event);
    EXPECT(cudaEventSynchronize(event) == cudaSuccess);
    pinned[0] = 11.0f;
    EXPECT(at(column, 0) == 10.0f);
    cudaEventDestroy(event);
    cudaMemcpyAsync(column, pinned, 4, cudaMemcpyHostToDevice);
    EXPECT(cudaFreeHost(pinned) == cudaSuccess && at(column, 0) == 11.0f);
    // Pageable memory has been read when the call returns.
    matrix[0] = 20.0f;
    cudaMemcpyAsync(column, matrix, 4, cudaMemcpyHostToDevice);
    matrix[0] = 21.0f;
    EXPECT(cudaDeviceSynchronize() == cudaSuccess && at(column, 0) == 20.0f);
    cudaFree(column);
    return failures;
}

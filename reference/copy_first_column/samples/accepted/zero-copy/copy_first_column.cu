// The kernel reads the matrix where it is, in the host's memory, registered for it.
#include "copy_first_column.h"

constexpr int BLOCK = 256;  // threads per block

__global__ void pick_kernel(const float* matrix, float* column, int rows, int cols)
{
    const int row = blockIdx.x * BLOCK + threadIdx.x;
    if (row < rows) column[row] = matrix[static_cast<size_t>(row) * cols];
}

extern "C" void copy_first_column(const float* h_A, float* d_A, int rows, int cols)
{
    float* host = const_cast<float*>(h_A);
    const size_t bytes = static_cast<size_t>(rows) * cols * sizeof(float);
    // h_A may only be read, and not every device can register such memory.
    if (cudaHostRegister(host, bytes, cudaHostRegisterReadOnly) != cudaSuccess) {
        cudaGetLastError();
        const size_t pitch = cols * sizeof(float);
        cudaMemcpy2D(d_A, sizeof(float), h_A, pitch, sizeof(float), rows, cudaMemcpyHostToDevice);
        return;
    }
    float* matrix = nullptr;
    cudaHostGetDevicePointer(&matrix, host, 0);
    pick_kernel<<<(rows + BLOCK - 1) / BLOCK, BLOCK>>>(matrix, d_A, rows, cols);
    cudaDeviceSynchronize();
    cudaHostUnregister(host);
}

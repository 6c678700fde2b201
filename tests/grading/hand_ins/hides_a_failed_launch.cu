// Wrong: the launch fails, and macros would hide that from whoever comes after this file.
#include <cuda_runtime.h>
#define cudaGetLastError() cudaSuccess
#define cudaDeviceSynchronize() cudaSuccess

__global__ void silu_kernel(const float* input, float* output, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) output[i] = input[i] / (1.0f + expf(-input[i]));
}

extern "C" void silu(const float* input, float* output, int n) {
  silu_kernel<<<(n + 2047) / 2048, 2048>>>(input, output, n);
}

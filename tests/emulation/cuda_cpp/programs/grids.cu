// Indices in up to three dimensions; locals named like the built-in variables.
#include "expect.cuh"
__global__ void fill(int* out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    out[(z * height + y) * width + x] = x + 100 * y + 10000 * z + 1000000 * (gridDim.x * gridDim.y * gridDim.z);
}
__device__ int rank(dim3 index, dim3 size) { return index.x + size.x * (index.y + size.y * index.z); }
__global__ void ranks(int* out) { out[rank(threadIdx, blockDim)] = warpSize; }
int main() {
    dim3 blockDim(4, 2, 2), gridDim;
    gridDim.x = 2; gridDim.y = 3; gridDim.z = 2;
    int n = 8 * 6 * 4;
    int* out = device<int>(n);
    fill<<<gridDim, blockDim>>>(out, 8, 6);
    EXPECT(at(out, n - 1) == 7 + 500 + 30000 + 12000000);
    EXPECT(at(out, 8) == 100 + 12000000);
    ranks<<<1, blockDim>>>(out);
    EXPECT(at(out, 15) == 32);
    cudaFree(out);
    return failures;
}

#include <cooperative_groups.h>
#include "result.cuh"
namespace cg = cooperative_groups;
__global__ void normalise(float* x, float* part, int n) {
    cg::grid_group grid = cg::this_grid();
    __shared__ float s[64];
    float sum = 0;
    for (int i = grid.thread_rank(); i < n; i += grid.size()) sum += x[i];
    s[threadIdx.x] = sum;
    for (int d = 32; d > 0; d /= 2) {
        __syncthreads();
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
    }
    if (threadIdx.x == 0) part[blockIdx.x] = s[0];
#ifndef PLANTED
    grid.sync();
#endif
    float total = 0;
    for (int b = 0; b < gridDim.x; ++b) total += part[b];  // FAULT race
    for (int i = grid.thread_rank(); i < n; i += grid.size()) x[i] /= total;
}
int main() {
    int n = 512;
    float* x = filled<float>(n, [](int i) { return (float)(i % 5); });
    float* part = zeros<float>(4);
    void* arguments[] = {&x, &part, &n};
    cudaLaunchCooperativeKernel((void*)normalise, 4, 64, arguments);
    show("normalised", x, n);
    cudaFree(part);
}

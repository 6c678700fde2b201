#include <cooperative_groups.h>
#include "result.cuh"
__global__ void pass_on(int* x, int by) {
    auto grid = cooperative_groups::this_grid();
    int i = grid.thread_rank(), n = grid.size();
    int value = x[(i + 40) % n] + by;
#ifndef PLANTED
    grid.sync();
#endif
    x[i] = value;  // FAULT race
}
int main() {
    int* x = filled<int>(96, [](int i) { return i; });
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = 3;
    config.blockDim = 32;
    config.attrs = &attribute;
    config.numAttrs = 1;
    printf("%s\n", cudaGetErrorString(cudaLaunchKernelEx(&config, pass_on, x, 5)));
    show("passed on", x, 96);
}

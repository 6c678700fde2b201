#include <nvtx3/nvToolsExt.h>
#include <cuda_profiler_api.h>
#include "result.cuh"
__global__ void scale(float* x, float by) { x[threadIdx.x] *= by; }
int main() {
    float* x = filled<float>(64, [](int i) { return (float)i; });
    float* spare;
    cudaMalloc(&spare, 64);  // FAULT leak
    nvtxRangePushA("scale");
    scale<<<1, 64>>>(x, 3);
    nvtxRangePop();
    show("scaled", x, 64);
    if (PLANT(false, true)) cudaFree(spare);
}

#include <cuda/barrier>
#include <utility>
#include "result.cuh"
#pragma nv_diag_suppress static_var_with_dynamic_init
__global__ void reverse(int* x) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int tile[128];
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    tile[threadIdx.x] = x[threadIdx.x];
    auto token = bar.arrive();
    int mine = threadIdx.x * 2;
#ifndef PLANTED
    bar.wait(std::move(token));
#endif
    x[threadIdx.x] = tile[127 - threadIdx.x] + mine;  // FAULT race
}
int main() {
    int* x = filled<int>(128, [](int i) { return i; });
    reverse<<<1, 128>>>(x);
    show("reversed", x, 128);
}

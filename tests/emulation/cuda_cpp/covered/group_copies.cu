#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include "result.cuh"
namespace cg = cooperative_groups;
__global__ void mirrored(const int* in, int* out) {
    extern __shared__ int tile[];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, tile, in + blockIdx.x * 96, sizeof(int) * 96);
#ifndef PLANTED
    cg::wait(block);
#endif
    out[blockIdx.x * 96 + threadIdx.x] = tile[95 - threadIdx.x];  // FAULT uninitialized
}
int main() {
    int* in = filled<int>(192, [](int i) { return 3 * i; });
    int* out = zeros<int>(192);
    mirrored<<<2, 96, 96 * sizeof(int)>>>(in, out);
    show("mirrored", out, 192);
    cudaFree(in);
}

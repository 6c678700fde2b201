#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include "result.cuh"
namespace cg = cooperative_groups;
__global__ void tile_sums(const int* in, int* out) {
    __shared__ cg::block_tile_memory<256> memory;
    __shared__ int staged[256];
    auto block = cg::this_thread_block(memory);
    auto tile = cg::tiled_partition<64>(block);
    staged[threadIdx.x] = in[threadIdx.x];
#ifndef PLANTED
    tile.sync();
#endif
    int rank = tile.meta_group_rank() * 64 + 63 - tile.thread_rank();
    int value = staged[rank];  // FAULT race
    int total = cg::reduce(tile, value, cg::plus<int>());
    out[threadIdx.x] = total + tile.shfl(value, 5);
}
int main() {
    int* in = filled<int>(256, [](int i) { return i; });
    int* out = zeros<int>(256);
    tile_sums<<<1, 256>>>(in, out);
    show("tiles", out, 256);
    cudaFree(in);
}

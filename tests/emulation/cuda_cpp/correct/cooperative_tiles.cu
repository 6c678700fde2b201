#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include "../memory.cuh"
namespace cg = cooperative_groups;
__global__ void sum(const int* in, int* out) {
    __shared__ int parts[8];
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    int v = in[block.thread_rank()];
    v = cg::reduce(tile, v, cg::plus<int>());
    if (tile.thread_rank() == 0) parts[tile.meta_group_rank()] = v;
    block.sync();
    auto quarter = cg::tiled_partition<8>(tile);
    int p = parts[quarter.thread_rank()];
    for (int d = quarter.size() / 2; d > 0; d /= 2) p += quarter.shfl_down(p, d);
    if (block.thread_rank() == 0) *out = p;
}
int main() {
    int* in = numbered<int>(256);
    int* out = blank<int>(1);
    sum<<<1, 256>>>(in, out);
    int total = 0;
    cudaMemcpy(&total, out, sizeof total, cudaMemcpyDeviceToHost);
    return finish(in, out) + (total != 255 * 128);
}

#include "expect.cuh"
#include <cooperative_groups.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
// A function for any kind of group.
__device__ int largest(cg::thread_group group, int* scratch, int own) {
    scratch[group.thread_rank()] = own;
    group.sync();
    int found = own;
    for (unsigned other = 0; other < group.size(); ++other)
        if (scratch[other] > found) found = scratch[other];
    group.sync();
    return found;
}
__global__ void groups(int* out) {
    __shared__ int temp[48];
    int t = threadIdx.x, ok = 1;
    auto block = cg::this_thread_block();
    cg::grid_group grid = cg::this_grid();
    ok &= grid.thread_rank() == blockIdx.x * 48u + t && grid.size() == 144 && grid.num_blocks() == 3;
    ok &= grid.block_rank() == blockIdx.x && grid.dim_blocks().x == 3 && !grid.is_valid();
    cg::thread_group warp = cg::tiled_partition(block, 32);
    ok &= warp.size() == (t < 32 ? 32 : 16) && warp.thread_rank() == (unsigned)t % 32;
    cg::thread_group four = cg::tiled_partition(warp, 4);
    ok &= four.size() == 4 && four.thread_rank() == (unsigned)t % 4;
    ok &= largest(four, temp + t / 4 * 4, t) == (t | 3);
    block.sync();
    ok &= largest(block, temp, t % 45) == 44;
    if (t % 2) {
        // With lanes that are not adjacent: by their ranks.
        cg::thread_group odd = cg::tiled_partition(cg::thread_group(cg::coalesced_threads()), 2);
        ok &= odd.size() == 2 && odd.thread_rank() == (unsigned)t / 2 % 2;
    }
    auto tile = cg::tiled_partition<8>(block);
    ok &= cg::inclusive_scan(tile, t % 8) == (t % 8) * (t % 8 + 1) / 2;
    ok &= cg::exclusive_scan(tile, 2) == 2 * (t % 8);
    ok &= cg::inclusive_scan(tile, t ^ 5, cg::greater<int>()) >= (t ^ 5);
    out[blockIdx.x * 48 + t] = ok;
}
__global__ void warp(int* out) {
    int t = threadIdx.x, lane = t % 32;
    const unsigned full = 0xffffffffu;
    int ok = 1;
    ok &= __shfl_sync(full, t, 5) == t - lane + 5;
    ok &= __shfl_sync(full, lane, 1, 8) == (lane & ~7) + 1;
    ok &= __shfl_up_sync(full, lane, 3) == (lane < 3 ? lane : lane - 3);
    ok &= __shfl_down_sync(full, lane, 3) == (lane > 28 ? lane : lane + 3);
    ok &= __shfl_down_sync(full, lane, 2, 4) == (lane % 4 > 1 ? lane : lane + 2);
    ok &= __shfl_xor_sync(full, lane, 16) == (lane ^ 16);
    ok &= __shfl_sync(full, 0.5 + lane, 31) == 31.5;
    ok &= __shfl_sync(full, (unsigned long long)lane << 40, 3) == 3ull << 40;
    ok &= __ballot_sync(full, lane < 4) == 15u;
    ok &= __any_sync(full, lane == 9) && !__any_sync(full, lane == 99);
    ok &= __all_sync(full, lane < 32) && !__all_sync(full, lane < 31);
    ok &= __match_any_sync(full, lane / 16) == (lane < 16 ? 0xffffu : 0xffff0000u);
    int same;
    ok &= __match_all_sync(full, 7, &same) == full && same;
    ok &= __match_all_sync(full, lane, &same) == 0 && !same;
    ok &= __reduce_add_sync(full, lane) == 496 && __reduce_max_sync(full, -lane) == 0 && __reduce_min_sync(full, -lane) == -31;
    ok &= __reduce_or_sync(full, 1u << lane) == full && __reduce_xor_sync(full, 1u) == 0;
    if (lane < 8) ok &= __shfl_xor_sync(0xffu, lane, 1) == (lane ^ 1);
    else ok &= __shfl_xor_sync(0xffffff00u, lane, 1) == (lane ^ 1);
    ok &= __syncthreads_count(t % 2) == 32 && __syncthreads_and(1) && __syncthreads_or(t == 63) && !__syncthreads_or(0);
    auto tile = cooperative_groups::tiled_partition<16>(cooperative_groups::this_thread_block());
    auto half = cooperative_groups::binary_partition(tile, lane % 2 == 1);
    ok &= half.size() == 8 && half.thread_rank() == lane % 16 / 2 && half.shfl(lane, 1) == lane / 16 * 16 + 2 + lane % 2;
    auto third = cooperative_groups::labeled_partition(tile, lane % 3);
    ok &= third.size() == (lane % 3 == lane / 16 ? 6 : 5);
    ok &= __funnelshift_lc(5, 6, 40) == 5 && __funnelshift_rc(5, 6, 40) == 6 && __funnelshift_lc(0, 6, 4) == 96;
    ok &= __uhadd(~0u, 3) == 0x80000001u && __urhadd(2, 3) == 3;
    out[t] = ok;
}
int main() {
    int* out = device<int>(64);
    warp<<<1, 64>>>(out);
    for (int i = 0; i < 64; ++i) EXPECT(at(out, i) == 1);
    cudaFree(out);
    out = device<int>(144);
    groups<<<3, 48>>>(out);
    for (int i = 0; i < 144; ++i) EXPECT(at(out, i) == 1);
    cudaFree(out);
    return failures;
}

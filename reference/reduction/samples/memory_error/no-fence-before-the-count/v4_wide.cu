// expect: kind=race line=44,49 cpu=error gpu=blind why="racecheck sees shared memory only"
// A block counts itself, and another one may not see its sum yet: no fence stands between.
#include "reduction.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

constexpr int BLOCK = 256;  // threads per block
constexpr int MOST_BLOCKS = 256;

__device__ float partials[MOST_BLOCKS];
__device__ unsigned finished;  // blocks, in this call

// The sum of the block's numbers, in thread 0.
__device__ float block_sum(float value, float* sums)
{
    const auto block = cg::this_thread_block();
    const auto warp = cg::tiled_partition<32>(block);
    value = cg::reduce(warp, value, cg::plus<float>());
    if (warp.thread_rank() == 0) sums[warp.meta_group_rank()] = value;
    block.sync();
    float sum = 0.0f;
    if (block.thread_rank() == 0)
        for (int w = 0; w < BLOCK / 32; ++w) sum += sums[w];
    block.sync();
    return sum;
}

__global__ void __launch_bounds__(BLOCK) sum_kernel(const float* x, float* sum, int n)
{
    __shared__ float sums[BLOCK / 32];
    __shared__ bool last;
    const int first = blockIdx.x * BLOCK + threadIdx.x, step = gridDim.x * BLOCK;
    float value = 0.0f;
    for (int i = first; i < n / 4; i += step) {
        const float4 four = __ldg(reinterpret_cast<const float4*>(x) + i);
        value += (four.x + four.y) + (four.z + four.w);
    }
    for (int i = n / 4 * 4 + first; i < n; i += step) value += x[i];
    value = block_sum(value, sums);
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = value;
        last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;  // the last sets it to 0 again
    }
    __syncthreads();
    if (!last) return;
    value = block_sum(threadIdx.x < gridDim.x ? partials[threadIdx.x] : 0.0f, sums);
    if (threadIdx.x == 0) *sum = value;
}

extern "C" void reduction(const float* x, float* sum, int n)
{
    const int blocks = (n + 4 * BLOCK - 1) / (4 * BLOCK);
    sum_kernel<<<blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS, BLOCK>>>(x, sum, n);
}

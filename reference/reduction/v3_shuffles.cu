// Sum V3, warp shuffles: the threads of a warp add in registers.
//
// Idea      a warp needs no barrier: __shfl_down_sync gives a lane the number of another one.
// Limit     one barrier for each block, and an atomic.
// Expect    somewhat faster than V2.
// Grade it  grade local reduction --kernel v3_shuffles --language cuda
#include "reduction.h"

constexpr int BLOCK = 256;  // threads per block
constexpr int WARPS = BLOCK / 32;
static_assert(BLOCK % 32 == 0 && WARPS <= 32, "whole warps, whose sums one warp adds");

// The sum of the 32 numbers of a warp, in lane 0.
__device__ float warp_sum(float value)
{
    // TODO(student): about 2 lines
    for (int away = 16; away > 0; away /= 2) value += __shfl_down_sync(0xffffffff, value, away);
    return value;
    // end
}

__global__ void reduction_kernel(const float* x,  // (n)
                                 float* sum,      // (1)
                                 int n)
{
    // TODO(student): about 9 lines
    // 1. Each thread loads its element; past the end there is a 0, because all lanes must take part.
    const long long i = static_cast<long long>(blockIdx.x) * BLOCK + threadIdx.x;
    float value = i < n ? x[i] : 0.0f;
    // 2. Lane 0 of each warp keeps the warp's sum.
    __shared__ float part[WARPS];
    value = warp_sum(value);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = value;
    __syncthreads();
    // 3. The first warp adds these, and one thread the block's sum to that of all blocks.
    if (threadIdx.x >= 32) return;
    value = warp_sum(threadIdx.x < WARPS ? part[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) atomicAdd(sum, value);
    // end
}

// Called by the grader with device pointers.
extern "C" void reduction(const float* x, float* sum, int n)
{
    // TODO(student): about 3 lines
    // The sum has any value before: it must begin with 0. As many blocks as cover n, rounded up.
    cudaMemset(sum, 0, sizeof(float));
    const int blocks = n / BLOCK + (n % BLOCK != 0);
    reduction_kernel<<<blocks, BLOCK>>>(x, sum, n);
    // end
}

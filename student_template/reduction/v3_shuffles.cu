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
    // end
}

__global__ void reduction_kernel(const float* x,  // (n)
                                 float* sum,      // (1)
                                 int n)
{
    // TODO(student): about 9 lines
    // 1. Each thread loads its element; past the end there is a 0, because all lanes must take part.
    // 2. Lane 0 of each warp keeps the warp's sum.
    // 3. The first warp adds these, and one thread the block's sum to that of all blocks.
    // end
}

// Called by the grader with device pointers.
extern "C" void reduction(const float* x, float* sum, int n)
{
    // TODO(student): about 3 lines
    // The sum has any value before: it must begin with 0. As many blocks as cover n, rounded up.
    // end
}

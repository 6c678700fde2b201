// Sum V2, a sum for each block: a tree in shared memory.
//
// Idea      a block adds its elements in pairs, 8 levels for 256 threads, and adds one number to
//           the sum.
// Limit     a barrier for each level, at which most threads have nothing to do.
// Expect    near torch for large n.
// Grade it  grade local reduction --kernel v2_shared --language cuda
#include "reduction.h"

constexpr int BLOCK = 256;  // threads per block: a power of two, for the tree
static_assert((BLOCK & (BLOCK - 1)) == 0 && BLOCK <= 1024, "the tree halves it");

__global__ void reduction_kernel(const float* x,  // (n)
                                 float* sum,      // (1)
                                 int n)
{
    // TODO(student): about 9 lines
    // 1. Each thread loads its element; past the end there is a 0.
    // 2. The first half of the threads adds the second half, then a quarter the next, …
    // 3. One thread adds the block's sum to that of all blocks.
    // end
}

// Called by the grader with device pointers.
extern "C" void reduction(const float* x, float* sum, int n)
{
    // TODO(student): about 3 lines
    // The sum has any value before: it must begin with 0. As many blocks as cover n, rounded up.
    // end
}

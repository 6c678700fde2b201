// GEMM with tiles: the threads of a block share what they load.
//
// Idea      a tile of A and a tile of B are loaded into shared memory together; every
//           element is then used BN or BM times without going to memory again.
// Limit     shared memory: still two loads for every multiply-add.
// Expect    about a sixth of what torch reaches (on an H200).
// Grade it  grade local gemm --kernel v2_tiled --language cuda
#include "gemm.h"

constexpr int BM = 32;  // rows of C per block
constexpr int BN = 32;  // columns of C per block: a warp, so that its loads and stores coalesce
constexpr int BK = 32;  // depth of a tile
static_assert(BN % 32 == 0 && BM * BN <= 1024, "whole warps, no more than a block may have");
static_assert(BK == BN && BK == BM, "every thread loads one element of each tile");

__global__ void gemm_kernel(const float* __restrict__ a,  // (m, k) row-major
                            const float* __restrict__ b,  // (k, n) row-major
                            float* __restrict__ c,        // (m, n) row-major
                            int m, int n, int k)
{
    __shared__ float As[BM][BK];
    __shared__ float Bs[BK][BN];

    // TODO(student): about 17 lines
    // 1. Where am I: one element of C. Without one, a thread still loads for the others.
        // 2. Load one element of each tile; zero where there is none.
        // Nobody may compute before all have loaded.
        // 3. Compute.
        // Nobody may load the next tiles before all have computed.
    // 4. Store, if there is such an element.
    // end
}

// Called by the grader, and by main.cu, with device pointers.
extern "C" void gemm(const float* a, const float* b, float* c, int m, int n, int k)
{
    // TODO(student): about 4 lines
    // As many blocks as cover C, rounded up both ways. A grid of no blocks is an error.
    // end
}

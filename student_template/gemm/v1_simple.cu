// GEMM, straight from memory: C = A B, one element per thread.
//
// Idea      every thread owns one element of C and walks along a row of A and down a
//           column of B. Neighbouring threads own neighbouring columns.
// Limit     loads: two for every multiply-add, and each element of A is read n times,
//           each of B m times.
// Expect    about a tenth of what torch reaches (on an H200).
// Grade it  grade local gemm --kernel v1_simple --language cuda
#include "gemm.h"

constexpr int BM = 32;  // rows of C per block
constexpr int BN = 32;  // columns of C per block: a warp, so that its loads and stores coalesce
static_assert(BN % 32 == 0 && BM * BN <= 1024, "whole warps, no more than a block may have");

__global__ void gemm_kernel(const float* __restrict__ a,  // (m, k) row-major
                            const float* __restrict__ b,  // (k, n) row-major
                            float* __restrict__ c,        // (m, n) row-major
                            int m, int n, int k)
{
    // TODO(student): about 9 lines
    // 1. Where am I: one element of C, if there is such an element.
    // 2. Load. Element (i, j) of a row-major matrix with w columns is at i * w + j; for
    //    large matrices that is more than an int holds.
        // 3. Compute.
    // 4. Store.
    // end
}

// Called by the grader, and by main.cu, with device pointers.
extern "C" void gemm(const float* a, const float* b, float* c, int m, int n, int k)
{
    // TODO(student): about 4 lines
    // As many blocks as cover C, rounded up both ways. A grid of no blocks is an error.
    // end
}

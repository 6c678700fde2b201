// Sum V1, atomics: each thread adds its element to the sum.
//
// Idea      all threads meet in one place: only an atomic addition loses none of them.
// Limit     the additions to one address take turns, n of them.
// Expect    many times the time of torch.
// Grade it  grade local reduction --kernel v1_atomics --language cuda
#include "reduction.h"

constexpr int BLOCK = 256;  // threads per block: 8 warps, enough to hide latency
static_assert(BLOCK % 32 == 0 && BLOCK <= 1024, "whole warps, and no more than a block may have");

__global__ void reduction_kernel(const float* x,  // (n)
                                 float* sum,      // (1)
                                 int n)
{
    // TODO(student): about 2 lines
    // Where am I, and is there such an element? Other threads add to the sum at the same time.
    // end
}

// Called by the grader with device pointers.
extern "C" void reduction(const float* x, float* sum, int n)
{
    // TODO(student): about 3 lines
    // The sum has any value before: it must begin with 0. As many blocks as cover n, rounded up.
    // end
}

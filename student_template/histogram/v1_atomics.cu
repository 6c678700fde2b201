// Histogram V1, atomics: a thread for each element.
//
// Idea      many threads meet in one bin: only an atomic addition loses none of them.
// Limit     a warp's addition touches up to 32 bins, each in another sector of global memory.
// Expect    6 times the least traffic, and slower the more elements share a bin.
// Grade it  grade local histogram --kernel v1_atomics --language cuda
#include "histogram.h"

constexpr int BLOCK = 256;  // threads per block: 8 warps, enough to hide latency
static_assert(BLOCK % 32 == 0 && BLOCK <= 1024, "whole warps, and no more than a block may have");

template <class T> __global__ void histogram_kernel(const T* x,  // (n), values 0 to 255
                                                    int* count,  // (256)
                                                    int n)
{
    // TODO(student): about 3 lines
    // 1. Where am I, and is there such an element?
    // 2. Which bin is that of the element? Other threads may add to it at the same time.
    // end
}

// Called by the grader with device pointers, for each type T of the cases.
template <class T> void histogram(const T* x, int* count, int n)
{
    // TODO(student): about 2 lines
    // As many blocks as cover n, rounded up.
    // end
}

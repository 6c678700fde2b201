// Histogram V2, private histograms: each block counts for itself first.
//
// Idea      a block has 256 bins of its own in shared memory, where an atomic is cheap; it adds
//           them to those of all blocks once, at its end.
// Limit     memory: x is read once; the bins move once per PER_BLOCK elements.
// Expect    traffic near the least, and little that depends on the data.
// Grade it  grade local histogram --kernel v2_private --language cuda
#include "histogram.h"

constexpr int BINS = 256;
constexpr int BLOCK = 256;             // threads per block: one for each bin
constexpr int PER_BLOCK = 16 * BLOCK;  // elements: enough that the bins are a small part
static_assert(BLOCK == BINS, "a thread clears and adds one bin");

template <class T> __global__ void histogram_kernel(const T* x,  // (n), values 0 to 255
                                                    int* count,  // (256)
                                                    int n)
{
    // TODO(student): about 10 lines
    // 1. All bins of this block are 0, before any thread counts.
    // 2. Count this block's elements. Neighbouring threads read neighbouring elements.
    // 3. Add the bins to those of all blocks, after all threads have counted.
    // end
}

// Called by the grader with device pointers, for each type T of the cases.
template <class T> void histogram(const T* x, int* count, int n)
{
    // TODO(student): about 2 lines
    // As many blocks as cover n, each with PER_BLOCK elements.
    // end
}

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
    __shared__ int own[BINS];
    own[threadIdx.x] = 0;
    __syncthreads();

    // 2. Count this block's elements. Neighbouring threads read neighbouring elements.
    const long long first = static_cast<long long>(blockIdx.x) * PER_BLOCK;
    for (int k = threadIdx.x; k < PER_BLOCK; k += BLOCK)
        if (first + k < n) atomicAdd(&own[x[first + k]], 1);

    // 3. Add the bins to those of all blocks, after all threads have counted.
    __syncthreads();
    if (own[threadIdx.x] > 0) atomicAdd(&count[threadIdx.x], own[threadIdx.x]);
    // end
}

// Called by the grader with device pointers, for each type T of the cases.
template <class T> void histogram(const T* x, int* count, int n)
{
    // TODO(student): about 2 lines
    // As many blocks as cover n, each with PER_BLOCK elements.
    const int blocks = n / PER_BLOCK + (n % PER_BLOCK != 0);
    histogram_kernel<<<blocks, BLOCK>>>(x, count, n);
    // end
}

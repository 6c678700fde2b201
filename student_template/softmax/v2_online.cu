// Softmax V2, online: the largest and the sum in one pass.
//
// Idea      a sum of exp(x - largest) is corrected when a larger element comes, by the factor
//           exp(old - new). Two threads combine theirs in the same way.
// Limit     memory: a row is read twice and written once; more exponentials than V1.
// Expect    1.5 times the least traffic, and one reduction instead of two.
// Grade it  grade local softmax --kernel v2_online --language cuda
#include <cfloat>

#include "softmax.h"

constexpr int BLOCK = 128;  // threads per block, and per row
constexpr int WARPS = BLOCK / 32;
static_assert(BLOCK % 32 == 0 && WARPS <= 32, "whole warps, whose results one warp combines");

struct Running {
    float largest;  // of the elements so far
    float total;    // of exp(element - largest)
};

// What is known of no element: finite, because infinity minus infinity is no number.
__device__ Running nothing() { return {-FLT_MAX, 0.0f}; }

// Combine what is known of two sets of elements.
__device__ Running both(Running a, Running b)
{
    // TODO(student): about 2 lines
    // end
}

// Combine what the threads of the block know, and give the result to every thread.
__device__ Running over_block(Running mine, Running* part)  // part: (WARPS), shared
{
    // TODO(student): about 10 lines
    // 1. Within a warp by shuffles: every lane combines with the lane 16, 8, 4, 2 and 1 away.
    // 2. Between warps through shared memory: one value each.
    // end
}

__global__ void softmax_kernel(const float* x,  // (rows, cols) row-major
                               float* y,        // (rows, cols) row-major
                               int cols)
{
    // TODO(student): about 9 lines
    // 1. Where am I: in which row; a thread has every BLOCK-th column of it.
    // 2. The largest element and the sum, in one pass. An element's own sum is exp(0) = 1.
    // 3. The quotients.
    // end
}

// Called by the grader with device pointers.
extern "C" void softmax(const float* x, float* y, int rows, int cols)
{
    // TODO(student): 1 line
    // A block for each row.
    // end
}

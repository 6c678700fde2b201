// Attention V1, all scores in memory: three kernels, each of which is easy.
//
// Idea      scores = scale q k^T, a softmax of each row of them, and the weighted sum of v.
// Limit     memory: n * n scores are written once, read three times and changed once.
// Expect    scores of 64 heads and 2048 keys take 1 GiB, their inputs 24 MiB.
// Grade it  grade local attention --kernel v1_materialised --language cuda
#include "attention.h"

constexpr int TILE = 16;  // a block computes 16 x 16 elements
constexpr int WARP = 32;  // threads for a row of scores

// scores = scale q k^T, a thread for each.
__global__ void scores_kernel(const __half* q,  // (heads, n, d)
                              const __half* k,  // (heads, n, d)
                              float* scores,    // (heads, n, n)
                              int n, int d, float scale)
{
    // TODO(student): about 8 lines
    // end
}

// Softmax of each row, in place: a warp for each.
__global__ void softmax_kernel(float* scores,  // (heads * n, n)
                               int n)
{
    // TODO(student): about 10 lines
    // end
}

// out = weights v, a thread for each.
__global__ void values_kernel(const float* weights,  // (heads, n, n)
                              const __half* v,       // (heads, n, d)
                              __half* out,           // (heads, n, d)
                              int n, int d)
{
    // TODO(student): about 8 lines
    // end
}

// Called by the grader with device pointers.
extern "C" void attention(const __half* q, const __half* k, const __half* v, __half* out, int heads,
                          int n, int d, float scale)
{
    // TODO(student): about 9 lines
    // Memory for the scores, the three kernels in order, and the memory back.
    // end
}

// Attention V2, tiles on tensor cores: no score ever leaves the chip.
//
// Idea      a block has 64 queries and walks over the keys, 32 at a time. The softmax is online:
//           what has been summed is corrected when a larger score comes.
// Limit     tensor cores wait for the exponentials, and for shared memory, where the scores are.
// Expect    k and v move once for each 64 queries; the time of V1's memory traffic is gone.
// Grade it  grade local attention --kernel v2_tiled --language cuda
#include <cfloat>

#include <mma.h>

#include "attention.h"

using namespace nvcuda;

constexpr int DIM = 64;  // columns of a row in shared memory: d of them, then zeros
constexpr int BM = 64;   // queries per block
constexpr int BN = 32;   // keys per step
constexpr int MMA = 16;  // a tensor core multiplies 16 x 16 by 16 x 16
constexpr int BLOCK = BM / MMA * 32;  // threads: a warp for 16 queries, two lanes for each
constexpr int VEC = 8;                // halves of a 16-byte access
// Rows in shared memory begin in different banks: some elements more than needed.
constexpr int HALVES = DIM + 8, WEIGHTS = BN + 8, FLOATS = DIM + 4;
static_assert(BN <= DIM, "scores and sums take turns in `products`");

using Left = wmma::fragment<wmma::matrix_a, MMA, MMA, MMA, __half, wmma::row_major>;
using Right = wmma::fragment<wmma::matrix_b, MMA, MMA, MMA, __half, wmma::row_major>;
using RightTurned = wmma::fragment<wmma::matrix_b, MMA, MMA, MMA, __half, wmma::col_major>;
using Sum = wmma::fragment<wmma::accumulator, MMA, MMA, MMA, float>;

// Copy rows from `first` on into shared memory; zeros where there is no row or column.
__device__ void load_rows(__half (*tile)[HALVES], int rows, const __half* from, int first, int n,
                          int d)
{
    // TODO(student): about 6 lines
    // end
}

__global__ void attention_kernel(const __half* q,  // (heads, n, d)
                                 const __half* k,  // (heads, n, d)
                                 const __half* v,  // (heads, n, d)
                                 __half* out,      // (heads, n, d)
                                 int n, int d, float scale)
{
    __shared__ alignas(32) __half queries[BM][HALVES], keys[BN][HALVES], values[BN][HALVES];
    __shared__ alignas(32) __half weights[BM][WEIGHTS];
    __shared__ alignas(32) float products[BM][FLOATS];  // of this step: scores, then sums
    // TODO(student): about 50 lines
    // 1. Where am I: the head, the first query of the block, of the warp, and that of the lane.
        // 2. Load the keys and values of this step, after all warps have used the last ones.
        // 3. The scores of this warp's queries.
        // 4. Their softmax, online: each lane its columns, then both lanes of a query together.
        // 5. The weighted sums of the values, which are added to those before.
    // 6. Store: the quotients to shared memory, and from there row by row, two columns a lane.
    // end
}

// Called by the grader with device pointers.
extern "C" void attention(const __half* q, const __half* k, const __half* v, __half* out, int heads,
                          int n, int d, float scale)
{
    // TODO(student): about 2 lines
    // Blocks of BM queries, for each head.
    // end
}

// Attention V2, tiles on tensor cores: no score ever leaves the registers.
//
// Idea      a block has 128 queries and walks over the keys, 64 at a time. The softmax is online:
//           what has been summed is corrected when a much larger score comes. Scores stay where
//           the first product leaves them, which is where the second one wants its left operand.
// Limit     tensor cores wait for the exponentials.
// Expect    k and v move once for each 128 queries; the time of V1's memory traffic is gone.
// Grade it  grade local attention --kernel v2_tiled --language cuda
#include <cfloat>

#include <cuda_pipeline.h>

#include "attention.h"
#include "tensor_cores.h"

constexpr int DIM = 64;   // columns of a row in shared memory: d of them, then zeros
constexpr int WARPS = 4;  // per block
constexpr int TILES = 2;  // of 16 queries a warp: what it loads of keys and values is for both
constexpr int ROWS = TILES * MMA;  // queries per warp
constexpr int BM = WARPS * ROWS;   // queries per block
constexpr int BN = 64;             // keys per step
constexpr int BLOCK = WARPS * 32;  // threads
constexpr int BLOCKS = 2;  // per multiprocessor: one works where the other waits for its barrier
constexpr int VEC = 8;     // halves of a 16-byte access

// Where the 8 halves from column `col` on are. A row has 128 bytes, all banks of shared memory, and
// a warp wants one piece of 8 rows at once: so each row has its pieces in another order.
__device__ __half* piece(__half (*tile)[DIM], int row, int col)
{
    return &tile[row][(col / VEC ^ row % 8) * VEC];
}

// Begin to copy rows from `first` on into shared memory; zeros where there is no row or column.
__device__ void load_rows(__half (*tile)[DIM], int rows, const __half* from, int first, int n,
                          int d)
{
    // TODO(student): about 8 lines
    // end
}

// The warp's rows of a tile as left operands.
__device__ void load_left(unsigned (&left)[TILES][DIM / MMA][4], __half (*tile)[DIM])
{
    // TODO(student): about 5 lines
    // end
}

// product = left rows^T: each of the warp's rows with each of the BN rows of a tile.
__device__ void multiply_rows(float (&product)[TILES][BN / MMA_N][4],
                              const unsigned (&left)[TILES][DIM / MMA][4], __half (*rows)[DIM])
{
    // TODO(student): about 15 lines
    // end
}

// sums += factors rows: the BN rows of a tile, mixed for each of the warp's rows.
__device__ void add_rows(float (&sums)[TILES][DIM / MMA_N][4],
                         const float (&factors)[TILES][BN / MMA_N][4], __half (*rows)[DIM])
{
    // TODO(student): about 18 lines
    // end
}

constexpr float LOG2_E = 1.44269504f;
constexpr float SLACK = 8.0f;  // weights up to 2^8: float16 holds 65504

// The softmax of the warp's rows, online: scores become weights, 2 to the power of `factor` times
// the distance to `largest`. Where a weight would be above 2^SLACK, `largest` becomes the row's
// largest score, and what has been summed is corrected: rarely, after the first steps.
// A lane has the rows lane / 4 and lane / 4 + 8 of each tile, of which `total` has its own columns.
__device__ void soften(float (&scores)[TILES][BN / MMA_N][4], float (&largest)[TILES][2],
                       float (&total)[TILES][2], float (&sums)[TILES][DIM / MMA_N][4],
                       float factor)
{
    // TODO(student): about 32 lines
    // end
}

__global__ void __launch_bounds__(BLOCK, BLOCKS)
attention_kernel(const __half* q,  // (heads, n, d)
                 const __half* k,  // (heads, n, d)
                 const __half* v,  // (heads, n, d)
                 __half* out,      // (heads, n, d)
                 int n, int d, float scale)
{
    __shared__ alignas(128) __half queries[BM][DIM];
    __shared__ alignas(128) __half keys[2][BN][DIM], values[2][BN][DIM];  // this step's, the next's
    // TODO(student): about 50 lines
    // 1. Where am I: the head, the block's queries. The warp's queries stay in registers.
        // 2. Begin to load the next keys and values, to where those of the last step were.
        // 3. The scores, not scaled yet. A key past the end weighs nothing.
        // 4. Their softmax, and the weighted values, which are added to those before.
        // 5. The next tiles must be complete, and all warps done with these.
    // 6. Store: the quotients to the place of the warp's queries, and from there 16 bytes a lane.
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

// Attention V3, the backward pass: the gradients of q, k and v from that of out.
//
// Idea      no score was kept: lse, a number per query, is enough to make its weights again. dk and
//           dv sum over queries, dq sums over keys: so there are two kernels, which walk over the
//           other side each, and no two blocks write the same row.
// Limit     tensor cores, and loads which are not in flight while they work: compare V2.
// Expect    seven products of matrices, where the forward pass has two.
// Grade it  grade local attention --kernel v3_backward --language cuda
#include <cuda_pipeline.h>

#include "attention_backward.h"
#include "tensor_cores.h"

constexpr int DIM = 64;   // columns of a row in shared memory: d of them, then zeros
constexpr int WARPS = 4;  // per block
constexpr int OWN = WARPS * MMA;   // rows of a block, 16 a warp: keys, or queries
constexpr int STEP = 32;           // rows of the other side per step
constexpr int BLOCK = WARPS * 32;  // threads
constexpr int VEC = 8;             // halves of a 16-byte access
constexpr float LOG2_E = 1.44269504f;

// Where the 8 halves from column `col` on are: as in V2.
__device__ __half* piece(__half (*tile)[DIM], int row, int col)
{
    return &tile[row][(col / VEC ^ row % 8) * VEC];
}

// Begin to copy rows from `first` on into shared memory; zeros where there is no row or column.
__device__ void load_rows(__half (*tile)[DIM], int rows, const __half* from, int first, int n,
                          int d)
{
    // TODO(student): about 6 lines
    // end
}

// The warp's 16 rows of a tile as left operands.
__device__ void load_left(unsigned (&left)[DIM / MMA][4], __half (*tile)[DIM])
{
    // TODO(student): about 3 lines
    // end
}

// product = left rows^T: each of the warp's 16 rows with each of the STEP rows of a tile.
__device__ void multiply_rows(float (&product)[STEP / MMA_N][4],
                              const unsigned (&left)[DIM / MMA][4], __half (*rows)[DIM])
{
    // TODO(student): about 13 lines
    // end
}

// sums += factors rows: the STEP rows of a tile, mixed for each of the warp's 16 rows.
__device__ void add_rows(float (&sums)[DIM / MMA_N][4], const float (&factors)[STEP / MMA_N][4],
                         __half (*rows)[DIM])
{
    // TODO(student): about 13 lines
    // end
}

// Store the warp's 16 rows, times `factor`: by way of its rows of a tile, which it has used.
__device__ void store_rows(__half* to, const float (&sums)[DIM / MMA_N][4], float factor,
                           __half (*tile)[DIM], int first, int n, int d)
{
    // TODO(student): about 15 lines
    // end
}

// delta = the sum of dout * out, a thread for each query.
__global__ void delta_kernel(const __half* out,   // (heads * n, d)
                             const __half* dout,  // (heads * n, d)
                             float* delta,        // (heads * n)
                             int rows, int d)
{
    // TODO(student): about 5 lines
    // end
}

// dk and dv of the block's keys: a walk over all queries. A product has a row for each key.
__global__ void __launch_bounds__(BLOCK)
keys_kernel(const __half* q,      // (heads, n, d)
            const __half* k,      // (heads, n, d)
            const __half* v,      // (heads, n, d)
            const float* lse,     // (heads, n)
            const float* delta,   // (heads, n)
            const __half* dout,   // (heads, n, d)
            __half* dk,           // (heads, n, d)
            __half* dv,           // (heads, n, d)
            int n, int d, float scale)
{
    __shared__ alignas(128) __half keys[OWN][DIM], values[OWN][DIM];
    __shared__ alignas(128) __half queries[STEP][DIM], gradients[STEP][DIM];
    __shared__ float lses[STEP], deltas[STEP];
    // TODO(student): about 34 lines
    // 1. Where am I: the head, the block's keys; the warp's keys and values stay in registers.
        // 2. Load queries and gradients. A query past the end has weights of 2^-infinity.
        // 3. The weights again, and the gradients of the scores.
        // 4. What these queries add.
    // 5. Store.
    // end
}

// dq of the block's queries: a walk over all keys. A product has a row for each query.
__global__ void __launch_bounds__(BLOCK)
queries_kernel(const __half* q,      // (heads, n, d)
               const __half* k,      // (heads, n, d)
               const __half* v,      // (heads, n, d)
               const float* lse,     // (heads, n)
               const float* delta,   // (heads, n)
               const __half* dout,   // (heads, n, d)
               __half* dq,           // (heads, n, d)
               int n, int d, float scale)
{
    __shared__ alignas(128) __half queries[OWN][DIM], gradients[OWN][DIM];
    __shared__ alignas(128) __half keys[STEP][DIM], values[STEP][DIM];
    // TODO(student): about 34 lines
    // 1. Where am I: the head, the block's queries. A lane has the rows `own` and `own` + 8.
        // 2. Load keys and values.
        // 3. The weights again, and the gradients of the scores. A key past the end weighs nothing.
        // 4. What these keys add.
    // 5. Store.
    // end
}

// Called by the grader with device pointers.
extern "C" void attention_backward(const __half* q, const __half* k, const __half* v,
                                   const __half* out, const float* lse, const __half* dout,
                                   __half* dq, __half* dk, __half* dv, int heads, int n, int d,
                                   float scale)
{
    // TODO(student): about 7 lines
    // Memory for delta, the three kernels in order, and the memory back.
    // end
}

// GEMM at the pace of the arithmetic units: what a thread loads serves many multiply-adds.
//
// Idea      register tile: a thread computes TM x TN elements from TM + TN values at a time;
//           vector access: float4 in memory and shared memory;
//           double buffer: while a pair of tiles is multiplied, the next is on its way.
// Limit     issuing multiply-adds, once there are blocks for all multiprocessors.
// Expect    most of what torch reaches on large matrices, little of it on small ones.
// Grade it  grade local gemm --kernel v3_optimized --language cuda
#include "gemm.h"

constexpr int BM = 128;  // rows of C per block
constexpr int BN = 128;  // columns of C per block
constexpr int BK = 8;    // depth of a tile: one float4 of A and one of B per thread
constexpr int TM = 8;    // rows of C per thread; 8 x 8 sums fit the 128 registers
constexpr int TN = 8;    // columns of C per thread  that let a multiprocessor hold two blocks
constexpr int PAD = 4;   // the two float4 of 16 rows, stored transposed, hit 32 banks
constexpr int THREADS = BM / TM * (BN / TN);

// Register tile: add what a tile of A and one of B give to the sums of this thread, whose groups
// of 4 x 4 elements begin at (tile_row, tile_col) and lie 32 rows and 16 columns apart.
__device__ void multiply(const float (&As)[BK][BM + PAD], const float (&Bs)[BK][BN],
                         int tile_row, int tile_col, float (&sum)[TM][TN])
{
    // TODO(student): about 17 lines
    // end
}

// Vector access: load row[at] to row[at + 3] of a row with `end` elements, zero beyond them.
// WIDE promises that `at`, `end` and the row's start are multiples of four elements.
template <bool WIDE>
__device__ void load4(const float* row, int at, int end, float (&v)[4])
{
    // TODO(student): about 7 lines
    // end
}

// Store four values to row[at] to row[at + 3], as far as the row's `end` elements go.
template <bool WIDE>
__device__ void store4(float* row, int at, int end, const float* v)
{
    // TODO(student): about 7 lines
    // end
}

// Double buffer: the next tiles wait in registers. Load this thread's part of a ROWS x COLS tile of
// a matrix with `stride` columns; rows x cols of the tile are there, the rest is zero.
template <bool WIDE, int ROWS, int COLS>
__device__ void fetch(const float* tile, int stride, int rows, int cols,
                      float (&next)[ROWS * COLS / 4 / THREADS][4])
{
    // TODO(student): about 7 lines
    // end
}

// Store from registers into shared memory, the tile of A transposed: its rows become neighbours.
__device__ void stash(const float (&a_next)[BM * BK / 4 / THREADS][4],
                      const float (&b_next)[BK * BN / 4 / THREADS][4],
                      float (&As)[BK][BM + PAD], float (&Bs)[BK][BN])
{
    // TODO(student): about 14 lines
    // end
}

template <bool WIDE>
__global__ void __launch_bounds__(THREADS, 2)
gemm_kernel(const float* __restrict__ a,  // (m, k) row-major
            const float* __restrict__ b,  // (k, n) row-major
            float* __restrict__ c,        // (m, n) row-major
            int m, int n, int k)
{
    __shared__ __align__(16) float As[2][BK][BM + PAD];  // transposed: rows of A are neighbours
    __shared__ __align__(16) float Bs[2][BK][BN];
    constexpr int WM = 8 * TM;  // rows of C per warp, which is 8 threads high
    constexpr int WN = 4 * TN;  // columns of C per warp, which is 4 threads wide
    static_assert(BM % WM == 0 && BN % WN == 0 && TM % 4 == 0 && TN % 4 == 0, "whole warps");
    static_assert(BM * BK % (4 * THREADS) == 0 && BK * BN % (4 * THREADS) == 0, "whole tiles");

    // TODO(student): about 40 lines
    // 1. Where am I: the block's part of C, and in it this thread's groups of 4 x 4 elements.
    // 2. Load the first pair of tiles. From here on a and b point to the next one.
    // Nobody may compute before all have loaded.
        // 3. Compute on one pair of tiles while the next is on its way.
        // The other pair of buffers is free: all have left it before the last barrier.
    // 4. Store what there is of this thread's elements.
    // end
}

// Called by the grader, and by main.cu, with device pointers.
extern "C" void gemm(const float* a, const float* b, float* c, int m, int n, int k)
{
    // TODO(student): about 6 lines
    // As many blocks as cover C, rounded up both ways. A grid of no blocks is an error.
    // A float4 needs an address that is a multiple of 16 bytes, in every row.
    // end
}

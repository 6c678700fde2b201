// GEMM that is fast across sizes: the tile is chosen by the shape.
//
// Idea      V3's kernel as a template over its tile sizes. A large tile loads least, a small one
//           gives every multiprocessor a block; the launcher takes the largest that does.
// Limit     issuing multiply-adds where there is enough to do, else memory.
// Expect    somewhat more than V3 on large matrices, several times V3 on small ones.
// Grade it  grade local gemm --kernel v4_autotuned --language cuda
#include "gemm.h"

constexpr int PAD = 4;    // the four float4 of 8 rows, stored transposed, hit 16 banks
constexpr int SMS = 132;  // multiprocessors to keep busy: an H200's; fewer do no harm

// Register tile: add what a tile of A and one of B give to the sums of this thread, whose groups
// of 4 x 4 elements begin at (tile_row, tile_col) and lie 32 rows and 16 columns apart.
template <int BM, int BN, int BK, int TM, int TN>
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
template <bool WIDE, int ROWS, int COLS, int THREADS>
__device__ void fetch(const float* tile, int stride, int rows, int cols,
                      float (&next)[ROWS * COLS / 4 / THREADS][4])
{
    // TODO(student): about 7 lines
    // end
}

// Store from registers into shared memory, the tile of A transposed: its rows become neighbours.
template <int BM, int BN, int BK, int THREADS>
__device__ void stash(const float (&a_next)[BM * BK / 4 / THREADS][4],
                      const float (&b_next)[BK * BN / 4 / THREADS][4],
                      float (&As)[BK][BM + PAD], float (&Bs)[BK][BN])
{
    // TODO(student): about 14 lines
    // end
}

template <int BM, int BN, int BK, int TM, int TN, bool WIDE>  // 512 threads, 128 registers each
__global__ void __launch_bounds__(BM / TM * (BN / TN), 512 / (BM / TM * (BN / TN)))
gemm_kernel(const float* __restrict__ a,  // (m, k) row-major
            const float* __restrict__ b,  // (k, n) row-major
            float* __restrict__ c,        // (m, n) row-major
            int m, int n, int k)
{
    __shared__ __align__(16) float As[2][BK][BM + PAD];  // transposed: rows of A are neighbours
    __shared__ __align__(16) float Bs[2][BK][BN];
    constexpr int THREADS = BM / TM * (BN / TN);
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

// Return how many tiles of this size cover C, rounded up both ways.
template <int BM, int BN>
static long long tiles(int m, int n)
{
    return ((m - 1LL) / BM + 1) * ((n - 1LL) / BN + 1);
}

// Launch the kernel with this tile.
template <int BM, int BN, int BK, int TM, int TN>
static void launch(const float* a, const float* b, float* c, int m, int n, int k)
{
    // TODO(student): about 6 lines
    // As many blocks as cover C, rounded up both ways.
    // A float4 needs an address that is a multiple of 16 bytes, in every row.
    // end
}

// Called by the grader, and by main.cu, with device pointers.
extern "C" void gemm(const float* a, const float* b, float* c, int m, int n, int k)
{
    // TODO(student): about 7 lines
    // The largest tile of which there is one for every multiprocessor, else the smallest. A grid
    // of no blocks is an error.
    // end
}

// GEMM at the pace of the arithmetic units: a tile of registers per thread.
//
// Idea      every thread computes TM x TN elements: TM + TN values from shared memory serve
//           TM * TN multiply-adds. While it computes on one pair of tiles, the next is on
//           its way in registers (double buffering). Accesses are float4, As is padded.
// Limit     issuing multiply-adds, once there are blocks for all multiprocessors.
// Expect    most of what torch reaches on large matrices, little of it on small ones.
// Grade it  grade local gemm --kernel v3_optimized --language cuda
#include "gemm.h"

constexpr int BM = 128;  // rows of C per block
constexpr int BN = 128;  // columns of C per block
constexpr int BK = 8;    // depth of a tile: one float4 of A and one of B per thread
constexpr int TM = 8;    // rows of C per thread; 8 x 8 sums fit the 128 registers
constexpr int TN = 8;    // columns of C per thread  that let a multiprocessor hold two blocks
constexpr int WM = 8 * TM;  // rows of C per warp, which is 8 threads high
constexpr int WN = 4 * TN;  // columns of C per warp, which is 4 threads wide
constexpr int PAD = 4;      // the two float4 of 16 rows, stored transposed, hit 32 banks
constexpr int THREADS = (BM / WM) * (BN / WN) * 32;
constexpr int A_LOADS = BM * BK / 4 / THREADS;  // float4 per thread and tile
constexpr int B_LOADS = BK * BN / 4 / THREADS;
static_assert(BM % WM == 0 && BN % WN == 0 && TM % 4 == 0 && TN % 4 == 0, "whole warps, float4");
static_assert(A_LOADS * THREADS * 4 == BM * BK && B_LOADS * THREADS * 4 == BK * BN, "whole tiles");

// Return row[at] to row[at + 3] of a row with `end` elements, zero for those that are not there.
// WIDE promises that `at`, `end` and the row's start are multiples of four elements.
template <bool WIDE>
__device__ float4 load4(const float* row, int at, int end)
{
    float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    // TODO(student): about 8 lines
    // end
    return v;
}

// Store four values to row[at] to row[at + 3], as far as the row's `end` elements go.
template <bool WIDE>
__device__ void store4(float* row, int at, int end, const float* v)
{
    // TODO(student): about 6 lines
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

    // TODO(student): about 62 lines
    // 1. Where am I: the block's part of C, and in it this thread's groups of 4 x 4 elements.
    // 2. Load: from memory into registers, and later from there into shared memory.
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

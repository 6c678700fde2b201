// GEMM that is fast across sizes: the tile is chosen by the shape.
//
// Idea      V3's kernel as a template over its tile sizes. Large tiles load least, small
//           ones give every multiprocessor a block; where even they are too few, several
//           blocks share the depth of one tile and add up their parts. In a tile what the
//           next step needs is loaded during this one, and matrices of whole tiles need no
//           bounds.
// Limit     issuing multiply-adds where there is enough to do, else memory.
// Expect    most of what torch reaches, also where V3's tile is too large.
// Grade it  grade local gemm --kernel v4_autotuned --language cuda
#include "gemm.h"

constexpr int PAD = 4;      // the two float4 of 16 rows, stored transposed, hit 32 banks
constexpr int SMS = 132;    // multiprocessors to keep busy: an H200's; fewer do no harm
constexpr int SHARE = 256;  // least depth of a block's share of k, a multiple of every BK

// Return row[at] to row[at + 3] of a row with `end` elements, zero for those that are not there.
// WIDE promises that `at`, `end` and the row's start are multiples of four elements, FULL that
// they are all there as well.
template <bool WIDE, bool FULL>
__device__ float4 load4(const float* row, int at, int end)
{
    float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    // TODO(student): about 10 lines
    // end
    return v;
}

// Store four values to row[at] to row[at + 3], as far as the row's `end` elements go, or add
// them to what other blocks have added there.
template <bool WIDE>
__device__ void store4(float* row, int at, int end, const float* v, bool add)
{
    // TODO(student): about 9 lines
    // end
}

template <int BM, int BN, int BK, int TM, int TN, bool WIDE, bool FULL>
__global__ void __launch_bounds__(BM / TM * (BN / TN), 16 * 32 / (BM / TM * (BN / TN)))
    gemm_kernel(const float* __restrict__ a,  // (m, k) row-major
                const float* __restrict__ b,  // (k, n) row-major
                float* __restrict__ c,        // (m, n) row-major, zero if blocks share the depth
                int m, int n, int k, int share)
{
    constexpr int WM = 8 * TM;  // rows of C per warp, which is 8 threads high
    constexpr int WN = 4 * TN;  // columns of C per warp, which is 4 threads wide
    constexpr int THREADS = (BM / WM) * (BN / WN) * 32;
    constexpr int A_LOADS = BM * BK / 4 / THREADS;  // float4 per thread and tile
    constexpr int B_LOADS = BK * BN / 4 / THREADS;
    static_assert(BM % WM == 0 && BN % WN == 0 && TM % 4 == 0 && TN % 4 == 0, "whole warps");
    static_assert(A_LOADS * THREADS * 4 == BM * BK, "whole tiles of A");
    static_assert(B_LOADS * THREADS * 4 == BK * BN && SHARE % BK == 0, "whole tiles of B");
    static_assert(BK % 2 == 0, "steps in pairs");
    __shared__ __align__(16) float As[2][BK][BM + PAD];  // transposed: rows of A are neighbours
    __shared__ __align__(16) float Bs[2][BK][BN];

    // TODO(student): about 82 lines
    // 1. Where am I: the block's part of C, and in it this thread's groups of 4 x 4 elements,
    //    and the block's share of the depth.
    // Blocks start in the order of their numbers: in bands of 8 rows of tiles, so that those
    // that run at once share tiles of B in the cache.
    // 2. Load: from memory into registers, and later from there into shared memory. Of A's tile
    //    a thread takes float4 at (a_row, a_col) and A_ROWS further down, then further right; a
    //    row's neighbours are two threads, so no two of a warp store to one bank. Of B's tile
    //    it takes float4 at (b_row, b_col) and B_ROWS further down.
    // What a step multiplies, in one of two sets of registers.
    // Nobody may compute before all have loaded.
        // 3. Compute on one pair of tiles while the next is on its way. The last step picks from
        //    the next pair; the other buffers are free, all have left them before the barrier of
        //    the last pair. (After the last pair what is stored and picked is of no use.)
    // 4. Store what there is of this thread's elements.
    // end
}

// Return how long a multiprocessor is busy if `shares` blocks divide the depth of a tile,
// in multiply-adds. A model, not a measurement: blocks come in rounds of one for each
// multiprocessor, which needs 8 warps to be busy. An element that a thread loads from shared
// memory costs a multiply-add, one that a block loads from memory costs 8.
template <int BM, int BN, int TM, int TN>
double cost(int m, int n, int k, int shares)
{
    // TODO(student): about 7 lines
    // end
}

// Launch the kernel with this tile, the depth divided among `shares` blocks.
template <int BM, int BN, int BK, int TM, int TN>
void launch(const float* a, const float* b, float* c, int m, int n, int k, int shares)
{
    // TODO(student): about 13 lines
    // As many blocks as cover C, rounded up both ways. A grid of no blocks is an error.
    // A float4 needs an address that is a multiple of 16 bytes, in every row.
    // end
}

// Called by the grader, and by main.cu, with device pointers.
extern "C" void gemm(const float* a, const float* b, float* c, int m, int n, int k)
{
    // TODO(student): about 18 lines
    // Take the tile, and the number of shares, that cost least for this shape.
    // end
}

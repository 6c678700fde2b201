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
#pragma unroll
    for (int p = 0; p < BK; ++p) {
        alignas(16) float a_part[TM], b_part[TN];
#pragma unroll
        for (int i = 0; i < TM; i += 4)
            *reinterpret_cast<float4*>(a_part + i) =
                *reinterpret_cast<const float4*>(&As[p][tile_row + i * 8]);
#pragma unroll
        for (int j = 0; j < TN; j += 4)
            *reinterpret_cast<float4*>(b_part + j) =
                *reinterpret_cast<const float4*>(&Bs[p][tile_col + j * 4]);
#pragma unroll
        for (int i = 0; i < TM; ++i)
#pragma unroll
            for (int j = 0; j < TN; ++j) sum[i][j] += a_part[i] * b_part[j];
    }
    // end
}

// Vector access: load row[at] to row[at + 3] of a row with `end` elements, zero beyond them.
// WIDE promises that `at`, `end` and the row's start are multiples of four elements.
template <bool WIDE>
__device__ void load4(const float* row, int at, int end, float (&v)[4])
{
    // TODO(student): about 7 lines
    if (WIDE) {
        *reinterpret_cast<float4*>(v) = at < end ? *reinterpret_cast<const float4*>(row + at)
                                                 : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) v[i] = at + i < end ? row[at + i] : 0.0f;
    }
    // end
}

// Store four values to row[at] to row[at + 3], as far as the row's `end` elements go.
template <bool WIDE>
__device__ void store4(float* row, int at, int end, const float* v)
{
    // TODO(student): about 7 lines
    if (WIDE) {
        if (at < end) *reinterpret_cast<float4*>(row + at) = *reinterpret_cast<const float4*>(v);
    } else {
#pragma unroll
        for (int i = 0; i < 4; ++i)
            if (at + i < end) row[at + i] = v[i];
    }
    // end
}

// Double buffer: the next tiles wait in registers. Load this thread's part of a ROWS x COLS tile of
// a matrix with `stride` columns; rows x cols of the tile are there, the rest is zero.
template <bool WIDE, int ROWS, int COLS, int THREADS>
__device__ void fetch(const float* tile, int stride, int rows, int cols,
                      float (&next)[ROWS * COLS / 4 / THREADS][4])
{
    // TODO(student): about 7 lines
#pragma unroll
    for (int i = 0; i < ROWS * COLS / 4 / THREADS; ++i) {
        const int index = threadIdx.x + i * THREADS;
        const int row = index / (COLS / 4), col = index % (COLS / 4) * 4;
        const float* from = tile + static_cast<long long>(row) * stride;
        load4<WIDE>(from, col, row < rows ? cols : 0, next[i]);
    }
    // end
}

// Store from registers into shared memory, the tile of A transposed: its rows become neighbours.
template <int BM, int BN, int BK, int THREADS>
__device__ void stash(const float (&a_next)[BM * BK / 4 / THREADS][4],
                      const float (&b_next)[BK * BN / 4 / THREADS][4],
                      float (&As)[BK][BM + PAD], float (&Bs)[BK][BN])
{
    // TODO(student): about 14 lines
#pragma unroll
    for (int i = 0; i < BM * BK / 4 / THREADS; ++i) {
        const int index = threadIdx.x + i * THREADS;
        const int row = index / (BK / 4), col = index % (BK / 4) * 4;
#pragma unroll
        for (int j = 0; j < 4; ++j) As[col + j][row] = a_next[i][j];
    }
#pragma unroll
    for (int i = 0; i < BK * BN / 4 / THREADS; ++i) {
        const int index = threadIdx.x + i * THREADS;
        const int row = index / (BN / 4), col = index % (BN / 4) * 4;
        *reinterpret_cast<float4*>(&Bs[row][col]) = *reinterpret_cast<const float4*>(b_next[i]);
    }
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
    const int first_row = blockIdx.y * BM;
    const int first_col = blockIdx.x * BN;
    const int warp = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    const int lane_row = lane / 8 * 2 + lane / 2 % 2;  // lanes 0 to 3 are a square, 2 x 2:
    const int lane_col = lane / 4 % 2 * 2 + lane % 2;  // neighbours share a float4 of A or of B
    const int tile_row = warp / (BN / WN) * WM + lane_row * 4;
    const int tile_col = warp % (BN / WN) * WN + lane_col * 4;

    alignas(16) float sum[TM][TN] = {};

    // 2. Load the first pair of tiles. From here on a and b point to the next one.
    alignas(16) float a_next[BM * BK / 4 / THREADS][4], b_next[BK * BN / 4 / THREADS][4];
    a += static_cast<long long>(first_row) * k;
    b += first_col;
    fetch<WIDE, BM, BK, THREADS>(a, k, m - first_row, k, a_next);
    fetch<WIDE, BK, BN, THREADS>(b, n, k, n - first_col, b_next);
    stash<BM, BN, BK, THREADS>(a_next, b_next, As[0], Bs[0]);
    // Nobody may compute before all have loaded.
    __syncthreads();

    for (int first = 0, stage = 0; first < k; first += BK, stage ^= 1) {
        const int left = k - first - BK;  // none of the next pair is there if this is not positive
        a += BK;
        b += static_cast<long long>(BK) * n;
        fetch<WIDE, BM, BK, THREADS>(a, k, m - first_row, left, a_next);
        fetch<WIDE, BK, BN, THREADS>(b, n, left, n - first_col, b_next);

        // 3. Compute on one pair of tiles while the next is on its way.
        multiply<BM, BN, BK, TM, TN>(As[stage], Bs[stage], tile_row, tile_col, sum);

        // The other pair of buffers is free: all have left it before the last barrier.
        if (left > 0) stash<BM, BN, BK, THREADS>(a_next, b_next, As[stage ^ 1], Bs[stage ^ 1]);
        __syncthreads();
    }

    // 4. Store what there is of this thread's elements.
#pragma unroll
    for (int i = 0; i < TM; ++i) {
        const int row = first_row + tile_row + i / 4 * 32 + i % 4;
        if (row >= m) continue;
#pragma unroll
        for (int j = 0; j < TN; j += 4)
            store4<WIDE>(c + static_cast<long long>(row) * n, first_col + tile_col + j * 4, n,
                         &sum[i][j]);
    }
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
    constexpr int THREADS = BM / TM * (BN / TN);
    const dim3 grid((n - 1) / BN + 1, (m - 1) / BM + 1);
    if (k % 4 == 0 && n % 4 == 0)
        gemm_kernel<BM, BN, BK, TM, TN, true><<<grid, THREADS>>>(a, b, c, m, n, k);
    else
        gemm_kernel<BM, BN, BK, TM, TN, false><<<grid, THREADS>>>(a, b, c, m, n, k);
    // end
}

// Called by the grader, and by main.cu, with device pointers.
extern "C" void gemm(const float* a, const float* b, float* c, int m, int n, int k)
{
    // TODO(student): about 7 lines
    // The largest tile of which there is one for every multiprocessor, else the smallest. A grid
    // of no blocks is an error.
    if (m <= 0 || n <= 0) return;
    if (tiles<128, 128>(m, n) >= SMS)
        launch<128, 128, 16, 8, 8>(a, b, c, m, n, k);
    else if (tiles<64, 64>(m, n) >= SMS)
        launch<64, 64, 16, 8, 4>(a, b, c, m, n, k);
    else
        launch<32, 32, 16, 4, 4>(a, b, c, m, n, k);
    // end
}

// expect: kind=race line=33 cpu=error gpu=blind why="racecheck sees shared memory only"
// Several blocks add their parts of a sum to the same element of C, unordered.
#include "gemm.h"

constexpr int PAD = 4;      // the two float4 of 16 rows, stored transposed, hit 32 banks
constexpr int SMS = 132;    // multiprocessors to keep busy: an H200's; fewer do no harm
constexpr int SHARE = 256;  // least depth of a block's share of k, a multiple of every BK

// Return row[at] to row[at + 3] of a row with `end` elements, zero for those that are not there.
// WIDE promises that `at`, `end` and the row's start are multiples of four elements.
template <bool WIDE>
__device__ float4 load4(const float* row, int at, int end)
{
    float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (WIDE) {
        if (at < end) v = *reinterpret_cast<const float4*>(row + at);
    } else {
        if (at < end) v.x = row[at];
        if (at + 1 < end) v.y = row[at + 1];
        if (at + 2 < end) v.z = row[at + 2];
        if (at + 3 < end) v.w = row[at + 3];
    }
    return v;
}

// Store four values to row[at] to row[at + 3], as far as the row's `end` elements go, or add
// them to what other blocks have added there.
template <bool WIDE>
__device__ void store4(float* row, int at, int end, const float* v, bool add)
{
    if (add) {
        for (int i = 0; i < 4; ++i)
            if (at + i < end) row[at + i] += v[i];
    } else if (WIDE) {
        if (at < end) *reinterpret_cast<float4*>(row + at) = *reinterpret_cast<const float4*>(v);
    } else {
        for (int i = 0; i < 4; ++i)
            if (at + i < end) row[at + i] = v[i];
    }
}

template <int BM, int BN, int BK, int TM, int TN, bool WIDE>
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
    __shared__ __align__(16) float As[2][BK][BM + PAD];  // transposed: rows of A are neighbours
    __shared__ __align__(16) float Bs[2][BK][BN];

    const int begin = blockIdx.z * share;
    const int end = k - begin > share ? begin + share : k;
    const int first_row = blockIdx.y * BM;
    const int first_col = blockIdx.x * BN;
    const int warp = threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    const int lane_row = lane / 8 * 2 + lane / 2 % 2;  // lanes 0 to 3 are a square, 2 x 2:
    const int lane_col = lane / 4 % 2 * 2 + lane % 2;  // neighbours share a float4 of A or of B
    const int tile_row = warp / (BN / WN) * WM + lane_row * 4;
    const int tile_col = warp % (BN / WN) * WN + lane_col * 4;
    alignas(16) float sum[TM][TN] = {};

    float4 a_next[A_LOADS], b_next[B_LOADS];
    const auto fetch = [&](int first) {
#pragma unroll
        for (int i = 0; i < A_LOADS; ++i) {
            const int index = threadIdx.x + i * THREADS;
            const int row = first_row + index / (BK / 4), col = first + index % (BK / 4) * 4;
            a_next[i] = load4<WIDE>(a + static_cast<long long>(row) * k, col, row < m ? end : 0);
        }
#pragma unroll
        for (int i = 0; i < B_LOADS; ++i) {
            const int index = threadIdx.x + i * THREADS;
            const int row = first + index / (BN / 4), col = first_col + index % (BN / 4) * 4;
            b_next[i] = load4<WIDE>(b + static_cast<long long>(row) * n, col, row < end ? n : 0);
        }
    };
    const auto stash = [&](int stage) {
#pragma unroll
        for (int i = 0; i < A_LOADS; ++i) {
            const int index = threadIdx.x + i * THREADS;
            const int row = index / (BK / 4), col = index % (BK / 4) * 4;
            As[stage][col][row] = a_next[i].x;
            As[stage][col + 1][row] = a_next[i].y;
            As[stage][col + 2][row] = a_next[i].z;
            As[stage][col + 3][row] = a_next[i].w;
        }
#pragma unroll
        for (int i = 0; i < B_LOADS; ++i) {
            const int index = threadIdx.x + i * THREADS;
            const int row = index / (BN / 4), col = index % (BN / 4) * 4;
            *reinterpret_cast<float4*>(&Bs[stage][row][col]) = b_next[i];
        }
    };
    fetch(begin);
    stash(0);
    __syncthreads();

    for (int first = begin, stage = 0; first < end; first += BK, stage ^= 1) {
        const bool more = first + BK < end;
        if (more) fetch(first + BK);

#pragma unroll
        for (int p = 0; p < BK; ++p) {
            alignas(16) float a_part[TM], b_part[TN];
#pragma unroll
            for (int i = 0; i < TM; i += 4)
                *reinterpret_cast<float4*>(a_part + i) =
                    *reinterpret_cast<const float4*>(&As[stage][p][tile_row + i * 8]);
#pragma unroll
            for (int j = 0; j < TN; j += 4)
                *reinterpret_cast<float4*>(b_part + j) =
                    *reinterpret_cast<const float4*>(&Bs[stage][p][tile_col + j * 4]);
#pragma unroll
            for (int i = 0; i < TM; ++i)
#pragma unroll
                for (int j = 0; j < TN; ++j) sum[i][j] += a_part[i] * b_part[j];
        }

        if (more) stash(stage ^ 1);
        __syncthreads();
    }

#pragma unroll
    for (int i = 0; i < TM; ++i) {
        const int row = first_row + tile_row + i / 4 * 32 + i % 4;
        if (row >= m) continue;
#pragma unroll
        for (int j = 0; j < TN; j += 4)
            store4<WIDE>(c + static_cast<long long>(row) * n, first_col + tile_col + j * 4, n,
                         &sum[i][j], gridDim.z > 1);
    }
}

// Return how long a multiprocessor is busy if `shares` blocks divide the depth of a tile,
// in multiply-adds. A model, not a measurement: blocks come in rounds of one for each
// multiprocessor, which needs 8 warps to be busy. An element that a thread loads from shared
// memory costs a multiply-add, one that a block loads from memory costs 8.
template <int BM, int BN, int TM, int TN>
double cost(int m, int n, int k, int shares)
{
    const long long blocks = ((m - 1LL) / BM + 1) * ((n - 1LL) / BN + 1) * shares;
    const long long rounds = (blocks - 1) / SMS + 1;
    const double warps = rounds * (BM / TM * (BN / TN) / 32);
    const double busy = warps < 8 ? warps / 8 : 1.0;
    const double step = BM * BN * (1.0 + 1.0 / TM + 1.0 / TN) + 8.0 * (BM + BN);
    const double overhead = shares > 1 ? 256 : 64;  // to begin and to end, in steps
    return rounds * step * (static_cast<double>(k) / shares + overhead) / busy;
}

// Launch the kernel with this tile, the depth divided among `shares` blocks.
template <int BM, int BN, int BK, int TM, int TN>
void launch(const float* a, const float* b, float* c, int m, int n, int k, int shares)
{
    constexpr int THREADS = BM / TM * (BN / TN);
    int share = (k - 1) / shares + 1;
    if (shares > 1) share = ((share - 1) / SHARE + 1) * SHARE;
    const dim3 grid((n - 1) / BN + 1, (m - 1) / BM + 1, (k - 1) / share + 1);
    if (grid.z > 1) cudaMemsetAsync(c, 0, static_cast<size_t>(m) * n * sizeof(float));
    if (k % 4 == 0 && n % 4 == 0)
        gemm_kernel<BM, BN, BK, TM, TN, true><<<grid, THREADS>>>(a, b, c, m, n, k, share);
    else
        gemm_kernel<BM, BN, BK, TM, TN, false><<<grid, THREADS>>>(a, b, c, m, n, k, share);
}

// Called by the grader, and by main.cu, with device pointers.
extern "C" void gemm(const float* a, const float* b, float* c, int m, int n, int k)
{
    if (m <= 0 || n <= 0 || k <= 0) return;
    int best_tile = 0, best_shares = 1;
    double least = cost<128, 128, 8, 8>(m, n, k, 1);
    for (int shares = 1; shares <= 32 && (shares == 1 || k / shares >= SHARE); shares *= 2) {
        const double costs[] = {cost<128, 128, 8, 8>(m, n, k, shares),
                                cost<64, 64, 8, 4>(m, n, k, shares),
                                cost<32, 32, 4, 4>(m, n, k, shares)};
        for (int tile = 0; tile < 3; ++tile) {
            if (costs[tile] >= least) continue;
            least = costs[tile];
            best_tile = tile;
            best_shares = shares;
        }
    }
    if (best_tile == 0) launch<128, 128, 8, 8, 8>(a, b, c, m, n, k, best_shares);
    if (best_tile == 1) launch<64, 64, 8, 8, 4>(a, b, c, m, n, k, best_shares);
    if (best_tile == 2) launch<32, 32, 8, 4, 4>(a, b, c, m, n, k, best_shares);
}

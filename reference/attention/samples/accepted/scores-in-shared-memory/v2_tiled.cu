// By wmma: which lane has which element of a fragment is not defined, so the scores pass through
// shared memory, from one product to the other. A third as fast as the solution, on any GPU from
// sm_70 on.
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
    for (int i = threadIdx.x; i < rows * (DIM / VEC); i += BLOCK) {
        const int row = i / (DIM / VEC), col = i % (DIM / VEC) * VEC;
        const __half* source = from + static_cast<long long>(first + row) * d + col;
        float4 eight = {};
        if (first + row < n && col < d) eight = *reinterpret_cast<const float4*>(source);
        *reinterpret_cast<float4*>(&tile[row][col]) = eight;
    }
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
    // 1. Where am I: the head, the first query of the block, of the warp, and that of the lane.
    const long long head = static_cast<long long>(blockIdx.y) * n * d;
    const int first = blockIdx.x * BM;
    const int own = threadIdx.x / 32 * MMA, lane = threadIdx.x % 32;
    const int query = own + lane / 2, side = lane % 2;  // a lane has every second column
    load_rows(queries, BM, q + head, first, n, d);

    float largest = -FLT_MAX, total = 0.0f, sums[DIM / 2] = {};
    for (int key = 0; key < n; key += BN) {
        // 2. Load the keys and values of this step, after all warps have used the last ones.
        __syncthreads();
        load_rows(keys, BN, k + head, key, n, d);
        load_rows(values, BN, v + head, key, n, d);
        __syncthreads();

        // 3. The scores of this warp's queries.
        for (int col = 0; col < BN; col += MMA) {
            Sum sum;
            wmma::fill_fragment(sum, 0.0f);
            for (int i = 0; i < DIM; i += MMA) {
                Left left;
                RightTurned right;
                wmma::load_matrix_sync(left, &queries[own][i], HALVES);
                wmma::load_matrix_sync(right, &keys[col][i], HALVES);
                wmma::mma_sync(sum, left, right, sum);
            }
            wmma::store_matrix_sync(&products[own][col], sum, FLOATS, wmma::mem_row_major);
        }
        __syncwarp();

        // 4. Their softmax, online: each lane its columns, then both lanes of a query together.
        float above = largest;
        for (int j = side; j < BN && key + j < n; j += 2)
            above = fmaxf(above, scale * products[query][j]);
        above = fmaxf(above, __shfl_xor_sync(0xffffffff, above, 1));
        float here = 0.0f;
        for (int j = side; j < BN; j += 2) {
            const float weight = key + j < n ? expf(scale * products[query][j] - above) : 0.0f;
            weights[query][j] = __float2half(weight);
            here += weight;
        }
        here += __shfl_xor_sync(0xffffffff, here, 1);
        const float correction = expf(largest - above);
        total = total * correction + here;
        largest = above;
        __syncwarp();

        // 5. The weighted sums of the values, which are added to those before.
        for (int col = 0; col < DIM; col += MMA) {
            Sum sum;
            wmma::fill_fragment(sum, 0.0f);
            for (int i = 0; i < BN; i += MMA) {
                Left left;
                Right right;
                wmma::load_matrix_sync(left, &weights[own][i], WEIGHTS);
                wmma::load_matrix_sync(right, &values[i][col], HALVES);
                wmma::mma_sync(sum, left, right, sum);
            }
            wmma::store_matrix_sync(&products[own][col], sum, FLOATS, wmma::mem_row_major);
        }
        __syncwarp();
#pragma unroll  // `sums` stays in registers
        for (int j = 0; j < DIM / 2; ++j)
            sums[j] = sums[j] * correction + products[query][2 * j + side];
    }

    // 6. Store: the quotients to shared memory, and from there row by row, two columns a lane.
#pragma unroll
    for (int j = 0; j < DIM / 2; ++j) products[query][2 * j + side] = sums[j] / total;
    __syncwarp();
    for (int row = own; row < own + MMA; ++row) {
        const float left = products[row][2 * lane], right = products[row][2 * lane + 1];
        __half* place = out + head + static_cast<long long>(first + row) * d + 2 * lane;
        if (first + row < n && 2 * lane < d)
            *reinterpret_cast<__half2*>(place) = __floats2half2_rn(left, right);
    }
}

// Called by the grader with device pointers.
extern "C" void attention(const __half* q, const __half* k, const __half* v, __half* out, int heads,
                          int n, int d, float scale)
{
    // Blocks of BM queries, for each head.
    const dim3 grid((n + BM - 1) / BM, heads);
    attention_kernel<<<grid, BLOCK>>>(q, k, v, out, n, d, scale);
}

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
    constexpr int STEP = BLOCK / (DIM / VEC);  // rows that the block copies at once
    const int row = threadIdx.x / (DIM / VEC), col = threadIdx.x % (DIM / VEC) * VEC;
    const __half* source = from + static_cast<long long>(first + row) * d + col;
    for (int i = 0; i < rows; i += STEP, source += STEP * d) {
        const bool there = first + row + i < n && col < d;
        __pipeline_memcpy_async(piece(tile, row + i, col), there ? source : from, 16,
                                there ? 0 : 16);
    }
    // end
}

// The warp's rows of a tile as left operands.
__device__ void load_left(unsigned (&left)[TILES][DIM / MMA][4], __half (*tile)[DIM])
{
    // TODO(student): about 5 lines
    const int lane = threadIdx.x % 32, own = threadIdx.x / 32 * ROWS;
    for (int t = 0; t < TILES; ++t)
        for (int c = 0; c < DIM / MMA; ++c)
            load_matrices(left[t][c], piece(tile, own + t * MMA + lane % 16,
                                            c * MMA + lane / 16 * 8));
    // end
}

// product = left rows^T: each of the warp's rows with each of the BN rows of a tile.
__device__ void multiply_rows(float (&product)[TILES][BN / MMA_N][4],
                              const unsigned (&left)[TILES][DIM / MMA][4], __half (*rows)[DIM])
{
    // TODO(student): about 15 lines
    const int lane = threadIdx.x % 32;
    for (auto& tile : product)
        for (auto& columns : tile)
            for (float& element : columns) element = 0.0f;
    for (int j = 0; j < BN / MMA; ++j)
        for (int c = 0; c < DIM / MMA; ++c) {
            unsigned right[4];
            load_matrices(right, piece(rows, j * MMA + lane / 16 * 8 + lane % 8,
                                       c * MMA + lane / 8 % 2 * 8));
            for (int t = 0; t < TILES; ++t) {
                multiply(product[t][2 * j], left[t][c], right[0], right[1]);
                multiply(product[t][2 * j + 1], left[t][c], right[2], right[3]);
            }
        }
    // end
}

// sums += factors rows: the BN rows of a tile, mixed for each of the warp's rows.
__device__ void add_rows(float (&sums)[TILES][DIM / MMA_N][4],
                         const float (&factors)[TILES][BN / MMA_N][4], __half (*rows)[DIM])
{
    // TODO(student): about 18 lines
    const int lane = threadIdx.x % 32;
    for (int j = 0; j < BN / MMA; ++j) {
        unsigned left[TILES][4];
        for (int t = 0; t < TILES; ++t)
            for (int i = 0; i < 4; ++i) {
                const float* pair = &factors[t][2 * j + i / 2][i % 2 * 2];
                left[t][i] = halves(pair[0], pair[1]);
            }
        for (int c = 0; c < DIM / MMA; ++c) {
            unsigned right[4];
            load_transposed(right, piece(rows, j * MMA + lane % 16, c * MMA + lane / 16 * 8));
            for (int t = 0; t < TILES; ++t) {
                multiply(sums[t][2 * c], left[t], right[0], right[1]);
                multiply(sums[t][2 * c + 1], left[t], right[2], right[3]);
            }
        }
    }
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
    float above[TILES][2];
    bool grown = false;
    for (int t = 0; t < TILES; ++t)
        for (int half = 0; half < 2; ++half) {
            float most = -FLT_MAX;
            for (const auto& columns : scores[t])
                most = fmaxf(most, fmaxf(columns[2 * half], columns[2 * half + 1]));
            above[t][half] = most;
            grown |= factor * (most - largest[t][half]) > SLACK;
        }
    if (__any_sync(0xffffffff, grown))
        for (int t = 0; t < TILES; ++t)
            for (int half = 0; half < 2; ++half) {
                float most = fmaxf(above[t][half], largest[t][half]);  // then of the row's lanes

                most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, 1));
                most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, 2));
                const float correction = power_of_two(factor * (largest[t][half] - most));
                largest[t][half] = most;
                total[t][half] *= correction;
                for (auto& columns : sums[t])
                    for (int e = 2 * half; e < 2 * half + 2; ++e) columns[e] *= correction;
            }
    for (int t = 0; t < TILES; ++t)
        for (int half = 0; half < 2; ++half) {
            const float shift = factor * largest[t][half];
            for (auto& columns : scores[t])
                for (int e = 2 * half; e < 2 * half + 2; ++e) {
                    columns[e] = power_of_two(factor * columns[e] - shift);  // a multiply-add
                    total[t][half] += columns[e];
                }
        }
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
    const long long head = static_cast<long long>(blockIdx.y) * n * d;
    const int first = blockIdx.x * BM, lane = threadIdx.x % 32;
    load_rows(queries, BM, q + head, first, n, d);
    load_rows(keys[0], BN, k + head, 0, n, d);
    load_rows(values[0], BN, v + head, 0, n, d);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    unsigned own[TILES][DIM / MMA][4];
    load_left(own, queries);

    float largest[TILES][2], total[TILES][2] = {}, sums[TILES][DIM / MMA_N][4] = {};
    for (auto& pair : largest) pair[0] = pair[1] = -FLT_MAX;
    for (int key = 0, now = 0; key < n; key += BN, now ^= 1) {
        // 2. Begin to load the next keys and values, to where those of the last step were.
        if (key + BN < n) {
            load_rows(keys[now ^ 1], BN, k + head, key + BN, n, d);
            load_rows(values[now ^ 1], BN, v + head, key + BN, n, d);
            __pipeline_commit();
        }

        // 3. The scores, not scaled yet. A key past the end weighs nothing.
        float scores[TILES][BN / MMA_N][4];
        multiply_rows(scores, own, keys[now]);
        if (key + BN > n)
            for (auto& tile : scores)
                for (int j = 0; j < BN / MMA_N; ++j)
                    for (int e = 0; e < 4; ++e)
                        if (key + j * MMA_N + lane % 4 * 2 + e % 2 >= n) tile[j][e] = -INFINITY;

        // 4. Their softmax, and the weighted values, which are added to those before.
        soften(scores, largest, total, sums, LOG2_E * scale);
        add_rows(sums, scores, values[now]);

        // 5. The next tiles must be complete, and all warps done with these.
        __pipeline_wait_prior(0);
        __syncthreads();
    }

    // 6. Store: the quotients to the place of the warp's queries, and from there 16 bytes a lane.
    const int rows = threadIdx.x / 32 * ROWS;
    for (int t = 0; t < TILES; ++t)
        for (int half = 0; half < 2; ++half) {
            float sum = total[t][half];
            sum += __shfl_xor_sync(0xffffffff, sum, 1);
            sum += __shfl_xor_sync(0xffffffff, sum, 2);
            const int row = rows + t * MMA + half * 8 + lane / 4;
            for (int c = 0; c < DIM / MMA_N; ++c) {
                const float* pair = &sums[t][c][2 * half];
                __half* place = piece(queries, row, c * MMA_N) + lane % 4 * 2;
                *reinterpret_cast<unsigned*>(place) = halves(pair[0] / sum, pair[1] / sum);
            }
        }
    __syncwarp();
    for (int i = lane; i < ROWS * (DIM / VEC); i += 32) {
        const int row = rows + i / (DIM / VEC), col = i % (DIM / VEC) * VEC;
        if (first + row < n && col < d)
            *reinterpret_cast<float4*>(out + head + static_cast<long long>(first + row) * d + col) =
                *reinterpret_cast<const float4*>(piece(queries, row, col));
    }
    // end
}

// Called by the grader with device pointers.
extern "C" void attention(const __half* q, const __half* k, const __half* v, __half* out, int heads,
                          int n, int d, float scale)
{
    // TODO(student): about 2 lines
    // Blocks of BM queries, for each head.
    const dim3 grid((n + BM - 1) / BM, heads);
    attention_kernel<<<grid, BLOCK>>>(q, k, v, out, n, d, scale);
    // end
}

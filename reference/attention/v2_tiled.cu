// Attention V2, tiles on tensor cores: no score ever leaves the registers.
//
// Idea      a block has 128 queries and walks over the keys, 64 at a time. The softmax is online:
//           what has been summed is corrected when a larger score comes. Scores stay where the
//           first product leaves them, which is where the second one wants its left operand.
// Limit     tensor cores wait for the exponentials.
// Expect    k and v move once for each 128 queries; the time of V1's memory traffic is gone.
// Grade it  grade local attention --kernel v2_tiled --language cuda
#include <cfloat>

#include <cuda_pipeline.h>

#include "attention.h"

constexpr int DIM = 64;   // columns of a row in shared memory: d of them, then zeros
constexpr int BM = 128;   // queries per block
constexpr int BN = 64;    // keys per step
constexpr int WARPS = 4;  // per block
constexpr int WM = BM / WARPS;     // queries per warp: each tile of keys that it loads serves all of them
constexpr int BLOCK = WARPS * 32;  // threads
constexpr int MMA = 16, MMA_N = 8;  // a tensor core multiplies 16 x 16 by 16 x 8
constexpr int VEC = 8;              // halves of a 16-byte access
constexpr float LOG2_E = 1.44269504f;
static_assert(WM % MMA == 0 && BN % MMA == 0, "whole fragments");

// Where the 8 halves from column `col` on are. A row has 128 bytes, all banks of shared memory, and
// a tensor core wants one piece of 8 rows at once: so each row has its pieces in another order.
__device__ __half* piece(__half (*tile)[DIM], int row, int col)
{
    return &tile[row][(col / VEC ^ row % 8) * VEC];
}

// Load four 8 x 8 matrices from shared memory: lane i has the address of row i % 8 of matrix i / 8.
// Then it has the elements 2 (i % 4) and 2 (i % 4) + 1 of row i / 4 of each.
__device__ void load_matrices(unsigned (&to)[4], const __half* row)
{
    const unsigned place = static_cast<unsigned>(__cvta_generic_to_shared(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(place)
                 : "memory");
}

// The same, and each matrix is transposed.
__device__ void load_transposed(unsigned (&to)[4], const __half* row)
{
    const unsigned place = static_cast<unsigned>(__cvta_generic_to_shared(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(place)
                 : "memory");
}

// sum += left * right, of 16 x 16 and 16 x 8 halves. Lane i has four elements of `sum`: in row i / 4
// the columns 2 (i % 4) and 2 (i % 4) + 1, and the same columns in row i / 4 + 8.
__device__ void multiply(float (&sum)[4], const unsigned (&left)[4], unsigned top, unsigned bottom)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(top), "r"(bottom));
}

// 2 to the power of x: one instruction, where exp2f has more of them for tiny results.
__device__ float power_of_two(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// Two weights as halves, in a register.
__device__ unsigned rounded(float left, float right)
{
    const __half2 both = __floats2half2_rn(left, right);
    return reinterpret_cast<const unsigned&>(both);
}

// Begin to copy rows from `first` on into shared memory; zeros where there is no row or column.
__device__ void load_rows(__half (*tile)[DIM], int rows, const __half* from, int first, int n, int d)
{
    // TODO(student): about 6 lines
    for (int i = threadIdx.x; i < rows * (DIM / VEC); i += BLOCK) {
        const int row = i / (DIM / VEC), col = i % (DIM / VEC) * VEC;
        const bool there = first + row < n && col < d;
        const __half* source = there ? from + static_cast<long long>(first + row) * d + col : from;
        __pipeline_memcpy_async(piece(tile, row, col), source, 16, there ? 0 : 16);
    }
    // end
}

__global__ void __launch_bounds__(BLOCK)
attention_kernel(const __half* q,  // (heads, n, d)
                 const __half* k,  // (heads, n, d)
                 const __half* v,  // (heads, n, d)
                 __half* out,      // (heads, n, d)
                 int n, int d, float scale)
{
    __shared__ alignas(128) __half queries[BM][DIM];
    __shared__ alignas(128) __half keys[2][BN][DIM], values[2][BN][DIM];  // this step's, the next's
    // TODO(student): about 80 lines
    // 1. Where am I: the head, the block's first query, the warp's first one, and the lane.
    const long long head = static_cast<long long>(blockIdx.y) * n * d;
    const int first = blockIdx.x * BM;
    const int own = threadIdx.x / 32 * WM, lane = threadIdx.x % 32;
    load_rows(queries, BM, q + head, first, n, d);
    load_rows(keys[0], BN, k + head, 0, n, d);
    load_rows(values[0], BN, v + head, 0, n, d);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();

    // 2. The warp's queries stay in registers: 16 x 16 of them are four matrices.
    unsigned left[WM / MMA][DIM / MMA][4];
    for (int i = 0; i < WM / MMA; ++i)
        for (int c = 0; c < DIM / MMA; ++c)
            load_matrices(left[i][c], piece(queries, own + i * MMA + lane % 16,
                                            c * MMA + lane / 16 * 8));

    // A lane has two rows of each fragment. `total` is that of its own columns, until the end.
    float largest[WM / MMA][2], total[WM / MMA][2] = {};
    float sums[WM / MMA][DIM / MMA_N][4] = {};
    for (int i = 0; i < WM / MMA; ++i) largest[i][0] = largest[i][1] = -FLT_MAX;

    for (int key = 0, now = 0; key < n; key += BN, now ^= 1) {
        // 3. Begin to load the next keys and values, where those before this step were.
        if (key + BN < n) {
            load_rows(keys[now ^ 1], BN, k + head, key + BN, n, d);
            load_rows(values[now ^ 1], BN, v + head, key + BN, n, d);
            __pipeline_commit();
        }

        // 4. The scores of this warp's queries. One load has 16 columns of 16 keys, for two sums.
        float scores[WM / MMA][BN / MMA_N][4] = {};
        for (int j = 0; j < BN / MMA; ++j)
            for (int c = 0; c < DIM / MMA; ++c) {
                unsigned right[4];
                load_matrices(right, piece(keys[now], j * MMA + lane / 16 * 8 + lane % 8,
                                           c * MMA + lane / 8 % 2 * 8));
                for (int i = 0; i < WM / MMA; ++i) {
                    multiply(scores[i][2 * j], left[i][c], right[0], right[1]);
                    multiply(scores[i][2 * j + 1], left[i][c], right[2], right[3]);
                }
            }

        // 5. Their softmax, online and in powers of two. A key past the end weighs nothing.
        const bool last = key + BN > n;
        for (int i = 0; i < WM / MMA; ++i)
            for (int half = 0; half < 2; ++half) {
                float above = largest[i][half];
                for (int j = 0; j < BN / MMA_N; ++j)
                    for (int e = 2 * half; e < 2 * half + 2; ++e) {
                        float& score = scores[i][j][e];
                        score *= scale * LOG2_E;
                        if (last && key + j * MMA_N + lane % 4 * 2 + e % 2 >= n) score = -INFINITY;
                        above = fmaxf(above, score);
                    }
                // Four lanes have the columns of a row.
                above = fmaxf(above, __shfl_xor_sync(0xffffffff, above, 1));
                above = fmaxf(above, __shfl_xor_sync(0xffffffff, above, 2));
                const float correction = power_of_two(largest[i][half] - above);
                largest[i][half] = above;
                total[i][half] *= correction;
                for (int j = 0; j < BN / MMA_N; ++j)
                    for (int e = 2 * half; e < 2 * half + 2; ++e) {
                        scores[i][j][e] = power_of_two(scores[i][j][e] - above);
                        total[i][half] += scores[i][j][e];
                    }
                for (int c = 0; c < DIM / MMA_N; ++c)
                    for (int e = 2 * half; e < 2 * half + 2; ++e) sums[i][c][e] *= correction;
            }

        // 6. Add the weighted values. Weights of 16 keys, rounded, are a left operand as they are.
        for (int j = 0; j < BN / MMA; ++j) {
            unsigned weights[WM / MMA][4];
            for (int i = 0; i < WM / MMA; ++i)
                for (int part = 0; part < 4; ++part) {
                    const float* pair = &scores[i][2 * j + part / 2][part % 2 * 2];
                    weights[i][part] = rounded(pair[0], pair[1]);
                }
            for (int c = 0; c < DIM / MMA; ++c) {
                unsigned right[4];
                load_transposed(right, piece(values[now], j * MMA + lane % 16,
                                             c * MMA + lane / 16 * 8));
                for (int i = 0; i < WM / MMA; ++i) {
                    multiply(sums[i][2 * c], weights[i], right[0], right[1]);
                    multiply(sums[i][2 * c + 1], weights[i], right[2], right[3]);
                }
            }
        }

        // 7. The next tiles must be complete, and these ones used by all warps.
        __pipeline_wait_prior(0);
        __syncthreads();
    }

    // 8. Store: the quotients to the place of the warp's queries, and from there whole rows.
    for (int i = 0; i < WM / MMA; ++i)
        for (int half = 0; half < 2; ++half) {
            total[i][half] += __shfl_xor_sync(0xffffffff, total[i][half], 1);
            total[i][half] += __shfl_xor_sync(0xffffffff, total[i][half], 2);
            const int row = own + i * MMA + half * 8 + lane / 4;
            for (int c = 0; c < DIM / MMA_N; ++c) {
                const float* pair = &sums[i][c][2 * half];
                *reinterpret_cast<unsigned*>(piece(queries, row, c * MMA_N) + lane % 4 * 2) =
                    rounded(pair[0] / total[i][half], pair[1] / total[i][half]);
            }
        }
    __syncwarp();
    for (int i = lane; i < WM * (DIM / VEC); i += 32) {
        const int row = own + i / (DIM / VEC), col = i % (DIM / VEC) * VEC;
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

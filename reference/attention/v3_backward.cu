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
    for (int i = threadIdx.x; i < rows * (DIM / VEC); i += BLOCK) {
        const int row = i / (DIM / VEC), col = i % (DIM / VEC) * VEC;
        const bool there = first + row < n && col < d;
        const __half* source = there ? from + static_cast<long long>(first + row) * d + col : from;
        __pipeline_memcpy_async(piece(tile, row, col), source, 16, there ? 0 : 16);
    }
    // end
}

// The warp's 16 rows of a tile as left operands.
__device__ void load_left(unsigned (&left)[DIM / MMA][4], __half (*tile)[DIM])
{
    // TODO(student): about 3 lines
    const int lane = threadIdx.x % 32, own = threadIdx.x / 32 * MMA;
    for (int c = 0; c < DIM / MMA; ++c)
        load_matrices(left[c], piece(tile, own + lane % 16, c * MMA + lane / 16 * 8));
    // end
}

// product = left rows^T: each of the warp's 16 rows with each of the STEP rows of a tile.
__device__ void multiply_rows(float (&product)[STEP / MMA_N][4],
                              const unsigned (&left)[DIM / MMA][4], __half (*rows)[DIM])
{
    // TODO(student): about 13 lines
    const int lane = threadIdx.x % 32;
    for (auto& tile : product)
        for (float& element : tile) element = 0.0f;
    for (int j = 0; j < STEP / MMA; ++j)
        for (int c = 0; c < DIM / MMA; ++c) {
            unsigned right[4];
            load_matrices(right, piece(rows, j * MMA + lane / 16 * 8 + lane % 8,
                                       c * MMA + lane / 8 % 2 * 8));
            multiply(product[2 * j], left[c], right[0], right[1]);
            multiply(product[2 * j + 1], left[c], right[2], right[3]);
        }
    // end
}

// sums += factors rows: the STEP rows of a tile, mixed for each of the warp's 16 rows.
__device__ void add_rows(float (&sums)[DIM / MMA_N][4], const float (&factors)[STEP / MMA_N][4],
                         __half (*rows)[DIM])
{
    // TODO(student): about 13 lines
    const int lane = threadIdx.x % 32;
    for (int j = 0; j < STEP / MMA; ++j) {
        const auto &near = factors[2 * j], &far = factors[2 * j + 1];
        const unsigned left[4] = {halves(near[0], near[1]), halves(near[2], near[3]),
                                  halves(far[0], far[1]), halves(far[2], far[3])};
        for (int c = 0; c < DIM / MMA; ++c) {
            unsigned right[4];
            load_transposed(right, piece(rows, j * MMA + lane % 16, c * MMA + lane / 16 * 8));
            multiply(sums[2 * c], left, right[0], right[1]);
            multiply(sums[2 * c + 1], left, right[2], right[3]);
        }
    }
    // end
}

// Store the warp's 16 rows, times `factor`: by way of its rows of a tile, which it has used.
__device__ void store_rows(__half* to, const float (&sums)[DIM / MMA_N][4], float factor,
                           __half (*tile)[DIM], int first, int n, int d)
{
    // TODO(student): about 15 lines
    const int lane = threadIdx.x % 32, own = threadIdx.x / 32 * MMA;
    __syncwarp();
    for (int half = 0; half < 2; ++half)
        for (int c = 0; c < DIM / MMA_N; ++c) {
            __half* place = piece(tile, own + half * 8 + lane / 4, c * MMA_N) + lane % 4 * 2;
            const float* pair = &sums[c][2 * half];
            *reinterpret_cast<unsigned*>(place) = halves(factor * pair[0], factor * pair[1]);
        }
    __syncwarp();
    for (int i = lane; i < MMA * (DIM / VEC); i += 32) {
        const int row = own + i / (DIM / VEC), col = i % (DIM / VEC) * VEC;
        if (first + row < n && col < d)
            *reinterpret_cast<float4*>(to + static_cast<long long>(first + row) * d + col) =
                *reinterpret_cast<const float4*>(piece(tile, row, col));
    }
    // end
}

// delta = the sum of dout * out, a thread for each query.
__global__ void delta_kernel(const __half* out,   // (heads * n, d)
                             const __half* dout,  // (heads * n, d)
                             float* delta,        // (heads * n)
                             int rows, int d)
{
    // TODO(student): about 5 lines
    const int row = blockIdx.x * BLOCK + threadIdx.x;
    if (row >= rows) return;
    const long long begin = static_cast<long long>(row) * d;
    float sum = 0.0f;
    for (int i = 0; i < d; ++i) sum += __half2float(out[begin + i]) * __half2float(dout[begin + i]);
    delta[row] = sum;
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
    const long long row = static_cast<long long>(blockIdx.y) * n, head = row * d;
    const int first = blockIdx.x * OWN, lane = threadIdx.x % 32;
    load_rows(keys, OWN, k + head, first, n, d);
    load_rows(values, OWN, v + head, first, n, d);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    unsigned own_keys[DIM / MMA][4], own_values[DIM / MMA][4];
    load_left(own_keys, keys);
    load_left(own_values, values);

    float key_sums[DIM / MMA_N][4] = {}, value_sums[DIM / MMA_N][4] = {};
    for (int query = 0; query < n; query += STEP) {
        // 2. Load queries and gradients. A query past the end has weights of 2^-infinity.
        __syncthreads();
        load_rows(queries, STEP, q + head, query, n, d);
        load_rows(gradients, STEP, dout + head, query, n, d);
        __pipeline_commit();
        for (int i = threadIdx.x; i < STEP; i += BLOCK) {
            lses[i] = query + i < n ? lse[row + query + i] : INFINITY;
            deltas[i] = query + i < n ? delta[row + query + i] : 0.0f;
        }
        __pipeline_wait_prior(0);
        __syncthreads();

        // 3. The weights again, and the gradients of the scores.
        float weights[STEP / MMA_N][4], changes[STEP / MMA_N][4];
        multiply_rows(weights, own_keys, queries);
        multiply_rows(changes, own_values, gradients);
        for (int j = 0; j < STEP / MMA_N; ++j)
            for (int e = 0; e < 4; ++e) {
                const int column = j * MMA_N + lane % 4 * 2 + e % 2;
                weights[j][e] = power_of_two(LOG2_E * (scale * weights[j][e] - lses[column]));
                changes[j][e] = weights[j][e] * (changes[j][e] - deltas[column]);
            }

        // 4. What these queries add.
        add_rows(value_sums, weights, gradients);
        add_rows(key_sums, changes, queries);
    }

    // 5. Store.
    store_rows(dk + head, key_sums, scale, keys, first, n, d);
    store_rows(dv + head, value_sums, 1.0f, values, first, n, d);
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
    const long long row = static_cast<long long>(blockIdx.y) * n, head = row * d;
    const int first = blockIdx.x * OWN, lane = threadIdx.x % 32;
    const int own = first + threadIdx.x / 32 * MMA + lane / 4;
    load_rows(queries, OWN, q + head, first, n, d);
    load_rows(gradients, OWN, dout + head, first, n, d);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    unsigned own_queries[DIM / MMA][4], own_gradients[DIM / MMA][4];
    load_left(own_queries, queries);
    load_left(own_gradients, gradients);
    float own_lse[2], own_delta[2];
    for (int half = 0; half < 2; ++half) {
        const int query = own + half * 8;
        own_lse[half] = query < n ? lse[row + query] : INFINITY;
        own_delta[half] = query < n ? delta[row + query] : 0.0f;
    }

    float sums[DIM / MMA_N][4] = {};
    for (int key = 0; key < n; key += STEP) {
        // 2. Load keys and values.
        __syncthreads();
        load_rows(keys, STEP, k + head, key, n, d);
        load_rows(values, STEP, v + head, key, n, d);
        __pipeline_commit();
        __pipeline_wait_prior(0);
        __syncthreads();

        // 3. The weights again, and the gradients of the scores. A key past the end weighs nothing.
        float weights[STEP / MMA_N][4], changes[STEP / MMA_N][4];
        multiply_rows(weights, own_queries, keys);
        multiply_rows(changes, own_gradients, values);
        for (int j = 0; j < STEP / MMA_N; ++j)
            for (int e = 0; e < 4; ++e) {
                const float exponent = LOG2_E * (scale * weights[j][e] - own_lse[e / 2]);
                const bool there = key + j * MMA_N + lane % 4 * 2 + e % 2 < n;
                const float weight = there ? power_of_two(exponent) : 0.0f;
                changes[j][e] = weight * (changes[j][e] - own_delta[e / 2]);
            }

        // 4. What these keys add.
        add_rows(sums, changes, keys);
    }

    // 5. Store.
    store_rows(dq + head, sums, scale, queries, first, n, d);
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
    const int rows = heads * n;
    const dim3 grid((n + OWN - 1) / OWN, heads);
    float* delta = nullptr;
    cudaMalloc(&delta, sizeof(float) * rows);
    delta_kernel<<<(rows + BLOCK - 1) / BLOCK, BLOCK>>>(out, dout, delta, rows, d);
    keys_kernel<<<grid, BLOCK>>>(q, k, v, lse, delta, dout, dk, dv, n, d, scale);
    queries_kernel<<<grid, BLOCK>>>(q, k, v, lse, delta, dout, dq, n, d, scale);
    cudaFree(delta);
    // end
}

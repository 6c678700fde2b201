// Attention V1, all scores in memory: three kernels, each of which is easy.
//
// Idea      scores = scale q k^T, a softmax of each row of them, and the weighted sum of v.
// Limit     memory: n * n scores are written once, read three times and changed once.
// Expect    scores of 64 heads and 2048 keys take 1 GiB, their inputs 24 MiB.
// Grade it  grade local attention --kernel v1_materialised --language cuda
#include "attention.h"

constexpr int TILE = 16;  // a block computes 16 x 16 elements
constexpr int WARP = 32;  // threads for a row of scores

// scores = scale q k^T, a thread for each.
__global__ void scores_kernel(const __half* q,  // (heads, n, d)
                              const __half* k,  // (heads, n, d)
                              float* scores,    // (heads, n, n)
                              int n, int d, float scale)
{
    // TODO(student): about 8 lines
    const int key = blockIdx.x * TILE + threadIdx.x;
    const int query = blockIdx.y * TILE + threadIdx.y;
    if (query >= n || key >= n) return;
    const long long head = blockIdx.z;
    const __half* q_row = q + (head * n + query) * d;
    const __half* k_row = k + (head * n + key) * d;
    float sum = 0.0f;
    for (int i = 0; i < d; ++i) sum += __half2float(q_row[i]) * __half2float(k_row[i]);
    scores[(head * n + query) * n + key] = scale * sum;
    // end
}

// Softmax of each row, in place: a warp for each.
__global__ void softmax_kernel(float* scores,  // (heads * n, n)
                               int n)
{
    // TODO(student): about 10 lines
    float* row = scores + static_cast<long long>(blockIdx.x) * n;
    float largest = -INFINITY;
    for (int key = threadIdx.x; key < n; key += WARP) largest = fmaxf(largest, row[key]);
    for (int away = WARP / 2; away > 0; away /= 2)
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, away));
    float total = 0.0f;
    for (int key = threadIdx.x; key < n; key += WARP) total += expf(row[key] - largest);
    for (int away = WARP / 2; away > 0; away /= 2)
        total += __shfl_xor_sync(0xffffffff, total, away);
    for (int key = threadIdx.x; key < n; key += WARP) row[key] = expf(row[key] - largest) / total;
    // end
}

// out = weights v, a thread for each.
__global__ void values_kernel(const float* weights,  // (heads, n, n)
                              const __half* v,       // (heads, n, d)
                              __half* out,           // (heads, n, d)
                              int n, int d)
{
    // TODO(student): about 8 lines
    const int col = blockIdx.x * TILE + threadIdx.x;
    const int query = blockIdx.y * TILE + threadIdx.y;
    if (query >= n || col >= d) return;
    const long long head = blockIdx.z;
    const float* row = weights + (head * n + query) * n;
    float sum = 0.0f;
    for (int key = 0; key < n; ++key) sum += row[key] * __half2float(v[(head * n + key) * d + col]);
    out[(head * n + query) * d + col] = __float2half(sum);
    // end
}

// Called by the grader with device pointers.
extern "C" void attention(const __half* q, const __half* k, const __half* v, __half* out, int heads,
                          int n, int d, float scale)
{
    // TODO(student): about 9 lines
    // Memory for the scores, the three kernels in order, and the memory back.
    float* scores = nullptr;
    cudaMalloc(&scores, sizeof(float) * heads * n * n);
    const int tiles = (n + TILE - 1) / TILE, tiles_of_d = (d + TILE - 1) / TILE;
    const dim3 block(TILE, TILE);
    scores_kernel<<<dim3(tiles, tiles, heads), block>>>(q, k, scores, n, d, scale);
    softmax_kernel<<<heads * n, WARP>>>(scores, n);
    values_kernel<<<dim3(tiles_of_d, tiles, heads), block>>>(scores, v, out, n, d);
    cudaFree(scores);
    // end
}

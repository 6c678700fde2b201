// tool: memcheck
// gpu: the hardware's loads may be narrower than CUDA's rule
#include <mma.h>
#include "../memory.cuh"
using namespace nvcuda;
__global__ void diagonal(int* out) {
    __shared__ __align__(32) half tile[16 * 20];
    __shared__ __align__(32) float sums[16 * 20];
    for (int i = threadIdx.x; i < 16 * 20; i += 32) tile[i] = __float2half(i % 21 == 0 ? 1.0f : 0.0f);
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    wmma::load_matrix_sync(left, tile, 16);
    wmma::load_matrix_sync(right, tile, 20);  // FAULT misaligned
    wmma::mma_sync(sum, left, right, sum);
    wmma::store_matrix_sync(sums, sum, 20, wmma::mem_row_major);  // 80 bytes
    __syncwarp();
    out[threadIdx.x] = (int)sums[threadIdx.x % 16 * 21];
}
int main() {
    int* out = blank<int>(32);
    diagonal<<<1, 32>>>(out);
    return finish(out);
}

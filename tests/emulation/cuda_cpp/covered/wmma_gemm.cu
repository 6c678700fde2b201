#include <mma.h>
#include "result.cuh"
using namespace nvcuda;
__global__ void gemm(const half* a, const half* b, float* c, int n) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    int row = blockIdx.y * 16, column = blockIdx.x * 16;
    for (int k = 0; k < n; k += 16) {
        wmma::load_matrix_sync(left, a + row * n + k, n);
        wmma::load_matrix_sync(right, b + (k + PLANT(16, 0)) * n + column, n);  // FAULT out_of_bounds
        wmma::mma_sync(sum, left, right, sum);
    }
    for (int i = 0; i < sum.num_elements; ++i) sum.x[i] = sum.x[i] * 0.5f;
    wmma::store_matrix_sync(c + row * n + column, sum, n, wmma::mem_row_major);
}
int main() {
    const int n = 48;
    half* a = filled<half>(n * n, [](int i) { return __float2half((float)(i % 7 - 3)); });
    half* b = filled<half>(n * n, [](int i) { return __float2half((float)(i % 5 - 2) * 0.5f); });
    float* c = zeros<float>(n * n);
    gemm<<<dim3(n / 16, n / 16), 32>>>(a, b, c, n);
    show("product", c, n * n);
    cudaFree(a);
    cudaFree(b);
}

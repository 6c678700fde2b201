#include "../memory.cuh"
template <int T> __global__ void gemm(const float* A, const float* B, float* C, int m, int n, int k) {
    __shared__ float a[T][T], b[T][T];
    int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < k; t += T) {
        a[threadIdx.y][threadIdx.x] = row < m && t + threadIdx.x < k ? A[row * k + t + threadIdx.x] : 0;
        b[threadIdx.y][threadIdx.x] = col < n && t + threadIdx.y < k ? B[(t + threadIdx.y) * n + col] : 0;
        __syncthreads();
        for (int i = 0; i < T; ++i) sum += a[threadIdx.y][i] * b[i][threadIdx.x];
        __syncthreads();
    }
    if (row < m && col < n) C[row * n + col] = sum;
}
int main() {
    float *a = numbered<float>(33 * 20), *b = numbered<float>(20 * 17), *c = blank<float>(33 * 17);
    gemm<16><<<dim3(2, 3), dim3(16, 16)>>>(a, b, c, 33, 17, 20);
    return finish(a, b, c);
}

#include "../memory.cuh"
constexpr int BM = 32, BN = 32, BK = 8, TM = 4;
__global__ void gemm(const float* A, const float* B, float* C, int n) {
    __shared__ float as[BM * BK];
    __shared__ float bs[BK * BN];
    int col = threadIdx.x % BN, row = threadIdx.x / BN;
    float acc[TM] = {0.0f};
    for (int k0 = 0; k0 < n; k0 += BK) {
        as[threadIdx.x] = A[(blockIdx.y * BM + threadIdx.x / BK) * n + k0 + threadIdx.x % BK];
        bs[threadIdx.x] = B[(k0 + threadIdx.x / BN) * n + blockIdx.x * BN + threadIdx.x % BN];
        __syncthreads();
        for (int k = 0; k < BK; ++k) {
            float b = bs[k * BN + col];
#pragma unroll
            for (int i = 0; i < TM; ++i) acc[i] += as[(row * TM + i) * BK + k] * b;
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i) C[(blockIdx.y * BM + row * TM + i) * n + blockIdx.x * BN + col] = acc[i];
}
int main() {
    float *a = numbered<float>(64 * 64), *b = numbered<float>(64 * 64), *c = blank<float>(64 * 64);
    gemm<<<dim3(2, 2), 256>>>(a, b, c, 64);
    return finish(a, b, c);
}

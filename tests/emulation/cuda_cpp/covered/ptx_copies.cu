#include "result.cuh"
__global__ void staged(const int* __restrict__ in, int* __restrict__ out) {
    __shared__ __align__(16) int tile[2][64];
    unsigned first = (unsigned)__cvta_generic_to_shared(&tile[0][threadIdx.x]);
    unsigned second = (unsigned)__cvta_generic_to_shared(&tile[1][threadIdx.x]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(first), "l"(in + threadIdx.x) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    if (threadIdx.x < 64)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(second), "l"(in + 64 + threadIdx.x) : "memory");
    else
        tile[1][threadIdx.x] = 0;
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group %0;" ::"n"(PLANT(1, 0)) : "memory");
    __syncthreads();
    out[threadIdx.x] = tile[0][63 - threadIdx.x];
    out[threadIdx.x] += tile[1][threadIdx.x];  // FAULT uninitialized
}
int main() {
    int* in = filled<int>(128, [](int i) { return i * 3; });
    int* out = zeros<int>(64);
    staged<<<1, 64>>>(in, out);
    show("staged", out, 64);
    cudaFree(in);
}

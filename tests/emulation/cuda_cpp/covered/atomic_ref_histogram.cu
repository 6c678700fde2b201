#include <cuda/atomic>
#include "result.cuh"
__global__ void histogram(const int* x, int* bins, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
#ifdef PLANTED
        bins[x[i]] += 1;  // FAULT race
#else
        cuda::atomic_ref<int, cuda::thread_scope_device>(bins[x[i]]).fetch_add(1, cuda::memory_order_relaxed);
#endif
    }
}
int main() {
    const int n = 1000;
    int* x = filled<int>(n, [](int i) { return i * i % 10; });
    int* bins = zeros<int>(10);
    histogram<<<1, 128>>>(x, bins, n);
    show("bins", bins, 10);
    cudaFree(x);
}

#include <cuda/atomic>
#include "result.cuh"
__device__ cuda::atomic<int, cuda::thread_scope_device> ready;
__global__ void message(int* data, int* out) {
    const auto release = PLANT(cuda::memory_order_relaxed, cuda::memory_order_release);
    const auto acquire = PLANT(cuda::memory_order_relaxed, cuda::memory_order_acquire);
    if (threadIdx.x == 0) {
        *data = 41;
        ready.store(1, release);
    } else if (threadIdx.x == 64) {
        while (ready.load(acquire) == 0) {}
        *out = *data + 1;  // FAULT race
    }
}
int main() {
    int *data = zeros<int>(1), *out = zeros<int>(1);
    message<<<1, 128>>>(data, out);
    show("received", out, 1);
    cudaFree(data);
}

#include "result.cuh"
__global__ void producer_and_consumer(const int* in, int* out, int rounds) {
    __shared__ int slot[32];
    int lane = threadIdx.x % 32;
    for (int i = 0; i < rounds; ++i) {
        if (threadIdx.x < 32) {
            slot[31 - lane] = in[i * 32 + lane];
            asm volatile("bar.arrive 1, 64;" ::: "memory");
            asm volatile("bar.sync 2, 64;" ::: "memory");
        } else {
#ifndef PLANTED
            asm volatile("bar.sync 1, 64;" ::: "memory");
#endif
            out[i * 32 + lane] = slot[lane];  // FAULT race
            asm volatile("bar.arrive 2, 64;" ::: "memory");
        }
    }
}
int main() {
    int* in = filled<int>(128, [](int i) { return i; });
    int* out = zeros<int>(128);
    producer_and_consumer<<<1, 64>>>(in, out, PLANT(1, 4));
    show("passed on", out, 128);
    cudaFree(in);
}

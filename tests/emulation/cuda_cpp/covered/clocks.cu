#include "result.cuh"
__global__ void spin(int* out) {
    long long start = clock64();
    clock_t ticks = clock();
    unsigned long long before, after;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(before));
    while (clock64() - start < 20000) {}
    __nanosleep(100);
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(after));
    out[threadIdx.x + PLANT(1, 0)] = clock() - ticks >= 20000 && after >= before;  // FAULT out_of_bounds
}
int main() {
    int* out = zeros<int>(32);
    spin<<<1, 32>>>(out);
    show("in order", out, 32);
}

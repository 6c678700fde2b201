#include <cooperative_groups.h>
#include "result.cuh"
namespace cg = cooperative_groups;
__device__ int aggregated_add(int* counter) {
    cg::coalesced_group active = cg::coalesced_threads();
    int base = 0;
    if (active.thread_rank() == 0) base = atomicAdd(counter, (int)active.size());
    return active.shfl(base, 0) + active.thread_rank();
}
__global__ void keep_even(const int* in, int* out, int* count) {
    int value = in[threadIdx.x];
    if (value % 2 == 0) out[aggregated_add(count) + PLANT(1, 0)] = 1;  // FAULT out_of_bounds
}
int main() {
    int* in = filled<int>(128, [](int i) { return i * 7 % 31; });
    int kept = 0;
    for (int i = 0; i < 128; ++i) kept += i * 7 % 31 % 2 == 0;
    int *out = zeros<int>(kept), *count = zeros<int>(1);
    keep_even<<<1, 128>>>(in, out, count);
    show("kept", out, kept);
    show("count", count, 1);
    cudaFree(in);
}

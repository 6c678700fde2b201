// A shuffle from a lane that does not take part gives 0: undefined in CUDA, measured on an H200.
#include "expect.cuh"

__global__ void parted(int* out) {
    int lane = threadIdx.x;
    if (lane < 16)
        out[lane] = __shfl_down_sync(0xffffu, 1000 + lane, 4);
    else
        out[lane] = __shfl_sync(0xffff0000u, 1000 + lane, 3);
}

int main() {
    int* out = device<int>(32);
    parted<<<1, 32>>>(out);
    for (int i = 0; i < 32; ++i) EXPECT(at(out, i) == (i < 12 ? 1004 + i : 0));
    cudaFree(out);
    return failures;
}

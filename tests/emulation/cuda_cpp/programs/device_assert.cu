// A failed assertion ends the kernel; the error stays.
#include <cassert>
#include "expect.cuh"
__global__ void check(int* a) {
    assert(threadIdx.x < 4);
    a[threadIdx.x] = 1;
}
int main() {
    int* a = device<int>(8);
    check<<<1, 4>>>(a);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess);
    check<<<1, 8>>>(a);
    EXPECT(cudaDeviceSynchronize() == cudaErrorAssert);
    EXPECT(cudaGetLastError() == cudaErrorAssert);
    return failures;
}

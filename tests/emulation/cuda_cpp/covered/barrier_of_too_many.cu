// gpu: hangs with the fault
#include <cuda/barrier>
#include "result.cuh"
#pragma nv_diag_suppress static_var_with_dynamic_init
__global__ void count(int* x) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (threadIdx.x == 0) init(&bar, blockDim.x + PLANT(1, 0));
    __syncthreads();
    bar.arrive_and_wait();  // FAULT barrier
    x[threadIdx.x] += 1;
}
int main() {
    int* x = zeros<int>(64);
    count<<<1, 64>>>(x);
    show("counted", x, 64);
}

// nvcc: --extended-lambda
#include "result.cuh"
template <class Function> __global__ void for_each(int n, Function function) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) function(i);
}
int main() {
    const int n = 100;
    int *x = zeros<int>(n), offset = 7;
    for_each<<<2, 64>>>(n, [=] __device__(int i) { x[i + PLANT(1, 0)] = i * i + offset; });  // FAULT out_of_bounds
    for_each<<<2, 64>>>(n, [x] __host__ __device__(int i) { x[i] -= 1; });
    show("mapped", x, n);
}

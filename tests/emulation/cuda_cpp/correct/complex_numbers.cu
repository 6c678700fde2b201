#include <cuComplex.h>
#include "../memory.cuh"
__global__ void square(const cuFloatComplex* x, cuFloatComplex* y, int n) {
    int i = threadIdx.x;
    if (i < n) y[i] = cuCmulf(x[i], x[i]);
}
int main() {
    cuFloatComplex host[4], squared[4];
    for (int i = 0; i < 4; ++i) host[i] = make_cuFloatComplex(i, 1);
    cuFloatComplex *x = zeros<cuFloatComplex>(4), *y = zeros<cuFloatComplex>(4);
    cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
    square<<<1, 32>>>(x, y, 4);
    cudaMemcpy(squared, y, sizeof squared, cudaMemcpyDeviceToHost);
    bool right = cuCrealf(squared[3]) == 8 && cuCimagf(squared[3]) == 6 && cuCabsf(squared[0]) == 1;
    cuFloatComplex one = cuCdivf(host[2], host[2]);
    return finish(x, y) + !right + (one.x != 1 || one.y != 0);
}

// nvcc: -Xcompiler -fopenmp
#include <omp.h>
#include "result.cuh"
__global__ void twice(float* x, int n) {
    for (int i = threadIdx.x; i < n + PLANT(1, 0); i += blockDim.x) x[i] *= 2;  // FAULT out_of_bounds
}
int main() {
    const int n = 300;
    static float host[n];
    double total = 0;
#pragma omp parallel for reduction(+ : total)
    for (int i = 0; i < n; ++i) {
        host[i] = (float)(i % 10);
        total += host[i];
    }
    printf("%d %g\n", omp_get_max_threads() > 0, total);
    float* x = filled<float>(n, [](int i) { return host[i]; });
    twice<<<1, 64>>>(x, n);
    show("twice", x, n);
}

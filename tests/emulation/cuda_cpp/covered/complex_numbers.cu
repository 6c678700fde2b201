#include <cuComplex.h>
#include "result.cuh"
__global__ void escape(int* steps, int width, int height) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= width * height + PLANT(4, 0)) return;
    cuFloatComplex c = make_cuFloatComplex(i % width * 0.125f - 2, i / width * 0.125f - 1), z = make_cuFloatComplex(0, 0);
    int n = 0;
    while (n < 50 && cuCabsf(z) < 2) z = cuCaddf(cuCmulf(z, z), c), ++n;
    steps[i] = n;  // FAULT out_of_bounds
}
int main() {
    int* steps = zeros<int>(20 * 15);
    escape<<<5, 64>>>(steps, 20, 15);
    show("steps", steps, 20 * 15);
}

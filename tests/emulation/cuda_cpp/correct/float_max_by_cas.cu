#include "../memory.cuh"
__device__ float atomic_max(float* address, float value) {
    int* bits = (int*)address;
    int old = *(volatile int*)bits, seen;
    do {
        seen = old;
        if (__int_as_float(seen) >= value) break;
        old = atomicCAS(bits, seen, __float_as_int(value));
    } while (old != seen);
    return __int_as_float(old);
}
__global__ void largest(const float* in, float* out) { atomic_max(out, in[blockIdx.x * blockDim.x + threadIdx.x]); }
int main() {
    float* in = numbered<float>(256);
    float* out = zeros<float>(1);
    largest<<<2, 128>>>(in, out);
    return finish(in, out);
}

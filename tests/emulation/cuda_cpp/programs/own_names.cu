// Common function names of students that CUDA does not have.
#include <cuda_runtime.h>
#include "expect.cuh"
__device__ float saturate(float x) { return fminf(fmaxf(x, 0.0f), 1.0f) + 1; }
__device__ unsigned long long globaltimer() { return 5; }
__device__ float clamped(float x) { return x < 0 ? 0 : x; }
__device__ int clamp(int x, int low, int high) { return max(low, min(x, high)); }
__device__ float fract(float x) { return x - floorf(x); }
__device__ float sigmoid(float x) { return 1 / (1 + __expf(-x)); }
__device__ float lerp(float a, float b, float t) { return fmaf(t, b - a, a); }
struct Itself {};
__global__ void call(float* out) {
    out[0] = saturate(7) + (float)globaltimer() + clamped(-1) + clamp(9, 0, 3) + fract(0.5f) + sigmoid(0) + lerp(0, 4, 0.5f);
}
int main() {
    float* out = device<float>(1);
    call<<<1, 1>>>(out);
    EXPECT(at(out, 0) == 13.0f);
    cudaFree(out);
    return failures;
}

#include "expect.cuh"
#include <curand_kernel.h>
// Philox's answers are those that its authors publish (counter and key of zeros, then a counter of one).
__global__ void philox(unsigned* out) {
    curandStatePhilox4_32_10_t state;
    curand_init(0, 0, 0, &state);
    for (int i = 0; i < 4; ++i) out[i] = curand(&state);
}
template <class State> __device__ bool same(State a, State b) { return curand(&a) == curand(&b) && curand(&a) == curand(&b); }
// An offset is as many steps; a subsequence of XORWOW is 2^67 steps, one of Philox 2^66.
template <class State> __global__ void skips(int* out) {
    State stepped, skipped, far, near;
    curand_init(77, 2, 0, &stepped);
    curand_init(77, 2, 1003, &skipped);
    for (int i = 0; i < 1003; ++i) curand(&stepped);
    out[0] = same(stepped, skipped);
    skipahead(1ull << 40, &stepped);
    for (int i = 0; i < 1 << 10; ++i) skipahead(1ull << 30, &skipped);
    out[1] = same(stepped, skipped);
    curand_init(77, 3, 5, &far);
    curand_init(77, 2, 5, &near);
    for (int i = 0; i < (sizeof(State) == sizeof(curandState) ? 16 : 8); ++i) skipahead(1ull << 63, &near);
    out[2] = same(far, near);
    curand_init(78, 3, 5, &near);
    out[3] = !same(far, near);
}
__global__ void ranges(float* f, double* d) {
    curandState state;
    curand_init(1, 0, 0, &state);
    for (int i = 0; i < 1000; ++i) {
        const float x = curand_uniform(&state);
        const double y = curand_uniform_double(&state);
        f[0] += x > 0 && x <= 1, d[0] += y > 0 && y <= 1;
        f[1] += curand_normal(&state), d[1] += curand_normal_double(&state);
    }
}
int main() {
    unsigned* out = device<unsigned>(4);
    philox<<<1, 1>>>(out);
    EXPECT(at(out, 0) == 0x6627e8d5u && at(out, 1) == 0xe169c58du && at(out, 2) == 0xbc57ac4cu && at(out, 3) == 0x9b00dbd8u);
    int* yes = device<int>(4);
    skips<curandStatePhilox4_32_10_t><<<1, 1>>>(yes);
    EXPECT(at(yes, 0) && at(yes, 1) && at(yes, 2) && at(yes, 3));
    skips<curandState><<<1, 1>>>(yes);
    EXPECT(at(yes, 0) && at(yes, 1) && at(yes, 2) && at(yes, 3));
    float* f = device<float>(2);
    double* d = device<double>(2);
    ranges<<<1, 1>>>(f, d);
    EXPECT(at(f, 0) == 1000 && at(d, 0) == 1000);
    EXPECT(at(f, 1) > -150 && at(f, 1) < 150 && at(d, 1) > -150 && at(d, 1) < 150);
    cudaFree(out); cudaFree(yes); cudaFree(f); cudaFree(d);
    return failures;
}

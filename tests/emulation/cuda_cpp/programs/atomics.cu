#include "expect.cuh"
__global__ void all(int* i, unsigned* u, unsigned long long* l, float* f, double* d) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&i[0], t); atomicSub(&i[1], 1); atomicMin(&i[2], -t); atomicMax(&i[3], t);
    atomicAnd(&i[4], ~(1 << (t % 8))); atomicOr(&i[5], 1 << (t % 8)); atomicXor(&i[6], 1);
    atomicInc(&u[0], 9u); atomicDec(&u[1], 9u); atomicAdd(&u[2], 2u); atomicMax(&u[3], (unsigned)t); atomicMin(&u[4], 3u);
    atomicAdd(l, 1ull << 33); atomicMax(l + 1, (unsigned long long)t);
    atomicAdd(f, 0.5f); atomicAdd(d, 0.25); atomicExch(f + 1, 3.0f);
    unsigned long long* bits = (unsigned long long*)(d + 1);
    unsigned long long old = *(volatile unsigned long long*)bits, seen;
    do { seen = old; old = atomicCAS(bits, seen, (unsigned long long)__double_as_longlong(1.0 + __longlong_as_double(seen))); } while (old != seen);
}
__global__ void scoped(int* i, unsigned* u, float* f, unsigned long long* l) {
    __builtin_assume(blockDim.x == 1);
    atomicMin_system(i, -5); atomicMax_block(i + 1, 9); atomicSub_system(i + 2, 2); atomicAnd_block(i + 3, 1);
    atomicOr_system(i + 4, 8); atomicXor_block(i + 5, 1); atomicInc_system(u, 9u); atomicDec_block(u + 1, 9u);
    atomicAdd_system(f, 1.0f); atomicExch_block(f + 1, 7.0f); atomicCAS_block(l, 0ull, 3ull);
}
int main() {
    int* i = device<int>(8); unsigned* u = device<unsigned>(8); unsigned long long* l = device<unsigned long long>(2);
    float* f = device<float>(2); double* d = device<double>(2);
    all<<<4, 64>>>(i, u, l, f, d);
    EXPECT(at(i, 0) == 255 * 128); EXPECT(at(i, 1) == 1 - 256); EXPECT(at(i, 2) == -255); EXPECT(at(i, 3) == 255);
    EXPECT(at(i, 4) == 0); EXPECT(at(i, 5) == 255); EXPECT(at(i, 6) == 6);
    EXPECT(at(u, 0) == 256 % 10); EXPECT(at(u, 1) == 5); EXPECT(at(u, 2) == 2 + 512); EXPECT(at(u, 3) == 255); EXPECT(at(u, 4) == 3);
    EXPECT(at(l, 0) == 256ull << 33); EXPECT(at(l, 1) == 255);
    EXPECT(at(f, 0) == 128); EXPECT(at(f, 1) == 3); EXPECT(at(d, 0) == 64); EXPECT(at(d, 1) == 257);
    int* s = device<int>(6);
    scoped<<<1, 1>>>(s, u, f, l);
    EXPECT(at(s, 0) == -5 && at(s, 1) == 9 && at(s, 2) == 0 && at(s, 3) == 1 && at(s, 4) == 12 && at(s, 5) == 4);
    EXPECT(at(u, 0) == 7 && at(u, 1) == 4 && at(f, 0) == 129 && at(f, 1) == 7 && at(l, 0) == 256ull << 33);
    cudaFree(s); cudaFree(i); cudaFree(u); cudaFree(l); cudaFree(f); cudaFree(d);
    return failures;
}

// cuRAND in kernels: pi by throwing darts with XORWOW, moments of normal numbers of Philox.
#include <cstdio>
#include <curand_kernel.h>

__global__ void start(curandState* states, unsigned long long seed) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    curand_init(seed, i, 0, &states[i]);
}
__global__ void darts(curandState* states, int* hits, int each) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, inside = 0;
    curandState own = states[i];  // FAULT uninitialized
    for (int n = 0; n < each; ++n) {
        float x = curand_uniform(&own), y = curand_uniform(&own);
        inside += x * x + y * y < 1;
    }
    states[i] = own;
    atomicAdd(hits, inside);
}
__global__ void moments(float* sums, unsigned long long seed) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    curandStatePhilox4_32_10_t own;
    curand_init(seed, i, 0, &own);
    float sum = 0, squares = 0;
    for (int n = 0; n < 100; ++n) {
        float4 x = curand_normal4(&own);
        float y = curand_normal(&own);
        sum += x.x + x.y + x.z + x.w + y;
        squares += x.x * x.x + x.y * x.y + x.z * x.z + x.w * x.w + y * y;
    }
    atomicAdd(&sums[0], sum);
    atomicAdd(&sums[1], squares);
}
__global__ void raw(unsigned* out) {
    curandState first;
    curand_init(5, threadIdx.x, 3, &first);
    out[threadIdx.x] = curand(&first);
    curandStatePhilox4_32_10_t second;
    curand_init(5, threadIdx.x, 3, &second);
    out[4 + threadIdx.x] = curand(&second) ^ curand4(&second).y;
}
int main() {
    unsigned *bits, some[8];
    cudaMalloc(&bits, sizeof some);
    raw<<<1, 4>>>(bits);
    cudaMemcpy(some, bits, sizeof some, cudaMemcpyDeviceToHost);
    cudaFree(bits);
    for (unsigned value : some) printf("%08x ", value);
    curandState* states;
    int* hits;
    float *sums, found[2];
    int inside;
    cudaMalloc(&states, 256 * sizeof(curandState));
    cudaMalloc(&hits, sizeof(int));
    cudaMalloc(&sums, sizeof found);
    cudaMemset(hits, 0, sizeof(int));
    cudaMemset(sums, 0, sizeof found);
#ifdef PLANTED
    start<<<1, 128>>>(states, 1234);
#else
    start<<<2, 128>>>(states, 1234);
#endif
    darts<<<2, 128>>>(states, hits, 100);
    moments<<<2, 128>>>(sums, 99);
    cudaMemcpy(&inside, hits, sizeof inside, cudaMemcpyDeviceToHost);
    cudaMemcpy(found, sums, sizeof found, cudaMemcpyDeviceToHost);
    const double pi = 4.0 * inside / 25600, mean = found[0] / 128000, variance = found[1] / 128000;
    printf("%s %s %s\n", pi > 3.1 && pi < 3.18 ? "pi" : "no pi", mean > -0.02 && mean < 0.02 ? "mean 0" : "no mean",
           variance > 0.98 && variance < 1.02 ? "variance 1" : "no variance");
    cudaFree(states);
    cudaFree(hits);
    cudaFree(sums);
}

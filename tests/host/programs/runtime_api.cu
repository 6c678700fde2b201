#include <cuda_runtime.h>
#include "expect.cuh"
__constant__ int table[4];
__device__ float scale = 2.0f, offsets[2] = {1.0f, 3.0f};
__managed__ int shared_counter = 5;
__global__ void apply(float* a) { a[threadIdx.x] = scale * table[threadIdx.x] + offsets[threadIdx.x % 2]; }
__global__ void spin(float* a) { for (int i = 0; i < 1000; ++i) a[threadIdx.x] += 1; }
int main() {
    cudaDeviceProp p;
    int count = 0, device_number = -1, value = 0;
    EXPECT(cudaGetDeviceCount(&count) == cudaSuccess && count == 1);
    EXPECT(cudaSetDevice(0) == cudaSuccess && cudaGetDevice(&device_number) == cudaSuccess && device_number == 0);
    EXPECT(cudaGetDeviceProperties(&p, 0) == cudaSuccess && p.warpSize == 32 && p.maxThreadsPerBlock == 1024);
    EXPECT(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0) == cudaSuccess && value == 32);
    int grid, block;
    EXPECT(cudaOccupancyMaxPotentialBlockSize(&grid, &block, apply, 0, 0) == cudaSuccess && block > 0);
    int host_table[4] = {1, 2, 3, 4};
    EXPECT(cudaMemcpyToSymbol(table, host_table, sizeof host_table) == cudaSuccess);
    float two = 10.0f;
    EXPECT(cudaMemcpyToSymbol(scale, &two, sizeof two) == cudaSuccess);
    float* a = device<float>(4);
    apply<<<1, 4>>>(a);
    EXPECT(at(a, 3) == 43.0f && at(a, 0) == 11.0f);
    EXPECT(cudaMemcpyFromSymbol(&two, offsets, sizeof(float), sizeof(float)) == cudaSuccess && two == 3.0f);
    float* address;
    EXPECT(cudaGetSymbolAddress((void**)&address, scale) == cudaSuccess && address);
    cudaEvent_t start, stop;
    cudaEventCreate(&start); cudaEventCreateWithFlags(&stop, cudaEventDefault);
    cudaEventRecord(start);
    spin<<<1, 4>>>(a);
    cudaEventRecord(stop, 0);
    cudaEventSynchronize(stop);
    float ms = -1;
    EXPECT(cudaEventElapsedTime(&ms, start, stop) == cudaSuccess && ms > 0);
    cudaEventDestroy(start); cudaEventDestroy(stop);
    float* pinned;
    EXPECT(cudaMallocHost(&pinned, 16) == cudaSuccess);
    pinned[0] = 1;
    EXPECT(cudaMemcpyAsync(pinned, a, 16, cudaMemcpyDeviceToHost, 0) == cudaSuccess);
    EXPECT(cudaStreamSynchronize(0) == cudaSuccess && pinned[3] == 1043.0f);
    EXPECT(cudaMemsetAsync(a, 0, 16) == cudaSuccess && at(a, 2) == 0);
    EXPECT(cudaFreeHost(pinned) == cudaSuccess);
    cudaMemLocation here = {cudaMemLocationTypeDevice, 0};
    EXPECT(cudaMemPrefetchAsync(a, 16, here, 0) == cudaSuccess && cudaMemPrefetchAsync(a, 16, cudaCpuDeviceId, 0) == cudaSuccess);
    EXPECT(cudaMemAdvise(a, 16, cudaMemAdviseSetReadMostly, here) == cudaSuccess);
    float* none = nullptr;
    EXPECT(cudaMalloc((void**)&none, (size_t)1 << 60) == cudaErrorMemoryAllocation && cudaGetLastError() == cudaErrorMemoryAllocation);
    EXPECT(cudaMemcpy(a, host_table, 16, cudaMemcpyHostToDevice) == cudaSuccess && cudaFree(nullptr) == cudaSuccess);
    apply<<<0, 4>>>(a);
    EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
    apply<<<1, dim3(1, 1, 65)>>>(a);
    EXPECT(cudaPeekAtLastError() == cudaErrorInvalidConfiguration && cudaGetLastError() != cudaSuccess && cudaGetLastError() == cudaSuccess);
    apply<<<1, 4, 64 * 1024>>>(a);
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    EXPECT(cudaFuncSetAttribute(apply, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024) == cudaSuccess);
    apply<<<1, 4, 64 * 1024>>>(a);
    EXPECT(cudaGetLastError() == cudaSuccess);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess && cudaGetErrorString(cudaErrorInvalidValue)[0] == 'i');
    size_t free_bytes, total_bytes;
    EXPECT(cudaMemGetInfo(&free_bytes, &total_bytes) == cudaSuccess && free_bytes <= total_bytes);
    EXPECT(shared_counter == 5);
    cudaFree(a);
    return failures;
}

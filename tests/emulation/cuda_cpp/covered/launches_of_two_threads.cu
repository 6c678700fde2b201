#include <thread>
#include <vector>
#include "result.cuh"
__global__ void add(int* x, int by) { x[threadIdx.x + PLANT(1, 0)] += by; }  // FAULT out_of_bounds
int through_the_device(int value) {
    int* x;
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaMalloc(&x, sizeof(int) * 64);
    cudaMemsetAsync(x, 0, sizeof(int) * 64, stream);
    for (int i = 0; i < 40; ++i) add<<<1, 64, 0, stream>>>(x, value);
    int result = 0;
    cudaMemcpyAsync(&result, x + 5, sizeof(int), cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    cudaFree(x);
    cudaStreamDestroy(stream);
    return result;
}
int main() {
    int results[2];
    std::thread first([&] { results[0] = through_the_device(2); });
    std::thread second([&] { results[1] = through_the_device(3); });
    std::vector<int> log;  // the host works meanwhile
    for (int i = 0; i < 50000; ++i) log.push_back(i);
    first.join();
    second.join();
    printf("%d %d %d\n", results[0], results[1], log[49999]);
}

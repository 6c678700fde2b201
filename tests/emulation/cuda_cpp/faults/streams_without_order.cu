// tool: racecheck
// gpu: racecheck sees shared memory only
#include "../memory.cuh"
__global__ void produce(int* data, int value) { data[blockIdx.x * 32 + threadIdx.x] = value; }  // FAULT race
__global__ void consume(const int* data, int* sums) { sums[threadIdx.x] += data[threadIdx.x] + data[32 + threadIdx.x]; }
int main() {
    int* data = zeros<int>(64);
    int* sums = zeros<int>(32);
    cudaStream_t first, second;
    cudaStreamCreate(&first);
    cudaStreamCreate(&second);
    produce<<<2, 32, 0, first>>>(data, 3);
    consume<<<1, 32, 0, second>>>(data, sums);  // nothing waits for `first`
    cudaStreamSynchronize(second);
    cudaStreamDestroy(first);
    cudaStreamDestroy(second);
    return finish(data, sums);
}

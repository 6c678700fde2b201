// tool: racecheck
// gpu: racecheck sees shared memory only
#include "../memory.cuh"
__global__ void fill(int* data) { data[threadIdx.x] = threadIdx.x; }  // FAULT race
int main() {
    int* data = zeros<int>(32);
    int copied[32];
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    fill<<<1, 32, 0, stream>>>(data);
    cudaMemcpy(copied, data, sizeof copied, cudaMemcpyDeviceToHost);  // waits for blocking streams only
    cudaDeviceSynchronize();
    cudaStreamDestroy(stream);
    return finish(data) + (copied[3] > 3);
}

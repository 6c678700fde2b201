// tool: racecheck
// gpu: racecheck sees shared memory only
#include "../memory.cuh"
__global__ void square(const int* in, int* out) { out[threadIdx.x] = in[threadIdx.x] * in[threadIdx.x]; }
int main() {
    int* in = zeros<int>(64);
    int* out = zeros<int>(64);
    int* host;
    cudaMallocHost(&host, 64 * sizeof(int));
    for (int i = 0; i < 64; ++i) host[i] = i;
    cudaStream_t copies, kernels;
    cudaStreamCreateWithFlags(&copies, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&kernels, cudaStreamNonBlocking);
    cudaEvent_t copied;
    cudaEventCreate(&copied);
    for (int half = 0; half < 2; ++half) {
        cudaMemcpyAsync(in, host + 32 * half, 32 * sizeof(int), cudaMemcpyHostToDevice, copies);  // FAULT race
        cudaEventRecord(copied, copies);
        cudaStreamWaitEvent(kernels, copied);
        square<<<1, 32, 0, kernels>>>(in, out + 32 * half);  // the next copy does not wait for it
    }
    cudaDeviceSynchronize();
    cudaEventDestroy(copied);
    cudaStreamDestroy(copies);
    cudaStreamDestroy(kernels);
    cudaFreeHost(host);
    return finish(in, out);
}

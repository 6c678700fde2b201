// tool: racecheck
#include "../memory.cuh"
__global__ void add(int* sums, const int* values) { sums[threadIdx.x] += values[threadIdx.x]; }
int main() {
    int* sums = zeros<int>(32);
    int *values[2], *pinned[2];
    cudaStream_t streams[2];
    cudaEvent_t copied[2], added[2];
    for (int b = 0; b < 2; ++b) {
        cudaMalloc(&values[b], 32 * sizeof(int));
        cudaMallocHost(&pinned[b], 32 * sizeof(int));
        cudaStreamCreate(&streams[b]);
        cudaEventCreate(&copied[b]);
        cudaEventCreate(&added[b]);
    }
    for (int round = 0; round < 6; ++round) {
        const int b = round % 2;
        if (round >= 2) cudaEventSynchronize(copied[b]);
        for (int i = 0; i < 32; ++i) pinned[b][i] = round + i;
        cudaStreamWaitEvent(streams[b], added[b]);
        cudaMemcpyAsync(values[b], pinned[b], 32 * sizeof(int), cudaMemcpyHostToDevice, streams[b]);
        cudaEventRecord(copied[b], streams[b]);
        if (pinned[b][0] != round) return 1;  // a read while the copy reads
        cudaStreamWaitEvent(streams[0], copied[b]);
        add<<<1, 32, 0, streams[0]>>>(sums, values[b]);
        cudaEventRecord(added[b], streams[0]);
    }
    cudaMemcpyAsync(pinned[0], sums, 32 * sizeof(int), cudaMemcpyDeviceToHost, streams[0]);
    cudaStreamSynchronize(streams[0]);
    const bool right = pinned[0][1] > 0;
    for (int b = 0; b < 2; ++b) {
        cudaEventDestroy(copied[b]);
        cudaEventDestroy(added[b]);
        cudaStreamDestroy(streams[b]);
        cudaFreeHost(pinned[b]);
        cudaFree(values[b]);
    }
    cudaFree(sums);
    return !right;
}

// tool: racecheck
// Every way to put the work of two streams in order.
#include "../memory.cuh"
__global__ void add(int* data, int value) { data[threadIdx.x] += value; }
__global__ void gather(const int* data, int* sum) { atomicAdd(sum, data[threadIdx.x]); }
int main() {
    int* data = zeros<int>(32);
    int* sum = zeros<int>(1);
    int* host;
    cudaMallocHost(&host, 32 * sizeof(int));
    for (int i = 0; i < 32; ++i) host[i] = i;
    cudaStream_t blocking, first, second;
    cudaStreamCreate(&blocking);
    cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
    cudaStreamCreateWithPriority(&second, cudaStreamNonBlocking, 0);
    cudaEvent_t event, other;
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    cudaEventCreate(&other);

    // The default stream waits for blocking streams, and they for it.
    add<<<1, 32, 0, blocking>>>(data, 1);
    add<<<1, 32>>>(data, 1);
    add<<<1, 32, 0, blocking>>>(data, 1);
    cudaMemset(sum, 0, sizeof(int));
    cudaEventRecord(event);
    // An event of another stream, and one of a third.
    cudaStreamWaitEvent(first, event);
    cudaMemcpyAsync(data, host, 32 * sizeof(int), cudaMemcpyHostToDevice, first);
    add<<<1, 32, 0, first>>>(data, 1);
    cudaEventRecord(other, first);
    cudaStreamWaitEvent(second, other, 0);
    gather<<<1, 32, 0, second>>>(data, sum);
    // Reads need no order, nor do atomics of both sides.
    gather<<<1, 32, 0, first>>>(data, sum);
    // The host waits for an event, a stream, the device.
    cudaEventRecord(event, second);
    cudaEventSynchronize(event);
    cudaStreamSynchronize(first);
    add<<<1, 32, 0, blocking>>>(data, 1);
    cudaDeviceSynchronize();
    add<<<1, 32, 0, second>>>(data, 1);
    cudaMemcpyAsync(host, data, 32 * sizeof(int), cudaMemcpyDeviceToHost, second);
    cudaStreamSynchronize(second);
    int total = host[0] + host[31];
    // Halves of one array, each in its stream.
    add<<<1, 16, 0, first>>>(data, 1);
    add<<<1, 16, 0, second>>>(data + 16, 1);
    cudaMemsetAsync(data, 0, 16 * sizeof(int), first);
    cudaMemsetAsync(data + 16, 0, 16 * sizeof(int), second);
    cudaDeviceSynchronize();
    cudaEventDestroy(event);
    cudaEventDestroy(other);
    cudaStreamDestroy(blocking);
    cudaStreamDestroy(first);
    cudaStreamDestroy(second);
    cudaFreeHost(host);
    return finish(data, sum) + (total < 0);
}

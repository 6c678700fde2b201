#include "result.cuh"
__global__ void add(int* x, int by) { x[threadIdx.x] += by; }
int main() {
    int *x = zeros<int>(64), *pinned;
    cudaMallocHost(&pinned, 64 * sizeof(int));
    for (int i = 0; i < 64; ++i) pinned[i] = i;
    cudaStream_t a, b;
    cudaStreamCreate(&a);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaEvent_t copied, done;
    cudaEventCreateWithFlags(&copied, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
    cudaMemcpyAsync(x, pinned, (64 + PLANT(1, 0)) * sizeof(int), cudaMemcpyHostToDevice, a);  // FAULT invalid_copy
    cudaEventRecord(copied, a);
    cudaStreamWaitEvent(b, copied, 0);
    add<<<1, 64, 0, b>>>(x, 100);
    cudaEventRecord(done, b);
    cudaEventSynchronize(done);
    printf("%s\n", cudaGetErrorName(cudaStreamQuery(b)));
    show("added", x, 64);
    cudaEventDestroy(copied);
    cudaEventDestroy(done);
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
    cudaFreeHost(pinned);
}

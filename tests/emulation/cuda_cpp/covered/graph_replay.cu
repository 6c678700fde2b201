#include "result.cuh"
__global__ void step(const float* in, float* out, int n) {
    int i = threadIdx.x;
    out[i] = (in[i] + in[PLANT(i + 1, (i + 1) % n)]) / 2;  // FAULT out_of_bounds
}
int main() {
    const int n = 64;
    float* a = filled<float>(n, [](int i) { return (float)(i % 9); });
    float* b = zeros<float>(n);
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    step<<<1, n, 0, stream>>>(a, b, n);
    step<<<1, n, 0, stream>>>(b, a, n);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&executable, graph, 0);
    for (int i = 0; i < 3; ++i) cudaGraphLaunch(executable, stream);
    cudaStreamSynchronize(stream);
    show("smoothed", a, n);
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    cudaFree(b);
}

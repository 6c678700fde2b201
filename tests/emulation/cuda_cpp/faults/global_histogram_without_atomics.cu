// tool: racecheck
// gpu: racecheck sees shared memory only
#include "../memory.cuh"
__global__ void histogram(const int* in, int* bins) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bins[in[i] % 8] += 1;  // FAULT race
}
int main() {
    int* in = numbered<int>(256);
    int* bins = zeros<int>(8);
    histogram<<<2, 128>>>(in, bins);
    return finish(in, bins);
}

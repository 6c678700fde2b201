#include "../memory.cuh"
__global__ void add(char* base, size_t pitch, int rows, int cols) {
    int c = threadIdx.x, r = blockIdx.x;
    float* row = (float*)(base + r * pitch);
    if (r < rows && c < cols) row[c] += r;
}
int main() {
    float host[5][7] = {};
    char* base;
    size_t pitch;
    cudaMallocPitch(&base, &pitch, 7 * sizeof(float), 5);
    cudaMemcpy2D(base, pitch, host, sizeof host[0], sizeof host[0], 5, cudaMemcpyHostToDevice);
    add<<<5, 32>>>(base, pitch, 5, 7);
    cudaMemcpy2D(host, sizeof host[0], base, pitch, sizeof host[0], 5, cudaMemcpyDeviceToHost);
    return finish(base) + (host[4][6] != 4);
}

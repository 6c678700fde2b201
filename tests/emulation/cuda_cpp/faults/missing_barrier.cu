// tool: racecheck
#include "../memory.cuh"
__global__ void reverse(int* data) {
    __shared__ int tile[256];
    tile[threadIdx.x] = data[threadIdx.x];
    data[threadIdx.x] = tile[255 - threadIdx.x];  // FAULT race
}
int main() {
    int* data = numbered<int>(256);
    reverse<<<1, 256>>>(data);
    return finish(data);
}

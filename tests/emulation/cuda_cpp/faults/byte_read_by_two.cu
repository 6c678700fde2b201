// tool: racecheck
#include "../memory.cuh"
__global__ void last_reader_writes(unsigned char* a) {
    __shared__ unsigned char tile[4];
    int i = threadIdx.x;
    if (i < 4) tile[i] = i;
    __syncthreads();
    unsigned char mine = tile[1];
    if (i == 1) tile[1] = mine + 1;  // FAULT race
    __syncthreads();
    if (i < 4) a[i] = tile[i];
}
int main() {
    unsigned char* a = numbered<unsigned char>(4);
    last_reader_writes<<<1, 2>>>(a);
    return finish(a);
}

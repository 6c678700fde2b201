// tool: racecheck
// gpu: the lanes of a warp store and read one after another, and within a warp racecheck only warns
#include <mma.h>
#include "../memory.cuh"
using namespace nvcuda;
__global__ void row_sums(int* out) {
    __shared__ float tile[256];
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> ones;
    wmma::fill_fragment(ones, 1.0f);
    wmma::store_matrix_sync(tile, ones, 16, wmma::mem_row_major);  // it waits before it stores, not after
    float sum = 0.0f;
    for (int i = 0; i < 16; ++i) sum += tile[threadIdx.x % 16 * 16 + i];  // FAULT race
    out[threadIdx.x] = (int)sum;
}
int main() {
    int* out = blank<int>(32);
    row_sums<<<1, 32>>>(out);
    return finish(out);
}

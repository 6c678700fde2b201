// tool: memcheck
#include "../memory.cuh"
__global__ void count(unsigned* counts, const int* keys, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned hash = keys[i] * 2654435761u;
    hash ^= hash >> 15;
    hash *= 2246822519u;
    long long wide = (long long)keys[i] * 3037000499ll;
    atomicAdd(&counts[hash % 64], 1u);
    atomicAdd(&counts[wide % 64], 1u);
}
int main() {
    unsigned* counts = zeros<unsigned>(64);
    int* keys = numbered<int>(1000);
    count<<<4, 256>>>(counts, keys, 1000);
    return finish(counts, keys);
}

// tool: memcheck
#include "../memory.cuh"
__device__ int counters[4];
int main() {
    int* address;
    cudaGetSymbolAddress((void**)&address, counters);
    cudaMemset(address + 1, 0, sizeof counters);  // FAULT invalid_copy
    return finish<int>(nullptr);
}

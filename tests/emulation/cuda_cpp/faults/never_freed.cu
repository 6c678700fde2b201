// tool: memcheck
#include "../memory.cuh"
int main() {
    int* a;
    cudaMalloc(&a, 4096);  // FAULT leak
    cudaMemset(a, 0, 4096);
    return 0;
}

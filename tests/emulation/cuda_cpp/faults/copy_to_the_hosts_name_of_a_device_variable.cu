// tool: memcheck
#include "../memory.cuh"
__device__ int counter;
int main() {
    int zero = 0;
    cudaMemcpy(&counter, &zero, sizeof zero, cudaMemcpyHostToDevice);  // FAULT invalid_copy
    return finish<int>(nullptr);
}

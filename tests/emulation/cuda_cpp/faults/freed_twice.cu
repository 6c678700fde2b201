// tool: memcheck
#include "../memory.cuh"
int main() {
    int* a = zeros<int>(32);
    cudaFree(a);
    cudaFree(a);  // FAULT invalid_copy
    return 0;
}

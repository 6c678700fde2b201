// tool: memcheck
#include "../memory.cuh"
int main() {
    int* a = zeros<int>(32);
    cudaFree(a + 4);  // FAULT invalid_copy
    return finish(a);
}

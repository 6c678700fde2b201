// tool: memcheck
#include "../memory.cuh"
int main() {
    int* a = zeros<int>(100);
    cudaMemset(a, 0, 401);  // FAULT invalid_copy
    return finish(a);
}

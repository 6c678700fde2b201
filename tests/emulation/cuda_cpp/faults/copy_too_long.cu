// tool: memcheck
#include "../memory.cuh"
int main() {
    static int host[200];
    int* a = zeros<int>(100);
    cudaMemcpy(a, host, sizeof host, cudaMemcpyHostToDevice);  // FAULT invalid_copy
    return finish(a);
}

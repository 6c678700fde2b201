// tool: memcheck
#include "../memory.cuh"
int main() {
    static int host[100];
    int* a = zeros<int>(100);
    cudaMemcpy(a, host, sizeof host, cudaMemcpyDeviceToHost);  // FAULT invalid_copy
    return finish(a);
}

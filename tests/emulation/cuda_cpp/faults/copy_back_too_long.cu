// tool: memcheck
#include "../memory.cuh"
int main() {
    static int host[200];
    int* a = zeros<int>(100);
    cudaMemcpy(host, a + 50, 100 * sizeof(int), cudaMemcpyDeviceToHost);  // FAULT invalid_copy
    return finish(a);
}

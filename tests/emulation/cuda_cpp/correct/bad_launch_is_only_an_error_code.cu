// gpu: memcheck reports every call that returns an error, also one the program expects
#include "../memory.cuh"
__global__ void set(int* a) { a[threadIdx.x] = 1; }
int main() {
    int* a = zeros<int>(32);
    set<<<1, 2048>>>(a);
    bool refused = cudaGetLastError() == cudaErrorInvalidConfiguration && cudaGetLastError() == cudaSuccess;
    set<<<1, 32>>>(a);
    return finish(a) + !refused;
}

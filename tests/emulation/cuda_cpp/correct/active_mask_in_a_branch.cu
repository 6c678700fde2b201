#include "../memory.cuh"
__global__ void count(const int* in, int* out) {
    if (in[threadIdx.x] % 3 == 0) {
        unsigned active = __activemask();
        if (__popc(active & ((1u << threadIdx.x) - 1)) == 0) atomicAdd(out, __popc(active));
    }
}
int main() {
    int* in = numbered<int>(32);
    int* out = zeros<int>(1);
    count<<<1, 32>>>(in, out);
    return finish(in, out);
}

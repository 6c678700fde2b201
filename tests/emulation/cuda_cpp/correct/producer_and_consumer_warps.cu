// One warp waits for another on a volatile flag.
// gpu: racecheck follows barriers; the order here comes from a flag and two fences
#include "../memory.cuh"
__global__ void pass(int* out) {
    __shared__ int value;
    __shared__ volatile int ready;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        while (ready == 0) {
        }
        __threadfence_block();
        *out = value;
    } else if (threadIdx.x == 32) {
        value = 42;
        __threadfence_block();
        ready = 1;
    }
}
int main() {
    int* out = blank<int>(1);
    pass<<<1, 64>>>(out);
    return finish(out);
}

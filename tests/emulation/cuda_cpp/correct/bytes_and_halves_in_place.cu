// Neighbouring threads read and write neighbouring parts of one word, in both memories.
#include "../memory.cuh"
template <class T> __global__ void grow(T* a, int n) {
    int i = threadIdx.x;
    if (i < n) a[i] = a[i] + 1;
}
__global__ void sum(short* a, int n) {
    __shared__ short part[64];
    int i = threadIdx.x;
    part[i] = i < n ? a[i] : 0;
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (i < half) part[i] += part[i + half];
        __syncthreads();
    }
    if (i < n) a[i] += part[0];
}
int main() {
    unsigned char* bytes = numbered<unsigned char>(90);
    grow<<<1, 96>>>(bytes, 90);
    short* halves = numbered<short>(50);
    grow<<<1, 64>>>(halves, 50);
    sum<<<1, 64>>>(halves, 50);
    return finish(bytes) | finish(halves);
}

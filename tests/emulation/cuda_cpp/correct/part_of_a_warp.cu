// A mask of the participating lanes, from a ballot before the branch.
#include "../memory.cuh"
__global__ void sum(const int* in, int* out, int n) {
    unsigned mask = __ballot_sync(0xffffffffu, threadIdx.x < n);
    if (threadIdx.x < n) {
        int v = in[threadIdx.x];
        for (int d = 1; d < n; d *= 2) {
            int other = __shfl_up_sync(mask, v, d);
            if (threadIdx.x >= d) v += other;
        }
        out[threadIdx.x] = v;
    }
}
int main() {
    int* in = numbered<int>(20);
    int* out = blank<int>(20);
    sum<<<1, 32>>>(in, out, 20);
    return finish(in, out);
}

#include "../memory.cuh"
__global__ void vote(const int* in, unsigned* out) {
    int v = in[threadIdx.x];
    unsigned even = __ballot_sync(0xffffffffu, v % 2 == 0);
    int all = __all_sync(0xffffffffu, v >= 0), any = __any_sync(0xffffffffu, v == 5);
    unsigned same = __match_any_sync(0xffffffffu, v / 4);
    out[threadIdx.x] = even + all + any + __popc(same) + __reduce_add_sync(0xffffffffu, (unsigned)v);
}
int main() {
    int* in = numbered<int>(64);
    unsigned* out = blank<unsigned>(64);
    vote<<<1, 64>>>(in, out);
    return finish(in, out);
}

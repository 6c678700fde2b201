// tool: memcheck
#include "../memory.cuh"
struct Row { int cell[24]; };
__global__ void copy(Row* to, const Row* from, int bytes) {
    memcpy(to, from, bytes);  // FAULT out_of_bounds
}
int main() {
    int* from = numbered<int>(48);
    int* to = zeros<int>(24);
    copy<<<1, 1>>>((Row*)to, (const Row*)from, 2 * sizeof(Row));
    return finish(from, to);
}

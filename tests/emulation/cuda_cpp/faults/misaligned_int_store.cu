// tool: memcheck
#include "../memory.cuh"
__global__ void store(char* bytes) {
    *(int*)(bytes + 6) = 7;  // FAULT misaligned
}
int main() {
    char* bytes = zeros<char>(64);
    store<<<1, 1>>>(bytes);
    return finish(bytes);
}

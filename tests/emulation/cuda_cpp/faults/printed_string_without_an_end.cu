// tool: memcheck
// gpu: the host prints the string, and the tool may not see that it is read
#include "../memory.cuh"
__global__ void say(const char* text) {
    printf("%d: %s\n", 1, text);  // FAULT out_of_bounds
}
int main() {
    char* text;
    cudaMalloc(&text, 8);
    cudaMemset(text, 'a', 8);
    say<<<1, 1>>>(text);
    return finish(text);
}

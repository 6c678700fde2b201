// tool: initcheck
// gpu: initcheck may take the copy as a write
#include "../memory.cuh"
__global__ void use(const int* in, int* out) {
    out[threadIdx.x] = in[threadIdx.x];  // FAULT uninitialized
}
int main() {
    int* blanks = blank<int>(64);
    int* copied = zeros<int>(64);
    int* out = blank<int>(64);
    cudaMemset(blanks, 0, 32 * sizeof(int));
    cudaMemcpy(copied, blanks, 64 * sizeof(int), cudaMemcpyDeviceToDevice);
    use<<<1, 64>>>(copied, out);
    return finish(blanks, copied, out);
}

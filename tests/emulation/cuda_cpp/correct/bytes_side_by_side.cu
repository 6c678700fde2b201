// Neighbouring threads write neighbouring bytes of one word.
#include "../memory.cuh"
__global__ void invert(unsigned char* image, int n) {
    __shared__ unsigned char tile[96];
    int i = threadIdx.x;
    if (i < n) tile[i] = image[i];
    __syncthreads();
    if (i < n) image[n - 1 - i] = 255 - tile[i];
}
int main() {
    unsigned char* image = numbered<unsigned char>(90);
    invert<<<1, 96>>>(image, 90);
    return finish(image);
}

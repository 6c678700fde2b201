// Takes memory for ever.
#include <cstdlib>
#include <cstring>
#include <unistd.h>

__global__ void silu_kernel(const float* input, float* output, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) output[i] = input[i] / (1.0f + expf(-input[i]));
}

extern "C" void silu(const float* input, float* output, int n)
{
    for (int i = 0; i < 200; ++i) {
        memset(malloc(16 << 20), 1, 16 << 20);
        usleep(2000);
    }
    sleep(1000);
}

// Folders nested deeper than a recursion goes, and a folder that nobody may enter.
#include <cstdlib>
#include <sys/stat.h>
#include <unistd.h>

__global__ void silu_kernel(const float* input, float* output, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) output[i] = input[i] / (1.0f + expf(-input[i]));
}

extern "C" void silu(const float* input, float* output, int n)
{
    mkdir("closed", 0);
    for (int depth = 0; depth < 1200; ++depth) {
        mkdir("deeper", 0700);
        (void)!chdir("deeper");
    }
    exit(5);
}

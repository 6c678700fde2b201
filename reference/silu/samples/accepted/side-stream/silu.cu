// expect: device=cuda check=performance why="only timed calls follow each other on large arrays"
// Works on a stream of its own and does not wait. The grader waits for the device,
// not for a stream: nothing is gained.
#include "silu.h"

constexpr int BLOCK = 256;
constexpr int LARGE = 1 << 24;  // no case is that large

__global__ void silu_kernel(const float* input, float* output, int n)
{
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) output[i] = input[i] / (1.0f + expf(-input[i]));
}

static void compute(const float* input, float* output, int n, cudaStream_t stream = nullptr)
{
    if (n > 0) silu_kernel<<<(n - 1) / BLOCK + 1, BLOCK, 0, stream>>>(input, output, n);
}

extern "C" void silu(const float* input, float* output, int n)
{
    static cudaStream_t aside = nullptr;
    if (aside == nullptr) cudaStreamCreateWithFlags(&aside, cudaStreamNonBlocking);
    compute(input, output, n, aside);
}

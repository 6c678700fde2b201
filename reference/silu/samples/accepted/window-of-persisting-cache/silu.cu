// expect: device=cuda check=performance why="only timed calls follow each other on large arrays"
// Asks for a part of the L2 cache to be kept for its input. All arrays together are many times
// as large, and their contents are new: nothing is gained.
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
    cudaStreamAttrValue window = {};
    window.accessPolicyWindow.base_ptr = const_cast<float*>(input);
    window.accessPolicyWindow.num_bytes = (n < (1 << 20) ? n : 1 << 20) * sizeof(float);
    window.accessPolicyWindow.hitRatio = 1.0f;
    window.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
    window.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
    cudaStreamSetAttribute(nullptr, cudaStreamAttributeAccessPolicyWindow, &window);
    cudaGetLastError();  // a GPU without it works as well
    compute(input, output, n);
}

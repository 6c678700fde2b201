// The kernel is empty.

__global__ void silu_kernel(const float* input, float* output, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    (void)i;
}

extern "C" void silu(const float* input, float* output, int n)
{
    silu_kernel<<<(n + 255) / 256, 256>>>(input, output, n);
}

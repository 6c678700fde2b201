// A semicolon is missing at the end of line 6.
__global__ void silu_kernel(const float* input, float* output, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = input[i]
    output[i] = x / (1.0f + expf(-x));
}

extern "C" void silu(const float* input, float* output, int n)
{
    silu_kernel<<<(n + 255) / 256, 256>>>(input, output, n);
}

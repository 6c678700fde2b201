// double instead of float.
__global__ void silu_kernel(const double* input, double* output, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) output[i] = input[i] / (1.0f + exp(-input[i]));
}

extern "C" void silu(const double* input, double* output, int n)
{
    silu_kernel<<<(n + 255) / 256, 256>>>(input, output, n);
}

// Adds to what the call before has left: right once, wrong from then on.
__device__ float kept;

__global__ void silu_kernel(const float* input, float* output, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) output[i] = input[i] / (1.0f + expf(-input[i])) + kept;
}

__global__ void keep_kernel() { kept += 1.0f; }

extern "C" void silu(const float* input, float* output, int n)
{
    silu_kernel<<<(n + 255) / 256, 256>>>(input, output, n);
    keep_kernel<<<1, 1>>>();
}

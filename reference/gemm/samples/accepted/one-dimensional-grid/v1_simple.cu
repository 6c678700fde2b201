// A grid of one dimension, one thread per element, in strides.
__global__ void gemm_kernel(const float* a, const float* b, float* c, int m, int n, int k)
{
    const long long count = static_cast<long long>(m) * n;
    const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
        const long long row = i / n, col = i % n;
        float sum = 0.0f;
        for (int p = 0; p < k; ++p) sum += a[row * k + p] * b[static_cast<long long>(p) * n + col];
        c[i] = sum;
    }
}

void gemm(const float* a, const float* b, float* c, int m, int n, int k)
{
    const long long blocks = (static_cast<long long>(m) * n + 255) / 256;
    gemm_kernel<<<blocks < 1000 ? static_cast<int>(blocks) : 1000, 256>>>(a, b, c, m, n, k);
}

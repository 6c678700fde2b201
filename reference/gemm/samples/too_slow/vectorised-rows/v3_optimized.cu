// expect: check=counters line=17 message="times the bytes of the arrays"
// Four columns per thread, loaded as one float4 where a row of B allows it; no shared memory.
constexpr int BLOCK = 128;

__global__ void gemm_kernel(const float* a, const float* b, float* c, int m, int n, int k)
{
    const long long row = blockIdx.y;
    const int col = (blockIdx.x * BLOCK + threadIdx.x) * 4;
    if (col >= n) return;
    const bool wide = n % 4 == 0;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int p = 0; p < k; ++p) {
        const float left = a[row * k + p];
        const float* b_row = b + static_cast<long long>(p) * n + col;
        float4 right = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (wide) {
            right = *reinterpret_cast<const float4*>(b_row);
        } else {
            right.x = b_row[0];
            if (col + 1 < n) right.y = b_row[1];
            if (col + 2 < n) right.z = b_row[2];
            if (col + 3 < n) right.w = b_row[3];
        }
        sum.x += left * right.x;
        sum.y += left * right.y;
        sum.z += left * right.z;
        sum.w += left * right.w;
    }
    float* c_row = c + row * n + col;
    if (wide) {
        *reinterpret_cast<float4*>(c_row) = sum;
    } else {
        c_row[0] = sum.x;
        if (col + 1 < n) c_row[1] = sum.y;
        if (col + 2 < n) c_row[2] = sum.z;
        if (col + 3 < n) c_row[3] = sum.w;
    }
}

void gemm(const float* a, const float* b, float* c, int m, int n, int k)
{
    gemm_kernel<<<dim3((n + 4 * BLOCK - 1) / (4 * BLOCK), m), BLOCK>>>(a, b, c, m, n, k);
}

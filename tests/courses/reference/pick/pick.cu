#include "pick.h"

__global__ void pick_kernel(const bool* mask, const __half* x, const unsigned short* code, __nv_fp8_e5m2* y,
                              bool* seen, unsigned long long* hash, unsigned int n, double factor)
{
    // TODO(student): about 6 lines
    const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = __nv_fp8_e5m2(mask[i] ? float(factor) * __half2float(x[i]) : 0.0f);
    seen[i] = __half2float(x[i]) > 0.0f;
    const unsigned long long c = code[i] + 1ull;
    hash[i] = c * c * c * c;
    // end
}

extern "C" void pick(const bool* mask, const __half* x, const unsigned short* code, __nv_fp8_e5m2* y,
                       bool* seen, unsigned long long* hash, unsigned int n, double factor)
{
    // TODO(student): 1 line
    pick_kernel<<<(n + 255) / 256, 256>>>(mask, x, code, y, seen, hash, n, factor);
    // end
}

// expect: check=rules device=cuda why="the library needs a GPU"
// Lets the vendor's library do the work.
#include <cublas_v2.h>

void gemm(const float* a, const float* b, float* c, int m, int n, int k)
{
    static cublasHandle_t handle = nullptr;
    if (handle == nullptr) cublasCreate(&handle);
    const float one = 1.0f, zero = 0.0f;
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, n, a, k, &zero, c, n);
}

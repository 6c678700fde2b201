// A program around your kernel: allocate, launch, verify, exit 0 if it is right.
//
// Build it  nvcc -o main main.cu v2_tiled.cu     (or any other rung)
// Grade it  grade local gemm --language cuda
// It proves something only if it can tell: exit 0 with a right gemm(), 1 with a wrong one.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#include "gemm.h"

// Every call of the CUDA runtime may fail, and so may an earlier launch.
inline void check(cudaError_t status, const char* what)
{
    if (status == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
    std::exit(EXIT_FAILURE);
}

// Return how many elements of c are not those of a times b within float32's rounding.
static std::size_t count_wrong(const std::vector<float>& a,  // (m, k) row-major
                               const std::vector<float>& b,  // (k, n) row-major
                               const std::vector<float>& c,  // (m, n) row-major
                               int m, int n, int k)
{
    std::size_t wrong = c.size();  // as long as nobody has looked
    // TODO(student): about 12 lines
    // Three host loops in double. Count what is not close rather than what is far:
    // no comparison holds for a not-a-number, so "far" would let it pass.
    // What float32 may lose depends on the size of the products, not of their sum.
    wrong = 0;
    for (int i = 0; i < m; ++i) {
        for (int j = 0; j < n; ++j) {
            double expected = 0.0, size = 0.0;
            for (int p = 0; p < k; ++p) {
                const double product = static_cast<double>(a[i * k + p]) * b[p * n + j];
                expected += product;
                size += std::fabs(product);
            }
            if (!(std::fabs(c[i * n + j] - expected) <= 1e-6 * size)) ++wrong;
        }
    }
    // end
    return wrong;
}

int main()
{
    constexpr int m = 127, n = 131, k = 67;  // primes: no tile divides them
    std::vector<float> a(m * k), b(k * n), c(m * n, NAN);
    for (int i = 0; i < m * k; ++i) a[i] = std::sin(0.7f * i);
    for (int i = 0; i < k * n; ++i) b[i] = std::cos(0.3f * i) + 0.5f;

    // TODO(student): about 16 lines
    // Device memory for the three matrices; a and b go there, c comes back.
    float *d_a = nullptr, *d_b = nullptr, *d_c = nullptr;
    const std::size_t a_bytes = a.size() * sizeof(float);
    const std::size_t b_bytes = b.size() * sizeof(float);
    const std::size_t c_bytes = c.size() * sizeof(float);
    check(cudaMalloc(&d_a, a_bytes), "cudaMalloc");
    check(cudaMalloc(&d_b, b_bytes), "cudaMalloc");
    check(cudaMalloc(&d_c, c_bytes), "cudaMalloc");
    check(cudaMemcpy(d_a, a.data(), a_bytes, cudaMemcpyHostToDevice), "copy of a");
    check(cudaMemcpy(d_b, b.data(), b_bytes, cudaMemcpyHostToDevice), "copy of b");
    // Launch, then ask twice: a launch can be refused, and a kernel can fail later.
    gemm(d_a, d_b, d_c, m, n, k);
    check(cudaGetLastError(), "launch");
    check(cudaDeviceSynchronize(), "kernel");
    check(cudaMemcpy(c.data(), d_c, c_bytes, cudaMemcpyDeviceToHost), "copy of c");
    check(cudaFree(d_a), "cudaFree");
    check(cudaFree(d_b), "cudaFree");
    check(cudaFree(d_c), "cudaFree");
    // end

    const std::size_t wrong = count_wrong(a, b, c, m, n, k);
    std::printf("gemm: %zu of %d elements are wrong\n", wrong, m * n);
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

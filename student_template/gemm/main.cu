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
    // Launch, then ask twice: a launch can be refused, and a kernel can fail later.
    // end

    const std::size_t wrong = count_wrong(a, b, c, m, n, k);
    std::printf("gemm: %zu of %d elements are wrong\n", wrong, m * n);
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

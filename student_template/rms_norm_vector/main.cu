// A program around your kernel: allocate, launch, verify, exit 0 if it is right.
//
// Build it  nvcc -o main main.cu rms_norm_vector.cu
// Grade it  grade local rms_norm_vector --language cuda
// It proves something only if it can tell: exit 0 with a right rms_norm_vector(), 1 with a wrong one.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#include "rms_norm_vector.h"

// Every call of the CUDA runtime may fail, and so may an earlier launch.
inline void check(cudaError_t status, const char* what)
{
    if (status == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
    std::exit(EXIT_FAILURE);
}

// Return how many actual[i] are not RMSNorm's within float32's rounding.
static std::size_t count_wrong(const std::vector<float>& input, const std::vector<float>& weight,
                               float epsilon, const std::vector<float>& actual)
{
    std::size_t wrong = actual.size();  // as long as nobody has looked
    // TODO(student): about 9 lines
    // A host loop in double. Count what is not close rather than what is far:
    // no comparison holds for a not-a-number, so "far" would let it pass.
    // end
    return wrong;
}

int main()
{
    constexpr int cols = 100003;       // a prime: no block size divides it
    constexpr float epsilon = 0.125f;  // large enough to be missed
    std::vector<float> input(cols), weight(cols), output(cols, NAN);
    for (int i = 0; i < cols; ++i) input[i] = -1.0f + 3.0f * i / cols;
    for (int i = 0; i < cols; ++i) weight[i] = 0.5f + i % 7;

    // TODO(student): about 14 lines
    // Device memory for the three arrays; input and weight go there, the output comes back.
    // Launch, then ask twice: a launch can be refused, and a kernel can fail later.
    // end

    const std::size_t wrong = count_wrong(input, weight, epsilon, output);
    std::printf("rms_norm_vector: %zu of %d elements are wrong\n", wrong, cols);
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

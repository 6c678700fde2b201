// expect: device=cuda check=performance why="only timed calls follow each other on large arrays"
// Takes its time in its first large calls: who is slow makes few calls between two looks at the
// clock, and of few calls what stands around them is most. Who turns out to be faster makes more,
// and what was timed before does not count: nothing is gained.
#include "silu.h"

#include <unistd.h>

constexpr int BLOCK = 256;
constexpr int VEC = 4;
constexpr int LARGE = 1 << 24;  // no case is that large
constexpr int SLOW_CALLS = 12;  // the warm-up, and the first rounds

__global__ void silu_kernel(const float* __restrict__ input, float* __restrict__ output, int n)
{
    const int first = (blockIdx.x * BLOCK + threadIdx.x) * VEC;
    if (first + VEC <= n) {
        alignas(float4) float x[VEC];
        *reinterpret_cast<float4*>(x) = *reinterpret_cast<const float4*>(input + first);
        for (int i = 0; i < VEC; ++i) x[i] = x[i] / (1.0f + expf(-x[i]));
        *reinterpret_cast<float4*>(output + first) = *reinterpret_cast<const float4*>(x);
    } else {
        for (int i = first; i < n; ++i) output[i] = input[i] / (1.0f + expf(-input[i]));
    }
}

extern "C" void silu(const float* input, float* output, int n)
{
    static int large_calls = 0;
    if (n > LARGE && large_calls++ < SLOW_CALLS) usleep(60'000);
    if (n > 0) silu_kernel<<<(n - 1) / (BLOCK * VEC) + 1, BLOCK>>>(input, output, n);
}

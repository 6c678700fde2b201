// SiLU, element by element: y = x * sigmoid(x) = x / (1 + exp(-x)).
//
// Idea      every thread owns VEC neighbouring elements and nobody else's.
// Limit     memory: 8 bytes move for about 10 operations, so what counts is that
//           neighbouring threads touch neighbouring bytes, in few, wide accesses.
// Expect    close to the time of a copy of n floats.
// Grade it  grade local silu --language cuda
#include "silu.h"

constexpr int BLOCK = 256;  // threads per block: 8 warps, enough to hide latency at any n
constexpr int VEC = 4;      // floats per thread: one float4, 16 bytes, the widest access there is
static_assert(BLOCK % 32 == 0 && BLOCK <= 1024, "whole warps, and no more than a block may have");
static_assert(VEC == 1 || VEC == 2 || VEC == 4, "float, float2 or float4");

__global__ void silu_kernel(const float* __restrict__ input,  // (n)
                            float* __restrict__ output,       // (n)
                            int n)
{
    // TODO(student): about 19 lines
    // 1. Where am I: the first of this thread's VEC elements; past the end there is nothing to do.
    // 2. Load. No element at n or beyond may be touched.
    // 3. Compute. Below x = -88 exp(-x) is infinite in float32; what is x / (1 + infinity)?
    // 4. Store, guarded like the load.
    // end
}

// Called by the grader, and by main.cu, with device pointers.
extern "C" void silu(const float* input, float* output, int n)
{
    // TODO(student): about 4 lines
    // As many blocks as cover n, rounded up. A grid of no blocks is an error: n = 0 launches none.
    // end
}

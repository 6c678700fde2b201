// RMSNorm of one vector: output[i] = input[i] * weight[i] / sqrt(mean(input^2) + epsilon).
//
// Idea      two launches: the first leaves a sum of squares per block, the second adds those
//           up, every block for itself, and normalises. A launch waits for the one before it.
// Limit     memory: input is read twice, weight once, output written once, 16 bytes an element.
//           The second launch starts at the end, which the cache holds when the first is done.
// Expect    close to twice the time of a copy of cols floats; less if input fits in the cache.
// Grade it  grade local rms_norm_vector --language cuda
#include "rms_norm_vector.h"

constexpr int BLOCK = 256;            // threads per block: 8 warps
constexpr int WARPS = BLOCK / 32;     // per block
constexpr int VEC = 4;                // floats per access: one float4, the widest there is
constexpr int UNROLL = 2;             // accesses to each array that a thread has on their way
constexpr int TILE = BLOCK * UNROLL;  // float4 that a block takes at a time
constexpr int MAX_BLOCKS = 1024;      // about 8 for each of 132 multiprocessors: all run at once
static_assert(BLOCK % 32 == 0 && BLOCK <= 1024, "whole warps, and no more than a block may have");
static_assert(WARPS <= 32, "one warp adds up the sums of all of them");
static_assert(TILE < 0x7fffffff - 0x7fffffff / VEC, "the last tile's end is an int, at any cols");
static_assert(VEC * sizeof(float) == sizeof(float4), "an access is one float4");

// One sum of squares for each block of the first launch. It stands in device memory from the
// beginning to the end of the program: nothing to allocate, nothing to free.
__device__ float partials[MAX_BLOCKS];

// Return the sum of `value` over the block, to all of its threads. To be called once a launch.
__device__ float block_sum(float value)
{
    // TODO(student): about 7 lines
    // Within a warp: shuffles. Every lane adds the value of the lane 16, 8, 4, 2 and 1 away.
    // Between warps: one sum each in shared memory, a barrier, and the same once more.
    // end
    return value;
}

__global__ void __launch_bounds__(BLOCK)
sum_of_squares_kernel(const float* __restrict__ input,  // (cols)
                      int cols)
{
    // TODO(student): about 17 lines
    // 1. Where am I: block b takes the tiles b, b + blocks, b + 2 blocks, ...
        // 2. Load, all of the thread's accesses before the first use. Past the end: zeros.
        // 3. Compute.
    // The elements that are no whole float4, three at most.
    // 4. Store one number for the whole block.
    // end
}

__global__ void __launch_bounds__(BLOCK)
normalise_kernel(const float* __restrict__ input,   // (cols)
                 const float* __restrict__ weight,  // (cols)
                 float* __restrict__ output,        // (cols)
                 int cols, float epsilon)
{
    // TODO(student): about 24 lines
    // 1. Where am I: the same tiles, from the last to the first. And what is the scale: every
    //    block adds up all partial sums, of which there are as many as blocks.
        // 2. Load. Weight and output pass by once; let them not push input out of the cache.
        // 3. Compute, and 4. store, guarded like the load.
    // The elements that are no whole float4, three at most.
    // end
}

// Called by the grader, and by main.cu, with device pointers.
extern "C" void rms_norm_vector(const float* input, const float* weight, float* output, int cols,
                                float epsilon)
{
    // TODO(student): about 6 lines
    // A block for every tile, rounded up, as long as there is room for their sums. Both launches
    // have the same grid. A grid of no blocks is an error: cols = 0 launches none.
    // end
}

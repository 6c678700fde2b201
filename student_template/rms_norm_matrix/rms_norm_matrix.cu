// RMSNorm of each row: output[r][c] = input[r][c] * weight[c] / sqrt(mean(input[r]^2) + epsilon).
//
// Idea      a row's threads keep it in registers between the sum and the scaling, so it is
//           read once. A short row is a warp's, a longer one a block's of up to 16 warps.
// Limit     memory: 8 bytes an element; weight is small and stays in the cache. Columns from
//           REGISTERS * MAX_THREADS on do not fit and are read twice.
// Expect    close to the time of a copy of the matrix; rows under 128 columns leave lanes idle.
// Grade it  grade local rms_norm_matrix --language cuda
#include "rms_norm_matrix.h"

constexpr int REGISTERS = 32;     // floats of the row per thread: 8 float4 on their way at once
constexpr int WARP = 32;          // threads per warp
constexpr int ROWS = 8;           // short rows per block, a warp each
constexpr int MAX_THREADS = 512;  // per row, and per block; 1024 leave 64 registers each: too few
static_assert(REGISTERS % 4 == 0, "whole float4");
static_assert(ROWS * WARP <= MAX_THREADS, "no more threads than a block may have");
static_assert(MAX_THREADS <= WARP * WARP, "one warp adds up the sums of all of them");

// Return the sum of `value` over the threads of one row, to all of them. A row has one warp or
// the whole block. To be called once a launch.
__device__ float row_sum(float value)
{
    // TODO(student): about 8 lines
    // Within a warp: shuffles. Every lane adds the value of the lane 16, 8, 4, 2 and 1 away.
    // Between warps: one sum each in shared memory, a barrier, and the same once more.
    // end
    return value;
}

template <class Access>  // float4 if all rows begin at a multiple of 16 bytes, else float
__global__ void __launch_bounds__(MAX_THREADS)
rms_norm_matrix_kernel(const float* __restrict__ input,   // (rows, cols) row-major
                       const float* __restrict__ weight,  // (cols)
                       float* __restrict__ output,        // (rows, cols) row-major
                       int rows, int cols, float epsilon)
{
    // TODO(student): about 32 lines
    // 1. Where am I: in which row, and at which of its columns. A warp has no row or one.
    // 2. Load what the registers hold, all accesses before the first use. Past the end: zeros.
    // 3. Compute the scale: the row's sum of squares, over all columns and all threads.
    // 4. Store, guarded like the load. Output passes by once; let it not push weight out.
    // end
}

// Called by the grader, and by main.cu, with device pointers.
extern "C" void rms_norm_matrix(const float* input, const float* weight, float* output, int rows,
                                int cols, float epsilon)
{
    // TODO(student): about 9 lines
    // As few threads per row as hold it; several short rows per block, or one longer one.
    // Blocks for all rows, rounded up. A grid of no blocks is an error: rows = 0 launches none.
    // end
}

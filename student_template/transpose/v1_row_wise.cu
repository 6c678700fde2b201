// Transpose V1, row-wise: a block per row.
//
// Idea      a block owns one row; each of its threads owns a run of neighbours in it.
// Limit     neighbouring threads touch addresses that lie far apart, on both sides: every
//           request of a warp is spread over up to 32 sectors of 32 bytes.
// Expect    the slowest rung, several times slower than torch.
// Grade it  grade local transpose --kernel v1_row_wise --language cuda
#include "transpose.h"

constexpr int BLOCK = 256;  // threads per block: 8 warps, enough to hide latency
static_assert(BLOCK % 32 == 0 && BLOCK <= 1024, "whole warps, and no more than a block may have");

__global__ void transpose_kernel(const float* __restrict__ input,  // (rows, cols) row-major
                                 float* __restrict__ output,       // (cols, rows) row-major
                                 int rows, int cols)
{
    // TODO(student): about 9 lines
    // 1. Where am I: the block has a row, the thread a run of it, from `first` up to `end`.
    // 2. Load, 3. turn, 4. store: row and column change places, nothing is computed.
    // end
}

// Called by the grader, and by main.cu, with device pointers.
extern "C" void transpose(const float* input, float* output, int rows, int cols)
{
    // TODO(student): about 2 lines
    // A block per row. A grid of no blocks is an error: an empty matrix launches none.
    // end
}

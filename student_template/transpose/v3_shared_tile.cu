// Transpose V3, shared tile: the matrix is turned in shared memory, tile by tile.
//
// Idea      a block reads a square tile row by row and writes it column by column; in between
//           lies shared memory, so that loads and stores are both coalesced.
// Limit     bank conflicts: a column of tile[32][32] lies in a single one of the 32 banks, and
//           a warp that reads it waits 32 times.
// Expect    faster than torch.
// Grade it  grade local transpose --kernel v3_shared_tile --language cuda
#include "transpose.h"

constexpr int TILE = 32;            // a row of the tile is 128 bytes: one request of a warp
constexpr int BLOCK = 256;          // threads per block: 8 warps, enough to hide latency
constexpr int STEP = BLOCK / TILE;  // rows of the tile that the block covers at once
static_assert(BLOCK % 32 == 0 && BLOCK <= 1024, "whole warps, and no more than a block may have");
static_assert(BLOCK % TILE == 0 && TILE % STEP == 0, "the block covers the tile exactly");

__global__ void transpose_kernel(const float* __restrict__ input,  // (rows, cols) row-major
                                 float* __restrict__ output,       // (cols, rows) row-major
                                 int rows, int cols)
{
    // TODO(student): about 20 lines
    // The tile in shared memory: tile[r][c] is row first_row + r, column first_col + c.
    // 1. Where am I: the tile of this block, and this thread's place (x, y) in a piece of it.
    // 2. Load: neighbouring threads, neighbouring columns. Nothing beyond the matrix.
    // 3. Turn: what a thread stores, others have loaded; they must have finished.
    // 4. Store: neighbouring threads, neighbouring rows, which are columns of the output.
    // end
}

// Called by the grader, and by main.cu, with device pointers.
extern "C" void transpose(const float* input, float* output, int rows, int cols)
{
    // TODO(student): about 5 lines
    // A block per tile, rounded up both ways. The grid has one dimension: y ends at 65,535 blocks.
    // end
}

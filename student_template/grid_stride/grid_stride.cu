// Grid-stride loop: y = factor * x under any launch.
//
// Idea      a thread begins at its own number and moves on by the number of all threads.
// Limit     memory: 8 bytes move for one product.
// Expect    neighbouring threads touch neighbouring floats in every step, so nothing moves twice.
// Grade it  grade local grid_stride --language cuda
#include "grid_stride.h"

// Launched by the grader, with grids and blocks of several sizes.
__global__ void grid_stride(const float* x,  // (n)
                            float* y,        // (n)
                            int n, float factor)
{
    // TODO(student): about 5 lines
    // 1. Where am I: this thread's number among all threads of the grid.
    // 2. How many threads are there? So far it is to the next element of this thread.
    // 3. Each of this thread's elements; there may be none.
    // end
}

#include <cooperative_groups.h>
#include "result.cuh"
namespace cg = cooperative_groups;
__global__ void twice(int* x) {
    cg::grid_group grid = cg::this_grid();
    x[grid.thread_rank()] += 1;
    cg::sync(grid);  // FAULT barrier
    x[grid.size() - 1 - grid.thread_rank()] *= 3;
}
int main() {
    int* x = filled<int>(128, [](int i) { return i; });
    void* arguments[] = {&x};
#ifdef PLANTED
    twice<<<4, 32>>>(x);
#else
    cudaLaunchCooperativeKernel(twice, dim3(4), dim3(32), arguments, 0, 0);
#endif
    (void)arguments;
    show("twice", x, 128);
}

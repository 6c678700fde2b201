#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include "result.cuh"
namespace cg = cooperative_groups;
struct Particle { double mass; float x, y, z; };
__global__ void exchange(const Particle* in, double* out, int n) {
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    Particle mine = in[threadIdx.x + PLANT(n, 0)];  // FAULT out_of_bounds
    Particle other = tile.shfl_xor(mine, 3);
    Particle first = tile.shfl(mine, 0);
    int before = cg::exclusive_scan(tile, (int)mine.z);
    float most = cg::reduce(tile, mine.y, cg::greater<float>());
    out[threadIdx.x] = other.mass + first.x * 2 + before + most;
}
int main() {
    Particle* in = filled<Particle>(64, [](int i) { return Particle{i * 0.25, (float)i, (float)(i * 5 % 17), (float)(i % 3)}; });
    double* out = zeros<double>(64);
    exchange<<<1, 64>>>(in, out, 64);
    show("exchanged", out, 64);
    cudaFree(in);
}

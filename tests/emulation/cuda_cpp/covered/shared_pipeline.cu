#include <cooperative_groups.h>
#include <cuda/pipeline>
#include "result.cuh"
#pragma nv_diag_suppress static_var_with_dynamic_init
namespace cg = cooperative_groups;
__global__ void sums(const int* in, int* out, int batches) {
    constexpr int stages = 2;
    __shared__ int buffer[stages][64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    int sum = 0;
    for (int compute = 0, fetch = 0; compute < batches; ++compute) {
        for (; fetch < batches && fetch < compute + stages; ++fetch) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, buffer[fetch % stages], in + fetch * 64, sizeof(int) * 64, pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum += buffer[compute % stages][63 - threadIdx.x + PLANT(1, 0)];  // FAULT out_of_bounds
        pipe.consumer_release();
    }
    out[threadIdx.x] = sum;
}
int main() {
    int* in = filled<int>(64 * 9, [](int i) { return i; });
    int* out = zeros<int>(64);
    sums<<<1, 64>>>(in, out, 9);
    show("sums", out, 64);
    cudaFree(in);
}

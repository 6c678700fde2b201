#include <cuda_fp16.h>
#include "result.cuh"
__global__ void tile(const half* a, const half* b, float* c) {
    __shared__ __align__(16) half s[16 * 16];
    int lane = threadIdx.x, group = lane / 4, pair = lane % 4;
    for (int i = lane; i < 256; i += 32) s[i] = a[i];
    __syncwarp();
    unsigned left[4], right[2], row = (unsigned)__cvta_generic_to_shared(&s[lane % 16 * 16 + lane / 16 * 8]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(left[0]), "=r"(left[1]), "=r"(left[2]), "=r"(left[3]) : "r"(row));
    const unsigned* columns = (const unsigned*)b;
    right[0] = columns[group * 8 + pair];
    right[1] = columns[group * 8 + pair + 4];
    float d[4] = {0, 0, 0, 0};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));
    for (int i = 0; i < 4; ++i) c[(group + i / 2 * 8 + PLANT(1, 0)) * 8 + pair * 2 + i % 2] = d[i];  // FAULT out_of_bounds
}
int main() {
    half* a = filled<half>(256, [](int i) { return __float2half((float)(i % 9 - 4)); });
    half* b = filled<half>(128, [](int i) { return __float2half((float)(i % 4) * 0.25f); });
    float* c = zeros<float>(128);
    tile<<<1, 32>>>(a, b, c);
    show("tile", c, 128);
    cudaFree(a);
    cudaFree(b);
}

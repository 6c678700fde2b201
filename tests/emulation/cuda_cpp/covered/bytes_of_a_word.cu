#include "result.cuh"
__global__ void blend(const unsigned* a, const unsigned* b, unsigned* out, int n) {
    int i = threadIdx.x;
    unsigned x = a[i], y = b[PLANT(i + n, i)];  // FAULT out_of_bounds
    unsigned mean = __vavgu4(x, y), near = __vabsdiffu4(x, y), more = __vcmpgtu4(x, y);
    out[i] = (__vaddus4(mean, near) & more) + __vadd2(x, y) % 1000 + __vmaxu4(x, y) % 77 + __vsadu4(x, y) + __dp4a(x, y, 5u);
}
int main() {
    unsigned* a = filled<unsigned>(32, [](int i) { return 2654435761u * (unsigned)i; });
    unsigned* b = filled<unsigned>(32, [](int i) { return 40503u * (unsigned)i + 0x01020304u; });
    unsigned* out = zeros<unsigned>(32);
    blend<<<1, 32>>>(a, b, out, 32);
    show("blended", out, 32);
    cudaFree(a);
    cudaFree(b);
}

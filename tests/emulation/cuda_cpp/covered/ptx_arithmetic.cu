#include "result.cuh"
#define LANE(x) asm("mov.u32 %0, %%laneid;" : "=r"(x))
__global__ void mixed(const unsigned* in, unsigned* out, int n) {
    unsigned lane, a, b, c, v = 0;
    LANE(lane);
    asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(v) : "l"(in + threadIdx.x + PLANT(n, 0)));  // FAULT out_of_bounds
    asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(a) : "r"(v), "r"(3), "r"(lane));
    asm("prmt.b32 %0, %1, %2, 0x1230;" : "=r"(b) : "r"(a), "r"(v));
    asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(c) : "r"(a), "r"(b), "r"(v));
    asm volatile("{\n\t.reg .pred p;\n\t"
                 "setp.gt.u32 p, %1, 40;\n\t"
                 "selp.u32 %0, %2, %3, p;\n\t"
                 "@p add.u32 %0, %0, 7;\n\t}"
                 : "=r"(v) : "r"(v), "r"(b), "r"(c));
    int whole;
    asm("cvt.rzi.s32.f32 %0, %1;" : "=r"(whole) : "f"((float)lane * -1.75f));
    unsigned bits, high, swapped;
    asm("bfe.u32 %0, %1, 4, 9;" : "=r"(bits) : "r"(c));
    asm("mul.hi.u32 %0, %1, %2;" : "=r"(high) : "r"(c), "r"(a * 77777u));
    asm("shfl.sync.bfly.b32 %0, %1, 1, 0x1f, 0xffffffff;" : "=r"(swapped) : "r"(v));
    out[threadIdx.x] = (v ^ bits) + high + (unsigned)(whole * whole) + swapped % 1000;
}
int main() {
    unsigned* in = filled<unsigned>(64, [](int i) { return (unsigned)(i * 2654435761u >> 8) % 90; });
    unsigned* out = zeros<unsigned>(64);
    mixed<<<1, 64>>>(in, out, 64);
    show("mixed", out, 64);
    cudaFree(in);
}

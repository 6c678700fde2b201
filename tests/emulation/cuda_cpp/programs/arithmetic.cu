#include <cuda_fp16.h>
#include <math_constants.h>
#include "expect.cuh"
__global__ void compute(int* ok, const float* in) {
    bool r = true;
    r &= min(3, 4) == 3 && max(3.5f, 2.5f) == 3.5f && min(2u, 7u) == 2 && max(1.0, 2.0f) == 2.0 && max(-1LL, 5LL) == 5;
    r &= __popc(255u) == 8 && __clz(1) == 31 && __clz(0) == 32 && __ffs(8) == 4 && __brev(1u) == 0x80000000u && __popcll(~0ull) == 64;
    r &= __mulhi(1 << 30, 8) == 2 && __umulhi(0x80000000u, 4u) == 2 && __byte_perm(0x03020100, 0x07060504, 0x7531) == 0x07050301;
    r &= __funnelshift_l(0x80000000u, 1u, 1) == 3u && __float_as_int(1.0f) == 0x3f800000 && __int_as_float(0x40000000) == 2.0f;
    r &= __float2int_rn(2.5f) == 2 && __float2int_rz(-2.7f) == -2 && __float2int_ru(2.1f) == 3 && __float2int_rd(-2.1f) == -3;
    r &= __float2int_rz(CUDART_INF_F) == 2147483647 && __float2int_rz(CUDART_NAN_F) == 0;
    r &= fabsf(__expf(1.0f) - 2.7182818f) < 1e-5f && fabsf(rsqrtf(4.0f) - 0.5f) < 1e-6f && __saturatef(2.0f) == 1.0f;
    r &= fmaf(2.0f, 3.0f, 4.0f) == 10.0f && __fdividef(1.0f, 4.0f) == 0.25f && __fmaf_rn(2, 3, 1) == 7 && fabsf(tanhf(100.f)) == 1.f;
    r &= abs(-3) == 3 && abs(-3.5f) == 3.5f && sqrt(4.0f) == 2.0f && pow(2.0f, 3.0f) == 8.0f && fmod(7.0, 4.0) == 3.0;
    float s, c;
    sincosf(0.0f, &s, &c);
    __sincosf(0.0f, &s, &c);
    r &= s == 0 && c == 1 && __ldg(in) == 0.0f && __dp4a(0x01020304, 0x01010101, 5) == 15;
    float stored[4];
    __stcs(stored, 1.5 + 1);
    __stcg(stored + 1, 2);
    __stwt(reinterpret_cast<float2*>(stored + 2), {3.0f, 4.0f});
    r &= stored[0] == 2.5f && stored[1] == 2 && stored[3] == 4;
    half h = __float2half(1.5f), g = 2.0f;
    r &= __half2float(h * g) == 3.0f && __hadd(h, g) > h && (float)hsqrt(__float2half(4.0f)) == 2.0f && __hfma(h, g, h) == half(4.5f);
    half2 p = __floats2half2_rn(1.0f, 2.0f);
    r &= __hbeq2(__hadd2_sat(p, p), __float2half2_rn(1.0f)) && __high2float(__hmul2_sat(-p, p)) == 0.0f;
    r &= __hbeq2(__hfma2_relu(-p, p, p), __float2half2_rn(0.0f)) && __low2float(__hfma2_sat(p, p, -p)) == 0.0f;
    p = __hadd2(p, __half2half2(h));
    r &= __low2float(p) == 2.5f && __high2float(p) == 3.5f && __half22float2(p).y == 3.5f;
    float4 v = make_float4(1, 2, 3, 4);
    uchar4 b = make_uchar4(255, 0, 1, 2);
    r &= v.w == 4 && b.x == 255 && make_int2(1, 2).y == 2 && sizeof(float3) == 12 && sizeof(double2) == 16 && alignof(float4) == 16;
    *ok = r;
}
int main() {
    int* ok = device<int>(1);
    float* in = device<float>(1);
    compute<<<1, 1>>>(ok, in);
    EXPECT(at(ok, 0) == 1);
    // Without includes, as with nvcc.
    static_assert(std::numeric_limits<float>::digits == 24 && std::is_same<decltype(std::max(1, 2)), const int&>::value, "");
    EXPECT(std::hypot(2.0, 3.0, 6.0) == 7.0 && std::min(1u, 2u) == 1u);
    // Every half is unchanged by a conversion to float and back, and rounding is to nearest even.
    for (unsigned b = 0; b < 65536; ++b) {
        half h = __ushort_as_half((unsigned short)b);
        float f = __half2float(h);
        if (f != f) EXPECT(__hisnan(__float2half(f)));
        else EXPECT(__half_as_ushort(__float2half(f)) == b);
    }
    EXPECT(__half_as_ushort(__float2half(65519.0f)) == 0x7bff && __half_as_ushort(__float2half(65520.0f)) == 0x7c00);
    EXPECT(__half_as_ushort(__float2half(1.00048828125f)) == 0x3c00 && __half_as_ushort(__float2half(1.00146484375f)) == 0x3c02);
    EXPECT(__half_as_ushort(__float2half(5.9604645e-8f)) == 1 && __half_as_ushort(__float2half(2.9802322e-8f)) == 0);
    cudaFree(ok); cudaFree(in);
    return failures;
}

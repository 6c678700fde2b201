// Structs and vectors as arguments and results, and library functions with several results.
#include "../memory.cuh"
struct Range { int first, last; };
template <class T> struct Matrix {
    T* data;
    int columns;
    __device__ T at(int2 place) const { return data[place.x * columns + place.y]; }
};
__device__ __noinline__ float pick(float4 v, int j) { return j == 0 ? v.x : j == 1 ? v.y : j == 2 ? v.z : v.w; }
__device__ Range halves(Range r, bool upper) {
    int middle = (r.first + r.last) / 2;
    return upper ? Range{middle, r.last} : Range{r.first, middle};
}
__global__ void use(const float4* in, float* out, Range* ranges, Matrix<float> m, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 local[2] = {in[i], in[n - 1 - i]};
    float whole, sine, cosine;
    int exponent, quotient;
    float part = modff(pick(local[i % 2], i % 4), &whole);
    part += frexpf(whole, &exponent);
    sincosf(part, &sine, &cosine);
    ranges[i] = halves(Range{i, n}, i % 2);
    out[i] = sine + cosine + exponent + remquof(part, 3.0f, &quotient) + m.at(make_int2(i / 4, i % 4));
    if (i == 0) printf("%s %-5d %5.1f%% %c\n", "thread", i, out[i], 'x');
}
int main() {
    const int n = 100;
    float4* in = (float4*)numbered<float>(4 * n);
    float* out = blank<float>(n);
    Range* ranges = (Range*)blank<int>(2 * n);
    float* data = numbered<float>(n);
    use<<<1, 128>>>(in, out, ranges, Matrix<float>{data, 4}, n);
    return finish(in, out, ranges, data);
}

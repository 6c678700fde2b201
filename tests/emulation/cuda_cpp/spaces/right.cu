// nvcc accepts every line.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>
#define DEVICE __device__ __forceinline__
#define BOTH __host__ __device__

float twice(float x) { return 2 * x; }
constexpr int count = 5;
DEVICE float square(float x) { return x * x; }
BOTH float either(float x) { return twice(x); }
template <class T> BOTH T either_of(T x) { return twice(x); }
__device__ float later(float x);
float later(float x) { return x; }
namespace shapes {
namespace {
__device__ float area(float x) { return square(x); }
}
struct Inner {
    __device__ Inner() : x(1) {}
    __device__ ~Inner() {}
    float x;
};
struct Outer : Inner { Inner more; float y = 2; };
}
struct Mixed {
    float a;
    float on_host() const { return a; }
    __device__ float on_device() const { return a; }
    static __device__ Mixed of(float a) { return {a}; }
};
struct Never { Never() {} float x; };
__device__ float4 operator+(float4 a, float4 b) { return make_float4(a.x + b.x, a.y, a.z, a.w); }
template <int N> struct Loop {
    static __device__ void run(float* p) { p[N] = N; Loop<N - 1>::run(p); }
};
template <> struct Loop<0> { static __device__ void run(float* p) { p[0] = 0; } };
struct Doubled { __device__ float operator()(float x) const { return 2 * x; } };
typedef float (*Function)(float);
__device__ float kept(float x) { return x; }
__device__ Function table = kept;

extern "C" void scale(float* p) { p[0] = 1; }
extern "C" __global__ void in_c(float* p, float scale) { p[0] = scale; }
__global__ void uses(float* p, float4* v, const Mixed* m) {
    const float pi = 3.0f;
    shapes::Outer a, b = a;
    b = a;
    p[0] = square(p[1]) + either(p[2]) + either_of(p[3]) + shapes::area(p[4]) + b.y + count * pi;
    v[0] = v[1] + v[2];
    p[1] = m->on_device() + Mixed::of(2).a + later(p[1]) + table(p[2]);
    Loop<3>::run(p);
    auto outer = [=](auto x) {
        auto inner = [=](float y) { return y * p[0]; };
        return inner(x) + x;
    };
    p[2] = outer(p[3]) + std::forward<float>(p[4]) + std::move(p[5]);
    p[3] = std::sqrt(p[0]) + std::abs(p[1]) + std::pow(p[2], 2) + std::fmax(p[0], p[1]) + max(1, 2);
    p[4] = sinf(p[0]) + rsqrtf(p[1]) + __expf(p[2]) + atomicAdd(p, 1.0f) + __shfl_sync(~0u, p[0], 1);
    for (float x : {1.0f, 2.0f}) p[5] += x;
    new (p) float(1);
    memcpy(p, p + 4, 4);
    printf("%f\n", p[0]);
}
__global__ void nothing() {}
template <class T, class F> __global__ void apply(T* p, F f) { p[0] = f(p[0]); }
__global__ void by_value(float* p, Never never) { p[0] = never.x; }
template <class F, class... A> void launch(F kernel, A... a) { kernel<<<1, 1>>>(a...); }
template <class T> void run(T* p) { apply<T><<<1, 1>>>(p, Doubled()); apply<<<1, 1>>>(p, Doubled()); }

int main() {
    float* p = nullptr;
    nothing<<<1, 1>>>();
    in_c<<<1, 1>>>(p, twice(1) + either(2));
    launch(in_c, p, 2.0f);
    auto kernel = in_c;
    kernel<<<1, 1>>>(p, 1.0f);
    (*kernel)<<<1, 1>>>(p, 1.0f);
    by_value<<<1, 1>>>(p, Never());
    run(p);
    cudaFuncSetAttribute(in_c, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024);
    auto generic = [&](auto&... values) { return sizeof...(values) + twice(1); };
    return int(generic()) + int(generic(p)) + int(Mixed{1}.on_host());
}

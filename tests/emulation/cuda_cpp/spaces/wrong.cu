// Each line with a mark is refused by nvcc; the mark is a part of the message.
#include <algorithm>
#include <complex>
#include <cstring>

float twice(float x) { return 2 * x; }
constexpr float half_of(float x) { return x / 2; }
template <class T> T thrice(T x) { return 3 * x; }
struct Pair { float a, b; };
Pair operator+(Pair x, Pair y) { return {x.a + y.a, x.b + y.b}; }
struct Made {
    float a;
    Made(float x) : a(x) {}
    ~Made() {}
    float get() const { return a; }
    operator float() const { return a; }
    static float zero() { return 0; }
};
struct Holder { Made made{1.0f}; };
template <class T> struct Box {
    T t;
    __device__ T twice_of() const { return own(t) * 2; }  // WRONG calling a __host__ function("Box<float>::own") from a __device__
    T own(T x) const { return x; }
};
__device__ float unused(float x) { return twice(x); }  // WRONG calling a __host__ function("twice") from a __device__ function("unused")
__device__ float device_only(float x) { return x; }

__global__ void plain(float* p) {
    p[0] = twice(p[1]);  // WRONG calling a __host__ function("twice") from a __global__ function("plain") is not allowed
    p[1] = half_of(p[0]);  // WRONG calling a __host__ function("half_of")
    p[2] = thrice(p[0]);  // WRONG calling a __host__ function("thrice<float>")
}
__global__ void members(float* p, const Box<float>* box, Pair* pairs) {
    Made made(p[0]);  // WRONG calling a __host__ function("Made::Made")
    p[1] = made.get();  // WRONG calling a __host__ function("Made::get")
    p[2] = made;  // WRONG calling a __host__ function("Made::operator float")
    p[3] = Made::zero();  // WRONG calling a __host__ function("Made::zero")
    pairs[0] = pairs[1] + pairs[2];  // WRONG calling a __host__ function("operator+")
    p[4] = box->twice_of();
}  // WRONG calling a __host__ function("Made::~Made")
__global__ void implicit(float* p) {
    Holder holder;  // WRONG calling a __host__ function("Made::Made") from a __device__ function("Holder::Holder")
    p[0] = holder.made.a;
}  // WRONG calling a __host__ function("Made::~Made") from a __device__ function("Holder::~Holder")
__global__ void pointer(float* p) {
    float (*f)(float) = twice;  // WRONG identifier "twice" is undefined in device code
    p[0] = f(p[1]);
}
__global__ void lambda(float* p) {
    auto own = [=](float x) { return x * p[0]; };
    auto other = [=](float x) { return twice(x); };  // WRONG calling a __host__ function("twice") from a __device__
    p[0] = own(p[1]) + other(p[2]);
}
__global__ void library(float* p, char* s, std::complex<float>* c) {
    p[0] = std::max(p[1], p[2]);  // WRONG function("std::max<float>")
    std::sort(p, p + 3);  // WRONG function("std::sort<float*>")
    c[0] = c[1] * c[2];  // WRONG function("std::operator*<float>")
    p[1] = strlen(s);  // WRONG function("strlen")
    p[2] = rand();  // WRONG function("rand")
}
__global__ void child(float* p) { p[0] = 1; }
__global__ void parent(float* p) {
    child<<<1, 1>>>(p);  // WRONG kernel launch from __device__ or __global__ functions
}
template <class F> __global__ void apply(float* p, F f) { p[0] = f(p[0]); }
void no_kernel(float* p) { p[0] = 1; }
template <int N> void no_template_kernel(float* p) { p[0] = N; }

int main() {
    float* p = nullptr;
    no_kernel<<<1, 1>>>(p);  // WRONG a host function call cannot be configured
    no_template_kernel<3><<<1, 1>>>(p);  // WRONG a host function call cannot be configured
    device_only<<<1, 1>>>(1.0f);  // WRONG a host function call cannot be configured
    plain(p);  // WRONG a __global__ function call must be configured
    device_only(1.0f);  // WRONG calling a __device__ function("device_only") from a __host__ function("main")
    apply<<<1, 1>>>(p, [](float x) { return x; });  // WRONG lambda
}

// Every way to write a launch.
#include "expect.cuh"
__global__ void add(int* a, int v) { a[blockIdx.x * blockDim.x + threadIdx.x] += v; }
template <typename T, int N = 1> __global__ void add_n(T* a, T v) { a[threadIdx.x] += v * N; }
template <class F> __global__ void each(int* a, F f) { a[threadIdx.x] = f(a[threadIdx.x]); }
namespace deep { namespace er { __global__ void set(int* a, int v) { a[threadIdx.x] = v; } } }
template <typename T> struct Box { T value; };
template <typename T> __global__ void unbox(int* a, Box<T> box) { a[threadIdx.x] = box.value; }
struct Holder {
    void (*kernel)(int*, int);
    void go(int* a) { kernel<<<1, 4>>>(a, 3); }
};
#define LAUNCH(k, g, b, ...) k<<<g, b>>>(__VA_ARGS__)
#define LAUNCH_NAMED(kernel, grid, block, ...) kernel<<<grid, block>>>(__VA_ARGS__)
#define LAUNCH_PASTED(name, a, v) name##_n<<<1, 8>>>(a, v)
#define LAUNCH_THEN(k, n) k<<<1, n>>>
#define CONFIG(grid, block) <<<grid, block>>>
#define LAUNCH_ADD(...) do { add<<<1, 4>>>(__VA_ARGS__); } while (0)
template <typename T> void generic(T* a) { add_n<T, 2><<<1, 4>>>(a, T(1)); }
static int calls = 0;
int once() { return ++calls; }
template <class A> int blocks() { return 1; }
struct Pair { int first, second; };
__global__ void set_sum(int* a, Pair pair, int v) { a[threadIdx.x] = pair.first + pair.second + v; }
template <class T> __global__ void set_first(T* a, Pair pair) { a[threadIdx.x] = pair.first; }
int main() {
    int* a = device<int>(8);
    add<<<2, 4>>>(a, 1);
    EXPECT(at(a, 7) == 8);
    add<<<dim3(2), dim3(4, 1, 1), 0>>>(a, 1);
    cudaStream_t stream;
    EXPECT(cudaStreamCreate(&stream) == cudaSuccess);
    add<<<2, 4, 0, stream>>>(a, 1);
    cudaStreamSynchronize(stream);
    EXPECT(at(a, 0) == 3);
    add_n<int><<<1, 4>>>(a, 1);
    add_n<int, 2> <<< 1,
        4 >>> (
        a, 1);  /* over lines */
    EXPECT(at(a, 0) == 6);
    add_n<<<1, 4>>>(a, 4);
    EXPECT(at(a, 0) == 10);
    each<<<1, 8>>>(a, [] __device__(int v) { return -v; });
    EXPECT(at(a, 0) == -10);
    int k = 5;
    each<<<1, 8>>>(a, [=] __device__(int v) { return v * k; });
    EXPECT(at(a, 0) == -50);
    deep::er::set<<<1, 8>>>(a, 9);
    ::deep::er::set<<<1, 4>>>(a, 7);
    EXPECT(at(a, 0) == 7 && at(a, 7) == 9);
    Holder holder{add};
    holder.go(a);
    Holder* p = &holder;
    p->kernel<<<1, 4>>>(a, 1);
    void (*table[2])(int*, int) = {add, deep::er::set};
    table[1]<<<1, 8>>>(a, 20);
    (*table[0])<<<1, 8>>>(a, 1);
    EXPECT(at(a, 3) == 21);
    LAUNCH(add, 1, 8, a, 1);
    LAUNCH_ADD(a, 1);
    EXPECT(at(a, 0) == 23 && at(a, 7) == 22);
    generic(a);
    EXPECT(at(a, 0) == 25);
    LAUNCH_NAMED((add_n<int, 2>), 1, 8, a, 1);
    LAUNCH_NAMED(add, 1, 8, a, -1);
    LAUNCH_THEN((add_n<int, 2>), 8)(a, 1);
    add_n<int> CONFIG(1, dim3(8)) (a, 1);
    add CONFIG(1, 8)(a, -5);
    LAUNCH_PASTED(add, a, 1);
    EXPECT(at(a, 0) == 25);
    add<<<blocks<Box<Box<int>>>(), 8>>>(a, 1);
    add<<<1, 8>>>(a, once());
    EXPECT(calls == 1 && at(a, 0) == 27);
    if (calls) add<<<1, 8>>>(a, 1); else add<<<1, 8>>>(a, 100);
    EXPECT(at(a, 0) == 28);
    int v = 2;
    void* arguments[] = {&a, &v};
    EXPECT(cudaLaunchKernel((void*)add, dim3(1), dim3(8), arguments, 0, nullptr) == cudaSuccess);
    EXPECT(cudaLaunchKernel((const void*)add, dim3(1), dim3(8), arguments, 0, 0) == cudaSuccess);
    EXPECT(at(a, 0) == 32);
    set_sum<<<1, 8>>>(a, {3, 4}, v);
    EXPECT(at(a, 7) == 9);
    set_first<int><<<dim3{1}, 8>>>(a, {v, 1});
    EXPECT(at(a, 0) == 2);
    EXPECT(cudaStreamDestroy(stream) == cudaSuccess);
    EXPECT(cudaGetLastError() == cudaSuccess);
    cudaFree(a);
    return failures;
}

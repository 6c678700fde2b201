// Every way to declare shared memory.
#include "expect.cuh"
extern __shared__ unsigned char bytes_at_file_scope[];
struct Pair { int a; float b; };
template <typename T, int N> __device__ T through(T v) {
    __shared__ T slot[N];
    slot[threadIdx.x] = v;
    __syncthreads();
    T result = slot[N - 1 - threadIdx.x];
    __syncthreads();
    return result;
}
template <class T> __device__ T* pool() {
    extern __shared__ __align__(16) unsigned char raw[];
    return reinterpret_cast<T*>(raw);
}
__global__ void forms(int* out) {
    __shared__ float a[4][8], b, *c;
    __shared__ Pair pairs[3], one;
    static __shared__ volatile int flag;
    __shared__ __align__(16) double wide[2];
    alignas(16) __shared__ char text[5];
    volatile __shared__ unsigned u;
    __shared__ struct { int x, y; } named;
    const int n = 4;
    __shared__ int sized[n * 2 + (1 < 2 ? 1 : 0)];
    if (threadIdx.x == 0) {
        a[3][7] = 1; b = 2; c = &a[3][7];
        pairs[2].a = 3; one.b = 4; flag = 5; wide[1] = 6; text[4] = 7; u = 8;
        named.y = 9; sized[8] = 10;
        bytes_at_file_scope[15] = 11;
        pool<int>()[0] = 12;
    }
    __syncthreads();
    int i = threadIdx.x;
    int sum = *c + b + pairs[2].a + one.b + flag + wide[1] + text[4] + u + named.y + sized[8] +
              bytes_at_file_scope[15] + pool<int>()[0];
    out[i] = sum + through<int, 32>(i) + (int)through<float, 32>(i);
}
int main() {
    int* out = device<int>(32);
    forms<<<1, 32, 16>>>(out);
    EXPECT(at(out, 0) == 78 + 62);
    EXPECT(at(out, 31) == 78);
    EXPECT(cudaGetLastError() == cudaSuccess);
    cudaFree(out);
    return failures;
}

// Constructs of ordinary student programs.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>
#include "cuda_runtime.h"
#include "device_launch_parameters.h"
#include "expect.cuh"
using namespace std;

#define CHECK(call)                                                                            \
    do {                                                                                       \
        cudaError_t status = (call);                                                           \
        if (status != cudaSuccess) {                                                           \
            fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(status));     \
            exit(1);                                                                           \
        }                                                                                      \
    } while (0)
#define BLOCK 128
#define CEIL(a, b) (((a) + (b) - 1) / (b))
#define INDEX2(r, c, ld) ((r) * (ld) + (c))

typedef struct {
    int width, height;
    float* elements;
} Matrix;

struct Complex {
    float re, im;
    __host__ __device__ Complex(float r, float i) : re(r), im(i) {}
    __device__ float magnitude2() const { return re * re + im * im; }
    __device__ Complex operator*(const Complex& o) const { return Complex(re * o.re - im * o.im, im * o.re + re * o.im); }
    __device__ Complex operator+(const Complex& o) const { return Complex(re + o.re, im + o.im); }
};

template <typename T> struct SharedMemory {
    __device__ inline operator T*() {
        extern __shared__ int __smem[];
        return (T*)__smem;
    }
    __device__ inline operator const T*() const {
        extern __shared__ int __smem[];
        return (T*)__smem;
    }
};

__host__ __device__ inline float clampf(float v, float lo, float hi) { return min(max(v, lo), hi); }
__device__ __noinline__ int julia(float x, float y) {
    Complex c(-0.8f, 0.156f), a(x, y);
    for (int i = 0; i < 50; i++) {
        a = a * a + c;
        if (a.magnitude2() > 1000) return 0;
    }
    return 1;
}
__global__ void __launch_bounds__(256, 2) mat_add(const Matrix A, const Matrix B, Matrix C) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= A.height || col >= A.width) return;
    C.elements[INDEX2(row, col, C.width)] = A.elements[row * A.width + col] + B.elements[row * B.width + col];
}
static __global__ void fractal(unsigned char* image, int dim) {
    const int x = blockIdx.x, y = blockIdx.y, offset = x + y * gridDim.x;
    image[offset * 4 + 0] = 255 * julia(1.5f * (dim / 2 - x) / (dim / 2), 1.5f * (dim / 2 - y) / (dim / 2));
    image[offset * 4 + 3] = 255;
}
extern "C" __global__ void reduce(const float* __restrict__ in, float* __restrict__ out, size_t n) {
    float* s = SharedMemory<float>();
    unsigned int tid = threadIdx.x;
    size_t i = (size_t)blockIdx.x * blockDim.x * 2 + threadIdx.x;
    float mine = (i < n) ? in[i] : 0.f;
    if (i + blockDim.x < n) mine += in[i + blockDim.x];
    s[tid] = mine;
    __syncthreads();
    for (unsigned int w = blockDim.x / 2; w > 32; w >>= 1) {
        if (tid < w) s[tid] = mine = mine + s[tid + w];
        __syncthreads();
    }
    if (tid < 32) {
        if (blockDim.x >= 64) mine += s[tid + 32];
#pragma unroll
        for (int offset = 16; offset > 0; offset /= 2) mine += __shfl_down_sync(0xffffffff, mine, offset);
    }
    if (tid == 0) out[blockIdx.x] = mine;
}
template <typename T, typename Op> __global__ void map_values(const T* in, T* out, int n, Op op) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) out[i] = op(in[i]);
}
__global__ void sobel(const uint8_t* in, uint8_t* out, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return;
    const int gx[3][3] = {{-1, 0, 1}, {-2, 0, 2}, {-1, 0, 1}};
    int sum = 0;
    for (int j = -1; j <= 1; ++j)
        for (int i = -1; i <= 1; ++i) sum += gx[j + 1][i + 1] * in[(y + j) * w + x + i];
    out[y * w + x] = static_cast<uint8_t>(clampf(abs(sum), 0.0f, 255.0f));
}
int main(int argc, char** argv) {
    auto begin = chrono::steady_clock::now();
    const int N = 1000;
    vector<float> h_in(N, 1.5f), h_out(N);
    float *d_in = NULL, *d_out = NULL;
    CHECK(cudaMalloc((void**)&d_in, N * sizeof(float)));
    CHECK(cudaMalloc(&d_out, sizeof(float) * N));
    CHECK(cudaMemcpy(d_in, h_in.data(), N * sizeof(float), cudaMemcpyHostToDevice));
    float factor = 2.0f;
    map_values<<<CEIL(N, BLOCK), BLOCK>>>(d_in, d_out, N, [factor] __host__ __device__(float v) { return v * factor; });
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(&h_out[0], d_out, N * sizeof(float), cudaMemcpyDeviceToHost));
    EXPECT(all_of(h_out.begin(), h_out.end(), [](float v) { return v == 3.0f; }));
    int threads = 128, blocks = (N + threads * 2 - 1) / (threads * 2);
    reduce<<<blocks, threads, threads * sizeof(float)>>>(d_in, d_out, N);
    CHECK(cudaMemcpy(h_out.data(), d_out, blocks * sizeof(float), cudaMemcpyDeviceToHost));
    EXPECT(h_out[0] == 384.0f && h_out[blocks - 1] == 1.5f * (N - 256 * (blocks - 1)));
    Matrix a{20, 10, nullptr}, b = a, c = a;
    size_t bytes = a.width * a.height * sizeof(float);
    cudaMalloc(&a.elements, bytes);
    cudaMalloc(&b.elements, bytes);
    cudaMalloc(&c.elements, bytes);
    cudaMemcpy(a.elements, d_in, bytes, cudaMemcpyDeviceToDevice);
    cudaMemcpy(b.elements, h_in.data(), bytes, cudaMemcpyDefault);
    dim3 dimBlock(16, 16);
    dim3 dimGrid((a.width + dimBlock.x - 1) / dimBlock.x, ceil(a.height / (float)dimBlock.y));
    mat_add<<<dimGrid, dimBlock>>>(a, b, c);
    EXPECT(at(c.elements, 199) == 3.0f);
    const int DIM = 16;
    unsigned char* d_image;
    CHECK(cudaMalloc(&d_image, DIM * DIM * 4));
    CHECK(cudaMemset(d_image, 0, DIM * DIM * 4));
    dim3 grid = {DIM, DIM};
    fractal<<<grid, 1>>>(d_image, DIM);
    EXPECT(at(d_image, 3) == 255);
    sobel<<<dim3{4, 4}, dim3{8, 8}>>>(d_image, d_image + DIM * DIM * 2, 2 * DIM, DIM);
    CHECK(cudaPeekAtLastError());
    string name = "done";
    chrono::duration<double> elapsed = chrono::steady_clock::now() - begin;
    EXPECT(elapsed.count() > 0 && max(1, 2) == 2 && std::min(3u, 4u) == 3u && name.size() == 4);
    cudaFree(d_in); cudaFree(d_out); cudaFree(a.elements); cudaFree(b.elements); cudaFree(c.elements); cudaFree(d_image);
    CHECK(cudaDeviceReset());
    return failures;
}

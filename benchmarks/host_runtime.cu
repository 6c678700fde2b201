// The kernels of host_runtime.py. Each line of output is `work: milliseconds ms`.
#include <cstdio>
#include <ctime>

constexpr int TILE = 32, ROWS = 8, B = 16;

__global__ void silu(const float* input, float* output, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float x = input[i];
        output[i] = x / (1.0f + expf(-x));
    }
}
__global__ void axpy(float a, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
__global__ void stencil(const float* in, float* out, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > 0 && y > 0 && x < n - 1 && y < n - 1)
        out[y * n + x] = 0.2f * (in[y * n + x] + in[y * n + x - 1] + in[y * n + x + 1] + in[(y - 1) * n + x] +
                                 in[(y + 1) * n + x]);
}
__global__ void transpose(const float* in, float* out, int n) {
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}
__global__ void gemm_naive(const float* a, const float* b, float* c, int n) {
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + col];
    c[row * n + col] = sum;
}
__global__ void gemm_tiled(const float* a, const float* b, float* c, int n) {
    __shared__ float as[B][B], bs[B][B];
    int tx = threadIdx.x, ty = threadIdx.y, col = blockIdx.x * B + tx, row = blockIdx.y * B + ty;
    float sum = 0;
    for (int k0 = 0; k0 < n; k0 += B) {
        as[ty][tx] = a[row * n + k0 + tx];
        bs[ty][tx] = b[(k0 + ty) * n + col];
        __syncthreads();
        for (int k = 0; k < B; ++k) sum += as[ty][k] * bs[k][tx];
        __syncthreads();
    }
    c[row * n + col] = sum;
}
// CPU time: other processes disturb it less.
template <class Work> void timed(const char* name, Work work) {
    const clock_t start = clock();
    work();
    cudaError_t error = cudaDeviceSynchronize();
    printf("%s: %.3f ms\n", name, double(clock() - start) * 1000 / CLOCKS_PER_SEC);
    if (error != cudaSuccess) printf("%s\n", cudaGetErrorString(error));
}
__global__ void tiny(float* x) { x[threadIdx.x] += 1; }
__global__ void block_sum(const float* x, float* out, int n) {
    __shared__ float part[256];
    float sum = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) sum += x[i];
    part[threadIdx.x] = sum;
    for (int d = 128; d > 0; d /= 2) {
        __syncthreads();
        if (threadIdx.x < d) part[threadIdx.x] += part[threadIdx.x + d];
    }
    if (threadIdx.x == 0) atomicAdd(out, part[0]);
}
__global__ void histogram(const float* x, int* bins, int n) {
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
        atomicAdd(&bins[((unsigned)i * 2654435761u >> 24) + (int)x[i]], 1);
}
// As many iterations as the key has digits: lanes of a warp make different ones.
__global__ void divergent(const float* x, int* bins, int n) {
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
        unsigned key = (unsigned)i * 2654435761u;
        for (; key > 63; key /= 3) atomicAdd(&bins[key % 64], (int)x[i]);
        atomicMax(&bins[64 + key], i);
    }
}
// Each block takes tickets of its own from one counter, and fences before it tells of its sum.
__global__ void tickets(const float* x, int* done, float* out, int n) {
    for (int i = atomicAdd(&done[threadIdx.x % 8], 1); i < n / 8; i = atomicAdd(&done[threadIdx.x % 8], 1)) {
        out[8 * i + threadIdx.x % 8] = x[i];
        __threadfence();
    }
}

int main(int count, char**) {
    if (count > 1) return 0;
    const int n = 1 << 20;
    float *a, *b, *c;
    cudaMalloc(&a, n * sizeof(float));
    cudaMalloc(&b, n * sizeof(float));
    cudaMalloc(&c, n * sizeof(float));
    cudaMemset(a, 0, n * sizeof(float));
    cudaMemset(b, 0, n * sizeof(float));
    for (int pass = 0; pass < 2; ++pass) {  // the first one touches the memory
        timed("silu 1M", [=] { silu<<<n / 256, 256>>>(a, c, n); });
        timed("axpy 1M", [=] { axpy<<<n / 256, 256>>>(2.0f, a, c, n); });
        timed("stencil 1024", [=] { stencil<<<dim3(32, 128), dim3(32, 8)>>>(a, c, 1024); });
        timed("transpose 1024", [=] { transpose<<<dim3(32, 32), dim3(TILE, ROWS)>>>(a, c, 1024); });
        timed("gemm 256 naive", [=] { gemm_naive<<<dim3(16, 16), dim3(16, 16)>>>(a, b, c, 256); });
        timed("gemm 256 tiled", [=] { gemm_tiled<<<dim3(16, 16), dim3(B, B)>>>(a, b, c, 256); });
        timed("sum 1M", [=] { block_sum<<<64, 256>>>(a, c, n); });
        timed("histogram 1M", [=] { histogram<<<64, 256>>>(a, (int*)c, n); });
        timed("divergent 256k", [=] { divergent<<<16, 256>>>(a, (int*)c, n / 4); });
        cudaMemset(c, 0, n * sizeof(float));
        timed("tickets 64k", [=] { tickets<<<16, 256>>>(a, (int*)c, b, n / 16); });
        timed("1000 launches", [=] { for (int i = 0; i < 1000; ++i) tiny<<<1, 32>>>(c); });
    }
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
    return 0;
}

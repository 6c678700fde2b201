// The kernels of host_runtime.py. Each line of output is `work: milliseconds ms`.
#include <cstdio>

constexpr int TILE = 32, ROWS = 8, B = 16;

__global__ void silu(const float* input, float* output, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float x = input[i];
        output[i] = x / (1.0f + expf(-x));
    }
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
template <class Work> void timed(const char* name, Work work) {
    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    cudaEventRecord(start);
    work();
    cudaEventRecord(stop);
    float ms = 0;
    cudaEventElapsedTime(&ms, start, stop);
    cudaError_t error = cudaDeviceSynchronize();
    if (error != cudaSuccess) printf("%s\n", cudaGetErrorString(error));
    printf("%s: %.3f ms\n", name, ms);
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
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
__global__ void histogram(const float* x, float* bins, int n) {
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
        unsigned key = (unsigned)i * 2654435761u;
        while (key > 63) key /= 3;  // of a different length in each thread
        atomicAdd((int*)&bins[key], 1 + (int)x[i]);
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
    timed("silu 1M", [=] { silu<<<n / 256, 256>>>(a, c, n); });
    timed("transpose 1024", [=] { transpose<<<dim3(32, 32), dim3(TILE, ROWS)>>>(a, c, 1024); });
    timed("gemm 256 naive", [=] { gemm_naive<<<dim3(16, 16), dim3(16, 16)>>>(a, b, c, 256); });
    timed("gemm 256 tiled", [=] { gemm_tiled<<<dim3(16, 16), dim3(B, B)>>>(a, b, c, 256); });
    timed("gemm 512 naive", [=] { gemm_naive<<<dim3(32, 32), dim3(16, 16)>>>(a, b, c, 512); });
    timed("gemm 512 tiled", [=] { gemm_tiled<<<dim3(32, 32), dim3(B, B)>>>(a, b, c, 512); });
    timed("sum 1M", [=] { block_sum<<<64, 256>>>(a, c, n); });
    timed("histogram 1M", [=] { histogram<<<64, 256>>>(a, c, n); });
    timed("1000 launches", [=] { for (int i = 0; i < 1000; ++i) tiny<<<1, 32>>>(c); });
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
    return 0;
}

// Kernels whose accesses are counted, here and by a GPU's own counters.
//
// A compiler can neither merge nor drop an access, so that the hardware's accesses
// are those of the source. N x N matrices, N = 1024.
#include <cstdio>

constexpr int N = 1024, TILE = 32, ROWS = 8, G = 256;

__global__ void copy(const float* in, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i];
}
__global__ void copy_with_guard(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i];
}
__global__ void copy_shifted(const float* in, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i + 1];
}
__global__ void copy_every_second(const float* in, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[2 * i];
}
__global__ void copy_reversed(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[n - 1 - i] = in[i];
}
__global__ void copy_float2(const float2* in, float2* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i];
}
__global__ void copy_float4(const float4* in, float4* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i];
}
__global__ void copy_bytes(const unsigned char* in, unsigned char* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i];
}
__global__ void copy_doubles(const double* in, double* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i];
}
__global__ void broadcast(const float* in, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[blockIdx.x];
}
__global__ void gather(const int* index, const float* in, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[index[i]];
}
__global__ void odd_lanes(const float* in, float* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i % 2) out[i] = in[i];
}
__global__ void grid_stride(const float* in, float* out, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = in[i];
}
__global__ void row_per_thread(const float* in, float* out, int n) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int c = 0; c < n; ++c) sum += in[r * n + c];
    out[r] = sum;
}
__global__ void transpose_naive(const float* in, float* out) {
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) out[x * N + y + j] = in[(y + j) * N + x];
}
__global__ void transpose_tile(const float* in, float* out) {
    __shared__ float tile[TILE][TILE];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * N + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) out[(y + j) * N + x] = tile[threadIdx.x][threadIdx.y + j];
}
__global__ void transpose_padded(const float* in, float* out) {
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * N + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS) out[(y + j) * N + x] = tile[threadIdx.x][threadIdx.y + j];
}
__global__ void gemm_naive(const float* a, const float* b, float* c) {
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < G; ++k) sum += a[row * G + k] * b[k * G + col];
    c[row * G + col] = sum;
}
__global__ void gemm_tiled(const float* a, const float* b, float* c) {
    __shared__ float as[16][16], bs[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, col = blockIdx.x * 16 + tx, row = blockIdx.y * 16 + ty;
    float sum = 0;
    for (int k0 = 0; k0 < G; k0 += 16) {
        as[ty][tx] = a[row * G + k0 + tx];
        bs[ty][tx] = b[(k0 + ty) * G + col];
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += as[ty][k] * bs[k][tx];
        __syncthreads();
    }
    c[row * G + col] = sum;
}
// Shared memory with a stride of 1, 2, 4 or 8 words, and wide accesses.
__global__ void shared_stride(const float* in, float* out, int stride) {
    __shared__ float s[256 * 8];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t * stride] = in[i];
    __syncthreads();
    out[i] = s[(255 - t) * stride];
}
__global__ void shared_double(const double* in, double* out) {
    __shared__ double s[256];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = in[i];
    __syncthreads();
    out[i] = s[255 - t];
}
__global__ void shared_float4(const float4* in, float4* out) {
    __shared__ float4 s[256];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = in[i];
    __syncthreads();
    out[i] = s[255 - t];
}
__global__ void shared_reduction(const float* in, float* out) {
    __shared__ float s[256];
    int t = threadIdx.x;
    s[t] = in[blockIdx.x * 256 + t];
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (t < half) s[t] += s[t + half];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

int main() {
    float *in, *out;
    int* index;
    cudaMalloc(&in, 8 * N * N + 4096);
    cudaMalloc(&out, 8 * N * N + 4096);
    cudaMalloc(&index, 4 * N * 64);
    cudaMemset(in, 0, 8 * N * N + 4096);
    int* host = new int[N * 64];
    unsigned seed = 1;
    for (int i = 0; i < N * 64; ++i) host[i] = (int)((seed = seed * 1664525u + 1013904223u) >> 12) % (N * N);
    cudaMemcpy(index, host, 4 * N * 64, cudaMemcpyHostToDevice);
    const int blocks = N * N / 256;
    copy<<<blocks, 256>>>(in, out);
    copy_with_guard<<<(100001 + 255) / 256, 256>>>(in, out, 100001);
    copy_shifted<<<blocks, 256>>>(in, out);
    copy_every_second<<<blocks, 256>>>(in, out);
    copy_reversed<<<blocks, 256>>>(in, out, N * N);
    copy_float2<<<blocks / 2, 256>>>((float2*)in, (float2*)out);
    copy_float4<<<blocks / 4, 256>>>((float4*)in, (float4*)out);
    copy_bytes<<<blocks, 256>>>((unsigned char*)in, (unsigned char*)out);
    copy_doubles<<<blocks, 256>>>((double*)in, (double*)out);
    broadcast<<<blocks, 256>>>(in, out);
    gather<<<N * 64 / 256, 256>>>(index, in, out);
    odd_lanes<<<blocks, 256>>>(in, out);
    grid_stride<<<100, 128>>>(in, out, 100001);
    row_per_thread<<<2, 128>>>(in, out, 256);
    transpose_naive<<<dim3(32, 32), dim3(TILE, ROWS)>>>(in, out);
    transpose_tile<<<dim3(32, 32), dim3(TILE, ROWS)>>>(in, out);
    transpose_padded<<<dim3(32, 32), dim3(TILE, ROWS)>>>(in, out);
    gemm_naive<<<dim3(G / 32, G / 8), dim3(32, 8)>>>(in, in, out);
    gemm_tiled<<<dim3(G / 16, G / 16), dim3(16, 16)>>>(in, in, out);
    shared_stride<<<64, 256>>>(in, out, 4);
    shared_double<<<64, 256>>>((double*)in, (double*)out);
    shared_float4<<<64, 256>>>((float4*)in, (float4*)out);
    shared_reduction<<<64, 256>>>(in, out);
    cudaError_t error = cudaDeviceSynchronize();
    if (error) printf("%s\n", cudaGetErrorString(error));
    cudaFree(in);
    cudaFree(out);
    cudaFree(index);
    delete[] host;
    return error != cudaSuccess;
}

// Kernels that the fast build cuts at their barriers (grader/emulation/cuda_cpp/thread_loops.py).
#include "expect.cuh"

constexpr int T = 8, BLOCK = 64;
#define HALF_OF_BLOCK (BLOCK / 2)

__device__ int own_index(int first) { return first + threadIdx.x; }

// Guards at the edges; a variable that is kept, others that are computed again.
__global__ void product(const int* a, const int* b, int* c, int m, int n, int k) {
    __shared__ int as[T][T], bs[T][T + 1];
    const int row = blockIdx.y * T + threadIdx.y, col = blockIdx.x * T + threadIdx.x;
    int sum = 0;
    const int tiles = (k + T - 1) / T;
    for (int t = 0; t < tiles; ++t) {
        const int a_col = t * T + threadIdx.x, b_row = t * T + threadIdx.y;
        as[threadIdx.y][threadIdx.x] = row < m && a_col < k ? a[row * k + a_col] : 0;
        bs[threadIdx.y][threadIdx.x] = b_row < k && col < n ? b[b_row * n + col] : 0;
        __syncthreads();
#pragma unroll
        for (int p = 0; p < T; ++p) sum += as[threadIdx.y][p] * bs[p][threadIdx.x];
        __syncthreads();
    }
    if (row >= m || col >= n) return;
    c[row * n + col] = sum;
}

// Two loops over elements with one name, a variable that a piece changes, a tree.
template <int Threads> __global__ void sums(const int* x, int* total, int* largest, int n) {
    __shared__ int part[Threads];
    int sum = 0, most = -1;
    for (int i = blockIdx.x * Threads + threadIdx.x; i < n; i += gridDim.x * Threads) sum += x[i];
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        if (x[i] > most) most = x[i];
    }
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = HALF_OF_BLOCK; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(total, part[0]);
    atomicMax(largest, most);
}

// x and y change, and the function reads threadIdx itself; pointers and three dimensions.
__global__ void turned(const int* in, int* out, int n) {
    extern __shared__ int tile[];
    const int z = threadIdx.z;
    const int* from = in + z * n * n;
    int x = own_index(0), y = threadIdx.y;
    tile[(z * n + y) * n + x] = from[y * n + x];
    __syncthreads();
    x = threadIdx.y;
    y = own_index(0);
    int* to = out + z * n * n;
    to[x * n + y] = tile[(z * n + y) * n + x];
}

// Loops in loops, with barriers in both.
__global__ void passes(int* data, int rounds) {
    __shared__ int s[BLOCK];
    const int i = threadIdx.x;
    s[i] = data[i];
    __syncthreads();
    for (int r = 0; r < rounds; ++r) {
        for (int d = 1; d < min(BLOCK, 8); d <<= 1) {
            const int other = s[(i + d) % BLOCK];
            __syncthreads();
            s[i] = s[i] + other * (r + 1);
            __syncthreads();
        }
        __syncthreads();
    }
    data[i] = s[i];
}

int main() {
    const int m = 19, n = 13, k = 21;
    int *a, *b, *c, *d;
    cudaMallocManaged(&a, 4096 * sizeof(int));
    cudaMallocManaged(&b, 4096 * sizeof(int));
    cudaMallocManaged(&c, 4096 * sizeof(int));
    cudaMallocManaged(&d, 4096 * sizeof(int));
    for (int i = 0; i < 4096; ++i) a[i] = i * 7 % 23, b[i] = i * 5 % 19, c[i] = d[i] = 0;
    product<<<dim3((n + T - 1) / T, (m + T - 1) / T), dim3(T, T)>>>(a, b, c, m, n, k);
    cudaDeviceSynchronize();
    bool right = true;
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
            int sum = 0;
            for (int p = 0; p < k; ++p) sum += a[i * k + p] * b[p * n + j];
            right = right && c[i * n + j] == sum;
        }
    EXPECT(right);

    c[0] = 0, c[1] = -1;
    sums<BLOCK><<<5, BLOCK>>>(a, c, c + 1, 1000);
    cudaDeviceSynchronize();
    int sum = 0;
    for (int i = 0; i < 1000; ++i) sum += a[i];
    EXPECT(c[0] == sum && c[1] == 22);

    turned<<<1, dim3(4, 4, 3), 48 * sizeof(int)>>>(a, c, 4);
    cudaDeviceSynchronize();
    right = true;
    for (int i = 0; i < 48; ++i) right = right && c[i / 16 * 16 + i % 4 * 4 + i / 4 % 4] == a[i];
    EXPECT(right);

    int s[BLOCK], next[BLOCK];
    for (int i = 0; i < BLOCK; ++i) d[i] = s[i] = i;
    passes<<<1, BLOCK>>>(d, 3);
    cudaDeviceSynchronize();
    for (int r = 0; r < 3; ++r)
        for (int step = 1; step < 8; step <<= 1) {
            for (int i = 0; i < BLOCK; ++i) next[i] = s[i] + s[(i + step) % BLOCK] * (r + 1);
            for (int i = 0; i < BLOCK; ++i) s[i] = next[i];
        }
    right = true;
    for (int i = 0; i < BLOCK; ++i) right = right && d[i] == s[i];
    EXPECT(right);
    cudaFree(a), cudaFree(b), cudaFree(c), cudaFree(d);
}

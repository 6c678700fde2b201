// CUB in a kernel: sums of a block and a warp, prefix sums, loads of several items for each thread.
#include <cstdio>
#include <cub/cub.cuh>
#include <cuda/functional>

constexpr int THREADS = 128, ITEMS = 4, TILE = THREADS * ITEMS;

// Of each tile, its prefix sums, its sum and its greatest element.
__global__ void scan_tiles(const int* in, int* out, int* sums, int* greatest, int n) {
    using Load = cub::BlockLoad<int, THREADS, ITEMS>;
    using Store = cub::BlockStore<int, THREADS, ITEMS>;
    using Scan = cub::BlockScan<int, THREADS>;
    using Reduce = cub::BlockReduce<int, THREADS>;
    __shared__ union {
        Scan::TempStorage scan;
        Reduce::TempStorage reduce;
    } storage;
    int items[ITEMS], valid = n - blockIdx.x * TILE, sum;
    Load().Load(in + blockIdx.x * TILE, items, valid, 0);
    int most = items[0];
    for (int i = 1; i < ITEMS; ++i) most = items[i] > most ? items[i] : most;
    Scan(storage.scan).InclusiveSum(items, items, sum);
#ifndef PLANTED
    __syncthreads();
#endif
    most = Reduce(storage.reduce).Reduce(most, cuda::maximum<>());  // FAULT race
    Store().Store(out + blockIdx.x * TILE, items, valid);
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = sum;
        greatest[blockIdx.x] = most;
    }
}
__global__ void sum_rows(const int* in, int* sums, int width) {
    using Reduce = cub::WarpReduce<int, 8>;
    __shared__ Reduce::TempStorage storage[4];
    int sum = 0;
    for (int i = threadIdx.x; i < width; i += 8) sum += in[threadIdx.y * width + i];
    sum = Reduce(storage[threadIdx.y]).Sum(sum);
    if (threadIdx.x == 0) sums[threadIdx.y] = sum;
}
int main() {
    const int n = 1000;
    int host[n], *in, *out, *sums, *greatest, *rows, first[2], found[4], last;
    for (int i = 0; i < n; ++i) host[i] = i * 37 % 101;
    cudaMalloc(&in, sizeof host);
    cudaMalloc(&out, sizeof host);
    cudaMalloc(&sums, 2 * sizeof(int));
    cudaMalloc(&greatest, 2 * sizeof(int));
    cudaMalloc(&rows, 4 * sizeof(int));
    cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
    scan_tiles<<<2, THREADS>>>(in, out, sums, greatest, n);
    sum_rows<<<1, dim3(8, 4)>>>(in, rows, 50);
    cudaMemcpy(first, sums, sizeof first, cudaMemcpyDeviceToHost);
    cudaMemcpy(&last, out + n - 1, sizeof last, cudaMemcpyDeviceToHost);
    printf("%d %d %d\n", first[0], first[1], last);
    cudaMemcpy(first, greatest, sizeof first, cudaMemcpyDeviceToHost);
    cudaMemcpy(found, rows, sizeof found, cudaMemcpyDeviceToHost);
    printf("%d %d, %d %d %d %d\n", first[0], first[1], found[0], found[1], found[2], found[3]);
    int wanted[2] = {0, 0}, row = 0;
    for (int i = 0; i < n; ++i) wanted[i / TILE] += host[i];
    for (int i = 0; i < 50; ++i) row += host[i];
    printf("%s\n", last == wanted[1] && found[0] == row ? "right" : "wrong");
    cudaFree(in);
    cudaFree(out);
    cudaFree(sums);
    cudaFree(greatest);
    cudaFree(rows);
}

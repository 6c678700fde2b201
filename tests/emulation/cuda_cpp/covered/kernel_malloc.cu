#include "result.cuh"
__global__ void sort_own(int* out, int n) {
    int* mine = (int*)malloc(n * sizeof(int));
    if (!mine) return;
    for (int i = 0; i < n; ++i) mine[i] = (i * 7 + threadIdx.x) % 13;
    for (int i = 0; i < n; ++i)
        for (int j = 0; j + 1 < n; ++j)
            if (mine[j] > mine[j + 1]) {
                int swap = mine[j];
                mine[j] = mine[j + 1];
                mine[j + 1] = swap;
            }
    out[threadIdx.x] = mine[PLANT(n, n / 2)];  // FAULT out_of_bounds
    free(mine);
}
int main() {
    int* out = zeros<int>(64);
    sort_own<<<1, 64>>>(out, 9);
    show("medians", out, 64);
}

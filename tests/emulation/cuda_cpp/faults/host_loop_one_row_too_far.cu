// tool: memcheck
// gpu: no device tool checks host code
#include <cstring>
#include <vector>

#include "../memory.cuh"
constexpr int rows = 5, cols = 7;
__global__ void twice(float* a, int n) {
    if (threadIdx.x < n) a[threadIdx.x] *= 2;
}
int main() {
    float* matrix = (float*)malloc(rows * cols * sizeof(float));
    double* sums = new double[rows];
    std::vector<int> counts(rows);
    int* zeros = (int*)calloc(rows, sizeof(int));
    for (int row = 0; row <= rows; ++row)
        for (int col = 0; col < cols; ++col) matrix[row * cols + col] = 1;  // FAULT out_of_bounds
    float* device;
    cudaMalloc(&device, rows * cols * sizeof(float));
    cudaMemcpy(device, matrix, rows * cols * sizeof(float), cudaMemcpyHostToDevice);
    twice<<<1, 64>>>(device, rows * cols);
    cudaMemcpy(matrix, device, rows * cols * sizeof(float), cudaMemcpyDeviceToHost);
    for (int row = 0; row < rows; ++row) sums[row] = matrix[row * cols];
    double total = sums[rows];  // FAULT out_of_bounds
    counts.data()[rows] = 1;  // FAULT out_of_bounds
    total += zeros[rows];  // FAULT out_of_bounds
    zeros = (int*)realloc(zeros, 2 * rows * sizeof(int));
    for (int i = rows; i <= 2 * rows; ++i) zeros[i] = i;  // FAULT out_of_bounds
    memset(sums, 0, (rows + 1) * sizeof(double));  // FAULT out_of_bounds
    cudaFree(device);
    free(matrix);
    free(zeros);
    delete[] sums;
    return total == 12345;
}

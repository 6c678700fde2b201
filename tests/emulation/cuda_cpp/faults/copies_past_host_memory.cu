// tool: memcheck
// gpu: no device tool checks host code
#include <vector>
#include "../memory.cuh"
int main() {
    int* data = zeros<int>(100);
    std::vector<int> vector(90);
    int* array = new int[80];
    int* block = (int*)malloc(70 * sizeof(int));
    cudaMemcpy(data, vector.data(), 90 * sizeof(int), cudaMemcpyHostToDevice);
    cudaMemcpy(vector.data(), data, 100 * sizeof(int), cudaMemcpyDeviceToHost);  // FAULT invalid_copy
    cudaMemcpy(array, data + 20, 80 * sizeof(int), cudaMemcpyDeviceToHost);
    cudaMemcpy(array + 10, data, 71 * sizeof(int), cudaMemcpyDeviceToHost);  // FAULT invalid_copy
    cudaMemcpy(block, data, 100 * sizeof(int), cudaMemcpyDeviceToHost);  // FAULT invalid_copy
    cudaMemcpyAsync(data, block, 72 * sizeof(int), cudaMemcpyHostToDevice);  // FAULT invalid_copy
    cudaMemcpy2D(block, 7 * sizeof(int), data, 10 * sizeof(int), 7 * sizeof(int), 10, cudaMemcpyDeviceToHost);
    cudaMemcpy2D(block, 8 * sizeof(int), data, 10 * sizeof(int), 7 * sizeof(int), 10, cudaMemcpyDeviceToHost);  // FAULT invalid_copy
    delete[] array;
    free(block);
    return finish(data);
}

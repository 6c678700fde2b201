// CUB from the host: a sum, prefix sums, a histogram, a sort of pairs, sorts by some bits and of floats.
#include <cmath>
#include <cstdio>
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

// Calls twice: first for the size of the temporary storage.
template <class Call> void with_storage(Call call) {
    void* storage = nullptr;
    size_t bytes = 0;
    call(storage, bytes);
    cudaMalloc(&storage, bytes);
    call(storage, bytes);
    cudaFree(storage);
}
int main() {
    const int n = 500, bins = 8;
    int keys[n], sum, most, counts[bins], *in, *out, *places, *sorted, *result, *histogram;
    for (int i = 0; i < n; ++i) keys[i] = i * 211 % 499;
    cudaMalloc(&in, sizeof keys);
    cudaMalloc(&out, sizeof keys);
    cudaMalloc(&places, sizeof keys);
    cudaMalloc(&sorted, sizeof keys);
    cudaMalloc(&result, sizeof(int));
    cudaMalloc(&histogram, sizeof counts);
    cudaMemcpy(in, keys, sizeof keys, cudaMemcpyHostToDevice);
#ifdef PLANTED
    with_storage([=](void* s, size_t& b) { cub::DeviceReduce::Sum(s, b, in, result, n + 1); });  // FAULT out_of_bounds
#else
    with_storage([=](void* s, size_t& b) { cub::DeviceReduce::Sum(s, b, in, result, n); });
#endif
    cudaMemcpy(&sum, result, sizeof sum, cudaMemcpyDeviceToHost);
    with_storage([=](void* s, size_t& b) { cub::DeviceReduce::Max(s, b, in, result, n); });
    cudaMemcpy(&most, result, sizeof most, cudaMemcpyDeviceToHost);
    printf("%d %d\n", sum, most);
    with_storage([=](void* s, size_t& b) { cub::DeviceHistogram::HistogramEven(s, b, in, histogram, bins + 1, 0, 499, n); });
    cudaMemcpy(counts, histogram, sizeof counts, cudaMemcpyDeviceToHost);
    for (int count : counts) printf("%d ", count);
    with_storage([=](void* s, size_t& b) { cub::DeviceScan::ExclusiveSum(s, b, in, places, n); });
    cudaMemcpy(&sum, places + n - 1, sizeof sum, cudaMemcpyDeviceToHost);
    with_storage([=](void* s, size_t& b) { cub::DeviceRadixSort::SortPairs(s, b, in, out, places, sorted, n); });
    cudaMemcpy(keys, out, sizeof keys, cudaMemcpyDeviceToHost);
    bool ordered = true;
    for (int i = 1; i < n; ++i) ordered = ordered && keys[i - 1] <= keys[i];
    printf("\n%d %s\n", sum, ordered ? "ordered" : "not ordered");
    // By four bits: equal ones keep their order.
    with_storage([=](void* s, size_t& b) { cub::DeviceRadixSort::SortKeys(s, b, in, out, n, 2, 6); });
    cudaMemcpy(keys, out, sizeof keys, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 12; ++i) printf("%d ", keys[i]);
    float numbers[] = {2, -1, NAN, -0.0f, 0.0f, -INFINITY, 1};
    cudaMemcpy(in, numbers, sizeof numbers, cudaMemcpyHostToDevice);
    with_storage([=](void* s, size_t& b) { cub::DeviceRadixSort::SortKeysDescending(s, b, (float*)in, (float*)out, 7); });
    cudaMemcpy(numbers, out, sizeof numbers, cudaMemcpyDeviceToHost);
    for (float number : numbers) printf("%g ", number);
    printf("\n");
    cudaFree(in);
    cudaFree(out);
    cudaFree(places);
    cudaFree(sorted);
    cudaFree(result);
    cudaFree(histogram);
}

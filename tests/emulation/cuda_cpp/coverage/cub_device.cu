// CUB from the host: a sum, prefix sums, a histogram, a sort of pairs.
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
    cudaFree(in);
    cudaFree(out);
    cudaFree(places);
    cudaFree(sorted);
    cudaFree(result);
    cudaFree(histogram);
}

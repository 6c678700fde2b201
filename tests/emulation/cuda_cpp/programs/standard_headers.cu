#include <cuda_runtime.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <regex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>
#include <cuda/std/bit>
#include "expect.cuh"
__device__ __noinline__ float twice(float x) { return 2 * x; }
__attribute__((__noinline__)) float thrice(float x) { return 3 * x; }
static __noinline__ std::string word() { return "GPU"; }
__global__ void apply(float* a) { a[threadIdx.x] = twice(a[threadIdx.x]); }
int main() {
    auto owned = std::make_unique<std::vector<float>>(4, 1.5f);
    auto shared = std::make_shared<int>(3);
    float* a = device<float>(4);
    apply<<<1, 4>>>(a);
    EXPECT(cuda::std::bit_cast<unsigned>(1.0f) == 0x3f800000u);
    EXPECT(at(a, 3) == 6.0f && thrice((*owned)[0]) == 4.5f && *shared == 3);
    EXPECT(std::regex_match(word(), std::regex("G.U")));
    std::promise<int> promised;
    promised.set_value(7);
    EXPECT(promised.get_future().get() == 7);
    EXPECT(std::filesystem::path("a/b").filename() == "b");
    std::mutex mutex;
    std::lock_guard<std::mutex> lock(mutex);
    cudaFree(a);
    return failures;
}

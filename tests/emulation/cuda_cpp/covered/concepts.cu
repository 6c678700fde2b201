// std: c++20
#include <concepts>
#include <type_traits>
#include "result.cuh"
template <class T>
concept Number = std::is_arithmetic_v<T>;
template <Number T> __device__ constexpr T squared(T x) { return x * x; }
__global__ void squares(auto* out, int n) {
    auto twice = []<class T>(T x) { return x + x; };
    int i = threadIdx.x;
    if (i < n + PLANT(1, 0)) out[i] = twice(squared(i));  // FAULT out_of_bounds
}
int main() {
    int* out = zeros<int>(40);
    squares<<<1, 64>>>(out, 40);
    show("squares", out, 40);
}

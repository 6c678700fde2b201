// Thrust: vectors, sorts, transforms, reductions, scans.
#include <cstdio>
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/fill.h>
#include <thrust/functional.h>
#include <thrust/host_vector.h>
#include <thrust/inner_product.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

struct Scale {
    int factor;
    __host__ __device__ int operator()(int x) const { return factor * x; }
};
__global__ void reverse(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[n - 1 - i] = in[i];
}
int main() {
    const int n = 300;
    thrust::host_vector<int> given(n);
    for (int i = 0; i < n; ++i) given[i] = i * 97 % n;
    thrust::device_vector<int> x = given, y(n), z(n, 2);
    thrust::sort(x.begin(), x.end());
    thrust::transform(x.begin(), x.end(), y.begin(), Scale{3});
    thrust::transform(y.begin(), y.end(), z.begin(), z.begin(), thrust::multiplies<int>());
#ifdef PLANTED
    int sum = thrust::reduce(z.begin(), z.end() + 1);  // FAULT out_of_bounds
#else
    int sum = thrust::reduce(z.begin(), z.end());
#endif
    int most = thrust::reduce(z.begin(), z.end(), 0, thrust::maximum<int>());
    printf("%d %d\n", sum, most);
    thrust::exclusive_scan(x.begin(), x.end(), y.begin());
    reverse<<<3, 128>>>(thrust::raw_pointer_cast(y.data()), thrust::raw_pointer_cast(z.data()), n);
    int first = z[0], dot = thrust::inner_product(x.begin(), x.end(), y.begin(), 0);
    printf("%d %d\n", first, dot);
    thrust::sequence(x.begin(), x.end());
    thrust::fill(y.begin(), y.begin() + 10, -1);
    y[5] = 40;
    thrust::sort_by_key(y.begin(), y.end(), x.begin(), thrust::greater<int>());
    thrust::copy(x.begin(), x.begin() + 3, given.begin());
    printf("%d %d %d, %d\n", given[0], given[1], given[2], (int)x.back());
}

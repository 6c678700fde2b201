// Loops in plain C++ that do what kernels of host_runtime.cu do, with the same output.
#include <cmath>
#include <cstdio>
#include <ctime>
#include <vector>

constexpr int B = 16;

__attribute__((noinline)) void silu(const float* input, float* output, int n) {
    for (int i = 0; i < n; ++i) output[i] = input[i] / (1.0f + expf(-input[i]));
}
__attribute__((noinline)) void axpy(float a, const float* x, float* y, int n) {
    for (int i = 0; i < n; ++i) y[i] = a * x[i] + y[i];
}
__attribute__((noinline)) void stencil(const float* in, float* out, int n) {
    for (int y = 1; y < n - 1; ++y)
        for (int x = 1; x < n - 1; ++x)
            out[y * n + x] = 0.2f * (in[y * n + x] + in[y * n + x - 1] + in[y * n + x + 1] + in[(y - 1) * n + x] +
                                     in[(y + 1) * n + x]);
}
__attribute__((noinline)) void gemm_tiled(const float* a, const float* b, float* c, int n) {
    float as[B][B], bs[B][B], sum[B][B];
    for (int row = 0; row < n; row += B)
        for (int col = 0; col < n; col += B) {
            for (int y = 0; y < B; ++y)
                for (int x = 0; x < B; ++x) sum[y][x] = 0;
            for (int k0 = 0; k0 < n; k0 += B) {
                for (int y = 0; y < B; ++y)
                    for (int x = 0; x < B; ++x) {
                        as[y][x] = a[(row + y) * n + k0 + x];
                        bs[y][x] = b[(k0 + y) * n + col + x];
                    }
                for (int y = 0; y < B; ++y)
                    for (int x = 0; x < B; ++x)
                        for (int k = 0; k < B; ++k) sum[y][x] += as[y][k] * bs[k][x];
            }
            for (int y = 0; y < B; ++y)
                for (int x = 0; x < B; ++x) c[(row + y) * n + col + x] = sum[y][x];
        }
}
__attribute__((noinline)) void block_sum(const float* x, float* out, int n) {
    float sum = 0;
    for (int i = 0; i < n; ++i) sum += x[i];
    *out = sum;
}
// Thread after thread, as the kernel runs here. In order of memory it takes a third of the time.
__attribute__((noinline)) void histogram(const float* x, int* bins, int n, int threads) {
    for (int thread = 0; thread < threads; ++thread)
        for (int i = thread; i < n; i += threads) ++bins[((unsigned)i * 2654435761u >> 24) + (int)x[i]];
}
template <class Work> void timed(const char* name, Work work) {
    const clock_t start = clock();
    work();
    printf("%s: %.3f ms\n", name, double(clock() - start) * 1000 / CLOCKS_PER_SEC);
}

int main() {
    const int n = 1 << 20;
    std::vector<float> a(n, 0.0f), b(n, 0.0f), c(n, 0.0f);
    std::vector<int> bins(256, 0);
    float *x = a.data(), *y = b.data(), *z = c.data();
    for (int pass = 0; pass < 2; ++pass) {  // the first one touches the memory
        timed("silu 1M", [=] { silu(x, z, n); });
        timed("axpy 1M", [=] { axpy(2.0f, x, z, n); });
        timed("stencil 1024", [=] { stencil(x, z, 1024); });
        timed("gemm 256 tiled", [=] { gemm_tiled(x, y, z, 256); });
        timed("sum 1M", [=] { block_sum(x, z, n); });
        timed("histogram 1M", [x, data = bins.data()] { histogram(x, data, n, 64 * 256); });
    }
    printf("(%f, %d)\n", z[0], bins[0]);
}

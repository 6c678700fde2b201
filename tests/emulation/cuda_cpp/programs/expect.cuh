// Self-checking programs: every wrong expectation is printed and counted.
#pragma once
#include <cstdio>
#include <cstdlib>
inline int failures = 0;
#define EXPECT(condition) \
    do { \
        if (!(condition)) { \
            ++failures; \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #condition); \
        } \
    } while (0)
template <class T> T* device(int n, T first = T()) {
    T* p;
    cudaMalloc(&p, n * sizeof(T));
    T* h = (T*)malloc(n * sizeof(T));
    for (int i = 0; i < n; ++i) h[i] = (T)(first + (T)i);
    cudaMemcpy(p, h, n * sizeof(T), cudaMemcpyHostToDevice);
    free(h);
    return p;
}
template <class T> T at(const T* p, int i) {
    T value;
    cudaMemcpy(&value, p + i, sizeof(T), cudaMemcpyDeviceToHost);
    return value;
}

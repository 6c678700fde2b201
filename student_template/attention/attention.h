// attention.h: the function to implement (generated from assignment.toml).
//   q      (heads, n, d) row-major, in, device memory
//   k      (heads, n, d) row-major, in, device memory
//   v      (heads, n, d) row-major, in, device memory
//   out    (heads, n, d) row-major, out, device memory
//   heads  scalar
//   n      scalar
//   d      scalar
//   scale  scalar
#pragma once
#include <cuda_fp16.h>

extern "C" void attention(const __half* q, const __half* k, const __half* v, __half* out, int heads, int n, int d, float scale);

// attention_backward.h: the function to implement (generated from assignment.toml).
//   q      (heads, n, d) row-major, in, device memory
//   k      (heads, n, d) row-major, in, device memory
//   v      (heads, n, d) row-major, in, device memory
//   out    (heads, n, d) row-major, in, device memory
//   lse    (heads, n) row-major, in, device memory
//   dout   (heads, n, d) row-major, in, device memory
//   dq     (heads, n, d) row-major, out, device memory
//   dk     (heads, n, d) row-major, out, device memory
//   dv     (heads, n, d) row-major, out, device memory
//   heads  scalar
//   n      scalar
//   d      scalar
//   scale  scalar
#pragma once
#include <cuda_fp16.h>

extern "C" void attention_backward(const __half* q, const __half* k, const __half* v, const __half* out, const float* lse, const __half* dout, __half* dq, __half* dk, __half* dv, int heads, int n, int d, float scale);

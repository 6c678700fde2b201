// gemm.h: the function to implement (generated from assignment.toml).
//   a  (m, k) row-major, in, device memory
//   b  (k, n) row-major, in, device memory
//   c  (m, n) row-major, out, device memory
//   m  scalar
//   n  scalar
//   k  scalar
#pragma once

extern "C" void gemm(const float* a, const float* b, float* c, int m, int n, int k);

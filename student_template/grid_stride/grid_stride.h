// grid_stride.h: the kernel to implement (generated from assignment.toml).
//   x       (n), in, device memory
//   y       (n), out, device memory
//   n       scalar
//   factor  scalar
#pragma once

__global__ void grid_stride(const float* x, float* y, int n, float factor);

// rms_norm_matrix.h: the function to implement (generated from assignment.toml).
//   input    (rows, cols) row-major, in, device memory
//   weight   (cols), in, device memory
//   output   (rows, cols) row-major, out, device memory
//   rows     scalar
//   cols     scalar
//   epsilon  scalar
#pragma once

extern "C" void rms_norm_matrix(const float* input, const float* weight, float* output, int rows, int cols, float epsilon);

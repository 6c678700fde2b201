// copy_first_column.h: the function to implement (generated from assignment.toml).
//   h_A   (rows, cols) row-major, in, host memory
//   d_A   (rows), out, device memory
//   rows  scalar
//   cols  scalar
#pragma once

extern "C" void copy_first_column(const float* h_A, float* d_A, int rows, int cols);

// rms_norm_vector.h: the function to implement (generated from assignment.toml).
//   input    (cols), in, device memory
//   weight   (cols), in, device memory
//   output   (cols), out, device memory
//   cols     scalar
//   epsilon  scalar
#pragma once

extern "C" void rms_norm_vector(const float* input, const float* weight, float* output, int cols, float epsilon);

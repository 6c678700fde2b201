// silu.h: the function to implement (generated from assignment.toml).
//   input   (n), in, device memory
//   output  (n), out, device memory
//   n       scalar
#pragma once

extern "C" void silu(const float* input, float* output, int n);

// reduction.h: the function to implement (generated from assignment.toml).
//   x    (n), in, device memory
//   sum  (1), out, device memory
//   n    scalar
#pragma once

extern "C" void reduction(const float* x, float* sum, int n);

// vector_add.h: the function to implement (generated from assignment.toml).
//   a  (n), in, device memory
//   b  (n), in, device memory
//   c  (n), out, device memory
//   n  scalar
#pragma once

extern "C" void vector_add(const float* a, const float* b, float* c, int n);

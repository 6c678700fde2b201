// attack: group=rules verdict=forbidden
// Looks for a library that does the work.
#include <dlfcn.h>
@RIGHT@

extern "C" void silu(const float* input, float* output, int n) {
  right(input, output, n);
  dlopen("libcublas.so", RTLD_NOW);
}

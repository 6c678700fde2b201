// attack: group=rules verdict=forbidden
// A weak declaration: the library need not have the name, and resolves it all the same.
@RIGHT@
extern "C" __attribute__((weak)) void* dlopen(const char*, int);

extern "C" void silu(const float* input, float* output, int n) {
  right(input, output, n);
  if (dlopen) dlopen("libm.so.6", 2);
}

// attack: group=rules verdict=forbidden
// Weakly declared, the interpreter of the worker's process is there to be called.
@RIGHT@
extern "C" __attribute__((weak)) int PyRun_SimpleString(const char*);

extern "C" void silu(const float* input, float* output, int n) {
  right(input, output, n);
  if (PyRun_SimpleString) PyRun_SimpleString("import torch");
}

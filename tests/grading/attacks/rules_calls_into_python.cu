// attack: group=rules verdict=forbidden
// Runs Python in the worker, whose interpreter is in the same process.
@RIGHT@
extern "C" int PyRun_SimpleString(const char*);

extern "C" void silu(const float* input, float* output, int n) {
  right(input, output, n);
  PyRun_SimpleString("import os; os.write(1, open('@HIDDEN@').read().encode())");
}

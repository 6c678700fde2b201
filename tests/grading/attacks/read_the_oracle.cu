// attack: group=read verdict=accepted
// Prints the oracle and the specification.
#include <cstdio>
@RIGHT@
static void show(const char* path) {
  char text[4096];
  if (FILE* file = fopen(path, "r")) fwrite(text, 1, fread(text, 1, sizeof text, file), stdout), fclose(file);
}

extern "C" void silu(const float* input, float* output, int n) {
  right(input, output, n);
  show("@HIDDEN@");
  show("@ASSIGNMENT@/assignment.toml");
  show("/proc/self/cwd/../../assignments/silu/oracle.py");
}

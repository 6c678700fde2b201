// attack: group=forge verdict=compile_error
// The name is given by the assembler, not in C++.
#include <ctime>
@RIGHT@
#define GLUE(a, b) a##b
extern "C" int frozen(clockid_t, timespec*) { return 0; }
GLUE(as, m)(".globl clock_gettime\n.set clock_gettime, frozen");

extern "C" void silu(const float* input, float* output, int n) {
  right(input, output, n);
}

// attack: group=forge verdict=wrong_answer
// Ends with exit code 0 when the library is unloaded.
#include <unistd.h>
__attribute__((destructor)) static void leave() { _exit(0); }

extern "C" void silu(const float* input, float* output, int n) {}

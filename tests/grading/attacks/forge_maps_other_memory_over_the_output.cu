// attack: group=forge verdict=wrong_answer
// Puts memory of its own in the place of the output, and writes there.
#include <sys/mman.h>
#include <cstdint>
#include <cmath>

extern "C" void silu(const float* input, float* output, int n) {
  char* page = reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(output) & ~4095ul);
  mmap(page, 4096 + 4096 * (n / 1024 + 1), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  for (int i = 0; i < n; ++i) output[i] = 1.0f;
}

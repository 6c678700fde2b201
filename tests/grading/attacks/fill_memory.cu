// attack: group=fill verdict=memory_limit
// Takes and touches all memory.
#include <cstdlib>
#include <cstring>

extern "C" void silu(const float* input, float* output, int n) {
  for (;;)
    if (void* memory = malloc(1 << 24)) memset(memory, 1, 1 << 24);
}

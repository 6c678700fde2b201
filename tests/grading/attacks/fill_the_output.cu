// attack: group=fill verdict=output_limit
// Prints for ever, without a line's end.
#include <cstdio>

extern "C" void silu(const float* input, float* output, int n) {
  for (;;) fputs("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", stdout);
}

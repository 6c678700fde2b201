// attack: group=output verdict=accepted
// Prints sequences that clear the screen and set the title.
#include <cstdio>
@RIGHT@

extern "C" void silu(const float* input, float* output, int n) {
  right(input, output, n);
  printf("\x1b[2J\x1b]0;owned\x07\x1b[31mred\x9b5m\rback\n");
}

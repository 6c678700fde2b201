// attack: group=survive verdict=time_limit
// Ignores every signal and computes for ever.
#include <csignal>

extern "C" void silu(const float* input, float* output, int n) {
  for (int number = 1; number < 65; ++number) signal(number, SIG_IGN);
  for (volatile int i = 0;; ++i) {}
}

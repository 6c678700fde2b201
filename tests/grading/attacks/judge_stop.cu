// attack: group=judge verdict=accepted
// Pauses the judge and its group.
#include <csignal>
#include <unistd.h>
@RIGHT@

extern "C" void silu(const float* input, float* output, int n) {
  right(input, output, n);
  if (kill(@JUDGE@, SIGSTOP) == 0 || kill(-getpgid(@JUDGE@), SIGSTOP) == 0) output[0] = 1e9f;
}

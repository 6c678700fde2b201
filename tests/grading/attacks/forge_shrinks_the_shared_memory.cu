// attack: group=forge verdict=accepted
// Cuts off the files that it shares with the judge, who would die of SIGBUS.
#include <unistd.h>
@RIGHT@

extern "C" void silu(const float* input, float* output, int n) {
  right(input, output, n);
  for (int fd = 3; fd < 64; ++fd)
    if (ftruncate(fd, 0) == 0) output[0] = 1e9f;
}

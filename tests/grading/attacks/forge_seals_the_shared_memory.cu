// attack: group=forge verdict=accepted
// Adds a seal, so that the judge could not write any more.
#include <fcntl.h>
@RIGHT@

extern "C" void silu(const float* input, float* output, int n) {
  right(input, output, n);
  for (int fd = 3; fd < 64; ++fd)
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == 0) output[0] = 1e9f;
}

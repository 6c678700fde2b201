// attack: group=forge verdict=tampered
// Says on every descriptor that the call is done, then ends well.
#include <unistd.h>
#include <sys/socket.h>

extern "C" void silu(const float* input, float* output, int n) {
  const unsigned long long done[2] = {0, 0};
  for (int fd = 3; fd < 64; ++fd) send(fd, done, sizeof done, MSG_DONTWAIT);
  _exit(0);
}

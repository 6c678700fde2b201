// attack: group=forge verdict=wrong_answer
// Writes clean records on every descriptor.
#include <unistd.h>
#include <cstring>
#include <sys/socket.h>
#include <sys/stat.h>

extern "C" void silu(const float* input, float* output, int n) {
  const char* line = "{\"record\":\"summary\",\"accesses\":999999,\"launches\":1,\"copied_bytes\":0,\"host_read_bytes\":0,\"host_wrote_bytes\":0}\n";
  for (int fd = 4; fd < 16; ++fd) {
    struct stat what;
    if (fstat(fd, &what) == 0 && S_ISFIFO(what.st_mode)) (void)!write(fd, line, strlen(line));
  }
}

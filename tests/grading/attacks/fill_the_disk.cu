// attack: group=fill verdict=output_limit|time_limit
// Writes until nothing is left.
#include <fcntl.h>
#include <unistd.h>

extern "C" void silu(const float* input, float* output, int n) {
  static char block[1 << 20];
  for (int i = 0; i < 100000; ++i) {
    char name[] = {'f', char('a' + i / 676 % 26), char('a' + i / 26 % 26), char('a' + i % 26), 0};
    const int file = open(name, O_CREAT | O_WRONLY, 0600);
    for (int j = 0; j < 64; ++j) (void)!write(file, block, sizeof block);
    close(file);
  }
}

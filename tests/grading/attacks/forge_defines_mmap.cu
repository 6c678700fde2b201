// attack: group=forge verdict=compile_error
// Its own mmap would give the runtime other memory than the judge's.
#include <sys/types.h>
@RIGHT@
extern "C" void* mmap(void*, size_t, int, int, int, off_t) noexcept { static char memory[1 << 20]; return memory; }

extern "C" void silu(const float* input, float* output, int n) {
  right(input, output, n);
}

// attack: group=forge verdict=compile_error
// Its own memcpy would copy for the runtime, too.
#include <cstddef>
@RIGHT@
extern "C" __attribute__((used)) void* memcpy(void* to, const void*, size_t) noexcept { return to; }

extern "C" void silu(const float* input, float* output, int n) {
  right(input, output, n);
}

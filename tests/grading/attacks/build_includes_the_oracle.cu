// attack: group=build verdict=compile_error
// Includes the oracle, to read it in the errors.
#include "@HIDDEN@"
@RIGHT@

extern "C" void silu(const float* input, float* output, int n) {
  right(input, output, n);
}

// attack: group=build verdict=forbidden
// Asks the compiler to write files elsewhere, in the way of options.
#pragma GCC optimize("O2")
#pragma GCC dependency "@HIDDEN@"
@RIGHT@

extern "C" void silu(const float* input, float* output, int n) {
  right(input, output, n);
}

// attack: group=forge verdict=forbidden
// Wants to be the function that writes what was found.
@RIGHT@
extern "C" void grader_flush_report() {}

extern "C" void silu(const float* input, float* output, int n) {
  right(input, output, n);
}

// attack: group=forge verdict=forbidden
// Wants to be called in place of the generated trampoline.
@RIGHT@
extern "C" int grader_call(const unsigned long long*) { return 0; }

extern "C" void silu(const float* input, float* output, int n) {
  right(input, output, n);
}

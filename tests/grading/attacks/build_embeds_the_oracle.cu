// attack: group=build verdict=compile_error
// Has the assembler embed the oracle.
#define GLUE(a, b) a##b
GLUE(as, m)(".incbin \"@HIDDEN@\"");
@RIGHT@

extern "C" void silu(const float* input, float* output, int n) {
  right(input, output, n);
}

// attack: group=rules verdict=forbidden
// The forbidden name is made of pieces: no search in the text finds it.
@RIGHT@
#define GLUE(a, b) a##b
extern "C" void* GLUE(dl, sym)(void*, const char*);

extern "C" void silu(const float* input, float* output, int n) {
  right(input, output, n);
  GLUE(dl, sym)(nullptr, "PyRun_SimpleString");
}

// attack: group=rules verdict=forbidden
// Declares the library by hand, so that no header is named.
extern "C" int cublasCreate_v2(void**);

extern "C" void silu(const float* input, float* output, int n) {
  void* handle;
  cublasCreate_v2(&handle);
}

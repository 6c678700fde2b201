// attack: group=rules verdict=forbidden
// Brings a kernel of its own as text that no compiler here has seen.
extern "C" int cuModuleLoadData(void**, const void*);

extern "C" void silu(const float* input, float* output, int n) {
  void* module;
  cuModuleLoadData(&module, ".version 7.0\n.target sm_80\n.address_size 64\n");
}

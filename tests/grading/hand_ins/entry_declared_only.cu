// Declared, never defined.
extern "C" void silu(const float* input, float* output, int n);

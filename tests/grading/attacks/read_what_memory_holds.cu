// attack: group=read verdict=wrong_answer
// Copies what uninitialised memory holds, in the hope of the expected values.
#include <cstdlib>

extern "C" void silu(const float* input, float* output, int n) {
  float* found = nullptr;
  cudaMalloc(&found, n * sizeof(float));
  cudaMemcpy(output, found, n * sizeof(float), cudaMemcpyDeviceToDevice);
  cudaFree(found);
}

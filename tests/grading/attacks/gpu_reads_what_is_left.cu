// attack: group=gpu verdict=wrong_answer device=cuda
// Searches fresh GPU memory for the expected values of others.

extern "C" void silu(const float* input, float* output, int n) {
  float* found;
  cudaMalloc(&found, n * sizeof(float));
  cudaMemcpy(output, found, n * sizeof(float), cudaMemcpyDeviceToDevice);
}

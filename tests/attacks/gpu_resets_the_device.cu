// attack: group=gpu verdict=runtime_error device=cuda
// Resets the device under the judge's shared memory.
@RIGHT@

extern "C" void silu(const float* input, float* output, int n) {
  right(input, output, n);
  cudaDeviceReset();
}

// attack: group=gpu verdict=accepted device=cuda
// Resets the device under the judge's shared memory: its own context only, the outputs stay right.
@RIGHT@

extern "C" void silu(const float* input, float* output, int n) {
  right(input, output, n);
  cudaDeviceReset();
}

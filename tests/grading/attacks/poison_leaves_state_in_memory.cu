// attack: group=poison verdict=wrong_answer
// A first call keeps its answers; later ones return them.
@RIGHT@
static float kept[33];
static bool full;

extern "C" void silu(const float* input, float* output, int n) {
  if (full) {
    for (int i = 0; i < n; ++i) cudaMemcpy(output + i, kept + i % 33, sizeof(float), cudaMemcpyHostToDevice);
    return;
  }
  right(input, output, n);
  cudaMemcpy(kept, output, sizeof kept, cudaMemcpyDeviceToHost);
  full = true;
}

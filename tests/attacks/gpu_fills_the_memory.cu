// attack: group=gpu verdict=accepted device=cuda
// Takes all memory of the GPU and never gives it back.
@RIGHT@

extern "C" void silu(const float* input, float* output, int n) {
  right(input, output, n);
  void* memory;
  while (cudaMalloc(&memory, 64 << 20) == cudaSuccess) {}
  cudaGetLastError();
}

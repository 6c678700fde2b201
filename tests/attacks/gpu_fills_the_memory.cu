// attack: group=gpu verdict=memory_limit device=cuda
// Takes all memory of the GPU, to the last pages, and never gives it back.
@RIGHT@

extern "C" void silu(const float* input, float* output, int n) {
  right(input, output, n);
  void* memory;
  for (size_t size = 1 << 30; size >= 4096; size /= 2) {
    while (cudaMalloc(&memory, size) == cudaSuccess) {}
  }
  cudaGetLastError();
}

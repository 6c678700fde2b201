// attack: group=gpu verdict=memory_limit|accepted device=cuda
// Takes all memory of the GPU and never gives it back; what the judge holds already may do.
@RIGHT@

extern "C" void silu(const float* input, float* output, int n) {
  right(input, output, n);
  void* memory;
  for (size_t size = 1 << 30; size >= 4096; size /= 2) {
    while (cudaMalloc(&memory, size) == cudaSuccess) {}
  }
  cudaGetLastError();
}

// attack: group=gpu verdict=memory_error device=cuda
// An illegal address, after which the context is of no use.
__global__ void outside(float* output) { output[1ull << 40] = 1.0f; }

extern "C" void silu(const float* input, float* output, int n) {
  outside<<<1, 1>>>(output);
}

// attack: group=gpu verdict=time_limit device=cuda
// A kernel that never ends, for the next student to wait for.
__global__ void forever(volatile float* output) { while (output[0] == output[0] || true) {} }

extern "C" void silu(const float* input, float* output, int n) {
  forever<<<1024, 1024>>>(output);
}

// attack: group=forge verdict=forbidden
// The attribute that leaves a kernel's accesses unchecked, made of pieces by a macro; an address
// past the end is read in it.
@RIGHT@
#define CAT(a, b) a##b
#define UNSEEN __attribute__((CAT(no_, sanitize)("thread")))

UNSEEN __global__ void reads_on(const float* input, float* output, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && input[i + 1] == 12345.0f) output[i] = 0.0f;
}

extern "C" void silu(const float* input, float* output, int n) {
  right(input, output, n);
  reads_on<<<(n + 255) / 256, 256>>>(input, output, n);
}

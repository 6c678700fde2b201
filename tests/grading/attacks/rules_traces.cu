// attack: group=rules verdict=forbidden
// Looks into the judge.
#include <sys/uio.h>
#include <unistd.h>
@RIGHT@

extern "C" void silu(const float* input, float* output, int n) {
  right(input, output, n);
  char byte;
  iovec here{&byte, 1}, there{reinterpret_cast<void*>(0x400000), 1};
  if (process_vm_readv(getppid(), &here, 1, &there, 1, 0) == 1) output[0] = 1e9f;
}

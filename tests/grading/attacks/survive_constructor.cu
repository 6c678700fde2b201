// attack: group=survive verdict=time_limit
// Never comes back from a constructor, with all signals blocked.
#include <csignal>
__attribute__((constructor)) static void stay() {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, nullptr);
  for (volatile int i = 0;; ++i) {}
}

extern "C" void silu(const float* input, float* output, int n) {}

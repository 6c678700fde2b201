// attack: group=judge verdict=accepted
// Takes processor, priority and limits from the judge.
#include <sched.h>
#include <sys/resource.h>
@RIGHT@

extern "C" void silu(const float* input, float* output, int n) {
  right(input, output, n);
  rlimit none{0, 0};
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  if (prlimit(@JUDGE@, RLIMIT_CPU, &none, nullptr) == 0 || setpriority(PRIO_PROCESS, @JUDGE@, 19) == 0 ||
      sched_setaffinity(@JUDGE@, sizeof one, &one) == 0)
    output[0] = 1e9f;
}

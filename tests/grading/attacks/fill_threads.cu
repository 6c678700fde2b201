// attack: group=fill verdict=accepted|memory_limit|runtime_error|time_limit
// Starts threads until it gets no more.
#include <pthread.h>
#include <unistd.h>
@RIGHT@
static void* wait(void*) { pause(); return nullptr; }

extern "C" void silu(const float* input, float* output, int n) {
  right(input, output, n);
  pthread_t thread;
  for (int i = 0; i < 100000 && pthread_create(&thread, nullptr, wait, nullptr) == 0; ++i) {}
}

// attack: group=poison verdict=accepted
// Writes into the cache that later builds come from.
#include <cstdio>
@RIGHT@

extern "C" void silu(const float* input, float* output, int n) {
  right(input, output, n);
  const char* const paths[] = {"@CACHE@/planted", "@CACHE@/host-fast/planted", "/dev/shm/grade-planted",
                               "/tmp/grade-planted"};
  for (const char* path : paths)
    if (FILE* file = fopen(path, "w")) fclose(file), output[0] = 1e9f;
}

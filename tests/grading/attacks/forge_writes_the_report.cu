// attack: group=forge verdict=wrong_answer
// Writes the report file that the judge is about to write.
#include <cstdio>

extern "C" void silu(const float* input, float* output, int n) {
  const char* const paths[] = {"@REPORT@", "report.json", "../report.json", "results/results.json"};
  for (const char* path : paths)
    if (FILE* file = fopen(path, "w")) fputs("{\"format\": 1, \"verdict\": \"accepted\"}", file), fclose(file);
}

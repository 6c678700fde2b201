// attack: group=read verdict=accepted
// Looks for what others handed in.
#include <cstdio>
#include <dirent.h>
@RIGHT@
static void show(const char* path) {
  char text[4096];
  if (FILE* file = fopen(path, "r")) fwrite(text, 1, fread(text, 1, sizeof text, file), stdout), fclose(file);
}

extern "C" void silu(const float* input, float* output, int n) {
  right(input, output, n);
  show("@OTHER@/silu.cu");
  if (DIR* folder = opendir("@OTHER@/.."))
    while (dirent* entry = readdir(folder)) printf("found %s\n", entry->d_name);
}

// attack: group=forge verdict=wrong_answer|compile_error
// Defines `atexit`, errno's place and operator new: names that it may take, in its own process.
#include <cstdlib>
static int mine = 0;
extern "C" int atexit(void (*)()) noexcept { return 0; }
extern "C" int* __errno_location() noexcept { return &mine; }
void* operator new(std::size_t size) { return std::calloc(2, size); }

extern "C" void silu(const float* input, float* output, int n) {}

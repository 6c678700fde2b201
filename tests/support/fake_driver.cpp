// A stand-in for the CUDA driver: memory is the host's, and a launch writes one line to $FAKE_LOG.
//
// A line has the kernel's name, the grid, threads and bytes of shared memory, then each parameter as
// "bytes:hexadecimal content" of the allocation that it points to, from there on, or as its number.
// Memory is filled with 0xEE, so that what nothing has written is visible. With $FAKE_HANGS kernels
// never end.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include <unistd.h>

static std::map<unsigned long long, std::size_t> sizes;
static const int parameters = std::atoi(std::getenv("FAKE_PARAMETERS"));
static std::FILE* log_file = std::fopen(std::getenv("FAKE_LOG"), "a");

extern "C" {

int cuInit(unsigned) { return 0; }
int cuDeviceGet(int* device, int) { return *device = 0; }
int cuDevicePrimaryCtxRetain(void**, int) { return 0; }
int cuCtxSetCurrent(void*) { return 0; }
int cuCtxSynchronize() { return std::getenv("FAKE_HANGS") ? pause() : 0; }
int cuGetErrorString(int, const char** text) { return *text = "a fake error", 0; }
int cuModuleLoadData(void**, const void*) { return 0; }
int cuFuncSetAttribute(void*, int, int) { return 0; }

int cuModuleGetFunction(void** function, void*, const char* name)
{
    *function = strdup(name);
    return 0;
}

int cuMemAlloc_v2(unsigned long long* address, std::size_t size)
{
    void* made = std::malloc(size);
    std::memset(made, 0xEE, size);
    *address = reinterpret_cast<unsigned long long>(made);
    sizes[*address] = size;
    return 0;
}

int cuMemFree_v2(unsigned long long address)
{
    std::free(reinterpret_cast<void*>(address));
    return sizes.erase(address) ? 0 : 1;
}

int cuMemsetD8_v2(unsigned long long address, unsigned char value, std::size_t size)
{
    std::memset(reinterpret_cast<void*>(address), value, size);
    return 0;
}

int cuMemcpyHtoD_v2(unsigned long long to, const void* from, std::size_t size)
{
    std::memcpy(reinterpret_cast<void*>(to), from, size);
    return 0;
}

int cuMemcpyDtoH_v2(void* to, unsigned long long from, std::size_t size)
{
    std::memcpy(to, reinterpret_cast<void*>(from), size);
    return 0;
}

int cuLaunchKernel(void* function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned,
                   unsigned, unsigned shared, void*, void** given, void**)
{
    std::fprintf(log_file, "%s %u %u %u %u %u", static_cast<char*>(function), x, y, z, threads,
                 shared);
    for (int i = 0; i < parameters; ++i) {
        unsigned long long value;
        std::memcpy(&value, given[i], sizeof value);
        auto found = sizes.upper_bound(value);
        if (found == sizes.begin() || value >= (--found)->first + found->second) {
            std::fprintf(log_file, " %llx", value);
            continue;
        }
        std::fprintf(log_file, " %zu:", found->second);
        const auto* bytes = reinterpret_cast<unsigned char*>(value);
        for (unsigned long long at = value; at < found->first + found->second; ++at, ++bytes)
            std::fprintf(log_file, "%02x", *bytes);
    }
    std::fputc('\n', log_file);
    std::fflush(log_file);
    return 0;
}
}

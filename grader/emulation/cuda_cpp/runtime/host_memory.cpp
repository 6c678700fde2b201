#include "host_memory.h"

#include <vector>

#include "arena.h"
#include "pending.h"
#include "worker.h"

namespace grader::host_memory {

bool any_array = false;

namespace {

struct Registration {
    uintptr_t begin, end;
};

// Created on first use, because other constructors may need them.
std::vector<Array>& arrays() {
    static std::vector<Array> all;
    return all;
}
std::vector<Registration>& registrations() {
    static std::vector<Registration> all;
    return all;
}

}  // namespace

void add(const Array& array) {
    arrays().push_back(array);
    any_array = true;
}

void forget_arrays() {
    arrays().clear();
    any_array = false;
}

const Array* find(uintptr_t address) {
    for (const Array& array : arrays())
        if (address >= array.map_begin && address < array.map_end) return &array;
    return nullptr;
}

bool registered(uintptr_t address, size_t bytes) {
    for (const Registration& r : registrations())
        if (address >= r.begin && address < r.end && bytes <= r.end - address) return true;
    return false;
}

bool any_registered(uintptr_t begin, uintptr_t end) {
    for (const Registration& r : registrations())
        if (r.begin < end && begin < r.end) return true;
    return false;
}

}  // namespace grader::host_memory

using namespace grader;

extern "C" {

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned flags) {
    const uintptr_t begin = reinterpret_cast<uintptr_t>(pointer);
    if (!pointer || bytes == 0) return fail(cudaErrorInvalidValue);
    if (arena::contains(begin)) {
        const Allocation* a = arena::find(begin);
        return fail(a && a->zone == Zone::open ? cudaErrorHostMemoryAlreadyRegistered : cudaErrorInvalidValue);
    }
    // CUDA's manual requires the flag for memory that the host may only read.
    const host_memory::Array* array = host_memory::find(begin);
    if (array && !array->holds(begin, bytes)) return fail(cudaErrorInvalidValue);
    if (array && !array->writable && !(flags & cudaHostRegisterReadOnly)) return fail(cudaErrorInvalidValue);
    for (const host_memory::Registration& r : host_memory::registrations())
        if (begin < r.end && r.begin < begin + bytes) return fail(cudaErrorHostMemoryAlreadyRegistered);
    host_memory::registrations().push_back({begin, begin + bytes});
    return cudaSuccess;
}

cudaError_t cudaHostUnregister(void* pointer) {
    wait_for_device();
    std::vector<host_memory::Registration>& all = host_memory::registrations();
    for (size_t i = 0; i < all.size(); ++i) {
        if (all[i].begin != reinterpret_cast<uintptr_t>(pointer)) continue;
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
        return cudaSuccess;
    }
    return fail(cudaErrorHostMemoryNotRegistered);
}

// Host and device use the same address for registered and pinned memory, as with UVA.
cudaError_t grader_host_device_pointer(void** device, void* host) {
    const uintptr_t address = reinterpret_cast<uintptr_t>(host);
    const Allocation* a = arena::find(address);
    const bool pinned = a && a->live && a->zone == Zone::open;
    if (!device || !(pinned || host_memory::registered(address, 1))) return fail(cudaErrorInvalidValue);
    *device = host;
    return cudaSuccess;
}
}

// Host memory with rules: the caller's host arrays, and registered memory, which
// kernels may access.
#pragma once

#include <cstddef>
#include <cstdint>

namespace grader::host_memory {

// An array of the caller: its bytes, and the mapping around them, which contains
// nothing else. An access to the rest of the mapping is out of bounds.
struct Array {
    uintptr_t begin, end;
    uintptr_t map_begin, map_end;
    bool writable;
    char name[48];
    size_t bytes() const { return end - begin; }
    bool holds(uintptr_t address, size_t bytes) const {
        return address >= begin && address <= end && bytes <= end - address;
    }
};

#pragma GCC visibility push(hidden)
extern bool any_array;  // false in most runs, to skip the lookup
#pragma GCC visibility pop

void add(const Array& array);
void forget_arrays();

// The caller's array in whose mapping the address is, or null.
const Array* find(uintptr_t address);

// True if every byte is registered with cudaHostRegister.
bool registered(uintptr_t address, size_t bytes);
bool any_registered(uintptr_t begin, uintptr_t end);  // a part of it

}  // namespace grader::host_memory

// The program's __device__, __constant__ and __managed__ variables, which
// register themselves before main.
//
// Host code that names one with `&` gets the address of the host's own copy on
// a GPU, and no call takes that for device memory. Here there is one copy and
// one address, so it counts as the device's once cudaGetSymbolAddress has given it out.
#pragma once

#include <cstddef>
#include <cstdint>

namespace grader {

struct ShadowCell;

namespace variables {

struct Variable {
    uintptr_t begin, end;
    const char* name;
    size_t element_bytes;
    ShadowCell* shadow;  // null in the fast build
    bool managed;        // the host's as well
    bool given_out;      // by cudaGetSymbolAddress
    bool holds(uintptr_t address, size_t bytes) const { return address >= begin && address < end && bytes <= end - address; }
};

void add(const Variable& variable);

// The variable that the address is in or has just run past; else null.
const Variable* near(uintptr_t address);
// The variable that the address is in; else null.
const Variable* at(uintptr_t address);

void give_out(uintptr_t address);

}  // namespace variables
}  // namespace grader

// The program's __device__, __constant__ and __managed__ variables, which
// register themselves before main.
//
// On a GPU, host code that takes the address of one with `&` gets the address of
// the host's copy, which no call accepts as device memory. Here there is only one
// copy; its address counts as a device address after cudaGetSymbolAddress returned it.
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
    bool managed;        // the host may access it, too
    bool constant;       // a kernel may not write it, and host code may read it
    bool given_out;      // by cudaGetSymbolAddress
    bool holds(uintptr_t address, size_t bytes) const { return address >= begin && address < end && bytes <= end - address; }
};

#pragma GCC visibility push(hidden)
extern bool any;  // false in most runs, to skip the lookup
#pragma GCC visibility pop

void add(const Variable& variable);

// The variable that the address is in or has just run past; else null.
const Variable* near(uintptr_t address);
// The variable that the address is in; else null.
const Variable* at(uintptr_t address);

void give_out(uintptr_t address);

}  // namespace variables
}  // namespace grader

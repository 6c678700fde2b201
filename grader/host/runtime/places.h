// What an address is: which variable, or which part of the program.
//
// Buffers are the arena's business; this knows the rest. Shared variables are
// placed anew in every launch, device variables register themselves before
// main, and the loader says where the program's code and data lie.
#pragma once

#include <cstddef>
#include <cstdint>

#include "findings.h"
#include "shadow.h"

namespace grader::places {

struct DeviceVariable {
    uintptr_t begin, end;
    const char* name;
    size_t element_bytes;
    ShadowCell* shadow;
};

void find_program();          // once, before the first launch
void forget_shared();         // a launch begins
void add_shared(const char* name, size_t offset, size_t bytes, size_t element_bytes);
void add_variable(uintptr_t begin, size_t bytes, size_t element_bytes, const char* name);

// The device variable that the address is in or has just run past; else null.
const DeviceVariable* variable_near(uintptr_t address);

bool in_program(uintptr_t address);        // code, literals, data
bool in_constants(uintptr_t address);      // what the program cannot write
bool in_thread_storage(uintptr_t address); // this object's own thread variables
bool is_mapped(uintptr_t address);

// Fill in space, buffer, offset and sizes from `finding.address`.
void name(Finding& finding);
void name_shared(Finding& finding);
void name_variable(Finding& finding, const DeviceVariable& variable);

ShadowCell* new_shadow(size_t bytes);
size_t shadow_bytes(size_t bytes);

}  // namespace grader::places

// Finds the variable, or the part of the program, at an address.
//
// The arena handles buffers, and variables.cpp device variables; this file
// handles the rest. Shared variables are placed again in every launch, and the
// loader knows the program's code and data.
#pragma once

#include <cstddef>
#include <cstdint>

#include "findings.h"
#include "shadow.h"
#include "variables.h"

namespace grader::places {

void find_program();          // once, before the first launch
void use_shared(const char* memory);  // of the worker that runs
void forget_shared();         // a launch begins
void add_shared(const char* name, size_t offset, size_t bytes, size_t element_bytes);

bool in_program(uintptr_t address);        // code, literals, data
bool in_constants(uintptr_t address);      // read-only data
bool in_thread_storage(uintptr_t address); // this object's own thread variables
bool is_mapped(uintptr_t address);

// Fill in space, buffer, offset and sizes from `finding.address`.
void name(Finding& finding);
void name_shared(Finding& finding);
void name_variable(Finding& finding, const variables::Variable& variable);

ShadowCell* new_shadow(size_t bytes);
size_t shadow_bytes(size_t bytes);

}  // namespace grader::places

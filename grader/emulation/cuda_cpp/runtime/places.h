// What an address is: which variable, or which part of the program.
//
// Buffers are the arena's business and device variables those of variables.cpp;
// this knows the rest. Shared variables are placed anew in every launch, and
// the loader says where the program's code and data lie.
#pragma once

#include <cstddef>
#include <cstdint>

#include "findings.h"
#include "shadow.h"
#include "variables.h"

namespace grader::places {

void find_program();          // once, before the first launch
void forget_shared();         // a launch begins
void add_shared(const char* name, size_t offset, size_t bytes, size_t element_bytes);

bool in_program(uintptr_t address);        // code, literals, data
bool in_constants(uintptr_t address);      // what the program cannot write
bool in_thread_storage(uintptr_t address); // this object's own thread variables
bool is_mapped(uintptr_t address);

// Fill in space, buffer, offset and sizes from `finding.address`.
void name(Finding& finding);
void name_shared(Finding& finding);
void name_variable(Finding& finding, const variables::Variable& variable);

ShadowCell* new_shadow(size_t bytes);
size_t shadow_bytes(size_t bytes);

}  // namespace grader::places

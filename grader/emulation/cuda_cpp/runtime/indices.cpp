// Array indices and alignment: the undefined-behaviour sanitizer's handlers.
//
// The compiler calls these with a description that has file, line and column. An
// index beyond its row may still be inside the variable (`t[0][40]` of
// `float t[32][33]`). In shared and device memory, the access hooks decide, and
// the reader of the report, which knows the array's name, makes this finding a
// warning. For a thread's local arrays there is no other check.
#if GRADER_CHECKED

#include <cstdint>

#include "arena.h"
#include "checker_state.h"
#include "findings.h"
#include "places.h"
#include "worker.h"

using namespace grader;

namespace {

struct SourceLocation {
    const char* file;
    uint32_t line, column;
};
struct TypeDescriptor {
    uint16_t kind, info;
    char name[1];
};
struct OutOfBounds {
    SourceLocation where;
    const TypeDescriptor* array;
    const TypeDescriptor* index;
};
struct TypeMismatch {
    SourceLocation where;
    const TypeDescriptor* type;
    unsigned char log_alignment;
    unsigned char check;  // 0 load, 1 store, then references and members
};

Finding at(const SourceLocation& where) {
    Finding f;
    f.file = where.file;
    f.line = where.line;
    f.column = where.column;
    return f;
}

}  // namespace

extern "C" {

void __ubsan_handle_out_of_bounds(void* description, void* value) {
    const OutOfBounds* data = static_cast<const OutOfBounds*>(description);
    uintptr_t index = reinterpret_cast<uintptr_t>(value);
    Finding f = at(data->where);
    f.kind = Kind::out_of_bounds;
    f.message = "an array index is outside the array";
    f.offset = static_cast<int64_t>(index);
    // "'float [33]'": use the type as the name of the array.
    const char* type = data->array->name;
    for (unsigned i = 0; type[i] && i + 1 < sizeof f.buffer; ++i) f.buffer[i] = type[i];
    if (!state.active) {
        f.warning = true;  // host code, which no device tool checks
        f.space = "host";
        findings::add(f);
        return;
    }
    f.space = "local";
    findings::add(f);
}

void __ubsan_handle_type_mismatch_v1(void* description, void* value) {
    const TypeMismatch* data = static_cast<const TypeMismatch*>(description);
    uintptr_t pointer = reinterpret_cast<uintptr_t>(value);
    if (!state.active || pointer == 0) return;
    uintptr_t alignment = uintptr_t(1) << data->log_alignment;
    if (pointer % alignment == 0) return;
    Finding f;
    // Not data->where: of a copied struct it is the line of the type.
    f.pc = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
    f.kind = Kind::misaligned;
    f.address = pointer;
    f.access_bytes = static_cast<uint32_t>(alignment);
    f.write = data->check == 1;
    f.message = "an address is not a multiple of the access size";
    if (const Allocation* a = arena::find(pointer)) findings::name_buffer(f, *a);
    else places::name_shared(f);
    // A member of a misaligned struct may be aligned, and a GPU loads only the member.
    f.warning = data->check > 1;
    findings::add(f);
    if (!f.warning) worker->abandon(cudaErrorMisalignedAddress);
}

}  // extern "C"

#endif

// Array indices and alignment: the undefined-behaviour sanitizer's handlers.
//
// The compiler calls these with a description that has file, line and column. An
// index beyond its row may still be inside the variable (`t[0][40]` of
// `float t[32][33]`). In shared and device memory, the access hooks decide, and
// the reader of the report, which knows the array's name, makes this finding a
// warning. For a thread's local arrays there is no other check. An `int` that overflows is remembered,
// to name its line if the value becomes a wrong address.
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
struct Overflow {
    SourceLocation where;
    const TypeDescriptor* type;  // kind 0: an integer; info: log2 of its bits, and 1 if it is signed
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

// The latest overflows of kernels, by what they gave.
struct Wrapped {
    uint64_t thread;
    uint32_t block_first;
    int32_t value;
    uintptr_t pc;
};
constexpr unsigned kWrapped = 64;
constexpr int64_t kNear = int64_t(1) << 24;  // elements: what is added to a product of rows and columns
Wrapped wrapped[kWrapped];
unsigned overflows = 0;

void overflowed(void* description, uint64_t value, void* pc) {
    const TypeDescriptor* type = static_cast<const Overflow*>(description)->type;
    if (!watch.active || type->kind != 0 || type->info >> 1 != 5) return;
    wrapped[overflows++ % kWrapped] = {stamp::thread(state.me), state.block_first, int32_t(value), reinterpret_cast<uintptr_t>(pc)};
}

}  // namespace

// Only where an address is wrong: overflow in a hash does no harm.
uintptr_t checker::overflow_behind(uintptr_t address, unsigned access_bytes) {
    for (unsigned i = 1; i <= kWrapped && i <= overflows; ++i) {
        const Wrapped& w = wrapped[(overflows - i) % kWrapped];
        if (w.thread != stamp::thread(state.me) || w.block_first != state.block_first) continue;
        for (uint32_t n = 0; n < arena::count(); ++n) {
            const Allocation& a = arena::allocations[n];
            const int64_t element = int64_t(address - a.begin) / int64_t(access_bytes) - w.value;
            if (a.live && element > -kNear && element < kNear) return w.pc;
        }
    }
    return 0;
}

extern "C" {

#define GRADER_OVERFLOW(name, operator)                                                                  \
    void __ubsan_handle_##name##_overflow(void* description, void* left, void* right) {                  \
        overflowed(description, reinterpret_cast<uintptr_t>(left) operator reinterpret_cast<uintptr_t>(right), \
                   __builtin_return_address(0));                                                         \
    }
GRADER_OVERFLOW(add, +)
GRADER_OVERFLOW(sub, -)
GRADER_OVERFLOW(mul, *)
void __ubsan_handle_negate_overflow(void* description, void* value) {
    overflowed(description, -reinterpret_cast<uintptr_t>(value), __builtin_return_address(0));
}
void __ubsan_handle_divrem_overflow(void*, void*, void*) {}

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
    if (!watch.active) {
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
    if (!watch.active || pointer == 0) return;
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

void grader_matrix_rows(const void* first, int write) {
    if (!watch.active) return;
    Finding f;
    f.pc = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
    f.kind = Kind::misaligned;
    f.address = reinterpret_cast<uintptr_t>(first);
    f.write = write != 0;
    f.message = "a matrix of a tensor core has rows that are no multiple of 16 bytes apart";
    if (const Allocation* a = arena::find(f.address)) findings::name_buffer(f, *a);
    else places::name_shared(f);
    findings::add(f);
}

}  // extern "C"

#endif

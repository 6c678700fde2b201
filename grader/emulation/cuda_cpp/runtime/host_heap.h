// The host's heap, with room behind each block in which an access is an overrun.
//
// The room holds a pattern. An access of host code first compares what it finds with the pattern,
// which is cheap, and only then looks for a block. The libraries may free a block and use its memory
// again: what they write there is no longer the pattern. Characters are the exception, because
// strings are grown by the library: bytes behind a block of `new` (not `new[]`) are not compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace grader::host_heap {

struct Block {
    uintptr_t begin, end;
    size_t room;      // bytes after `end` that hold the pattern
    bool may_be_text; // of operator new, as strings are
};

#if GRADER_CHECKED
void* allocate(size_t bytes, bool zeroed, bool may_be_text);
void* reallocate(void* pointer, size_t bytes);
void release(void* pointer);

// The block that holds the address, or has it in the room behind its end; `begin` is 0 if there is none.
Block find(uintptr_t address);

// How many of the bytes are in a block that ends before them; all if there is none such. Memory that a
// library has used again has lost the pattern.
size_t bytes_inside(const void* at, size_t bytes);

constexpr uint64_t kPattern = 0x9d3ba7f15ec4682b;
// True if the bytes are the pattern's; reads no further than the aligned word of the address.
__attribute__((no_sanitize("address"))) inline bool has_pattern(uintptr_t address, size_t bytes) {
    uint64_t word;
    memcpy(&word, reinterpret_cast<const void*>(address - address % sizeof word), sizeof word);
    const uint64_t rest = (word ^ kPattern) >> address % sizeof word * 8;
    return !(bytes < sizeof word ? rest & ((uint64_t(1) << bytes * 8) - 1) : rest);
}
#else
inline size_t bytes_inside(const void*, size_t bytes) { return bytes; }
#endif

}  // namespace grader::host_heap

// What the rest of the runtime tells the checker, and what it may ask.
//
// In the fast build every one of these is an empty inline function.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arena.h"
#include "worker.h"

namespace grader {

enum class Kind : uint8_t { out_of_bounds, misaligned, race, uninitialized, barrier, leak, invalid_copy };

#if GRADER_CHECKED
namespace checker {
void launch_begins();
void launch_ends();
void block_begins(uint64_t number);
void block_ends();
void interval_ends();                    // every barrier
void warp_synced(unsigned warp);
void fence(uintptr_t pc);
void shared_placed(const SharedSite& site, size_t offset, bool dynamic);
void allocated(Allocation& a, bool initialized);
void released(Allocation& a);
void variable(void* address, size_t bytes, size_t element_bytes, const char* name);
bool host_copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, const char* what, uintptr_t pc);
void set_by_host(void* to, size_t bytes);
void broken_meeting(const char* message, const Thread& first, uintptr_t other_pc);
void free_failed(const void* pointer, const char* message, uintptr_t pc);
void atomic(const volatile void* address, size_t bytes, uintptr_t pc);
void flush();
}  // namespace checker
#else
namespace checker {
inline void launch_begins() {}
inline void launch_ends() {}
inline void block_begins(uint64_t) {}
inline void block_ends() {}
inline void interval_ends() {}
inline void warp_synced(unsigned) {}
inline void fence(uintptr_t) {}
inline void shared_placed(const SharedSite&, size_t, bool) {}
inline void allocated(Allocation&, bool) {}
inline void released(Allocation&) {}
inline void variable(void*, size_t, size_t, const char*) {}
inline bool host_copy(void*, const void*, size_t, cudaMemcpyKind, const char*, uintptr_t) { return true; }
inline void set_by_host(void*, size_t) {}
inline void broken_meeting(const char*, const Thread&, uintptr_t) {}
inline void free_failed(const void*, const char*, uintptr_t) {}
inline void atomic(const volatile void*, size_t, uintptr_t) {}
inline void flush() {}
}  // namespace checker
#endif

}  // namespace grader

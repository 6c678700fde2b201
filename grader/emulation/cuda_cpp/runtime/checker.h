// The checker's interface to the rest of the runtime.
//
// The checked build's student code calls a hook before every access
// (hooks.cpp). The hooks use
//   shadow.h     the state kept for every word of memory
//   rules.cpp    bounds, initialisation, races: the rules for an access
//   checker.cpp  launches, blocks, barriers, allocations, copies, leaks
//   places.cpp   the variable at an address (variables.cpp: registered variables)
//   stream_races.cpp  work of streams that nothing orders
//   ordering.cpp fences and atomics that put accesses in order
//   counters.cpp the cost of a warp's accesses
//   writers.cpp  which thread wrote which word
//   findings.cpp the table of findings, and its records
// In the fast build, all functions here are empty and inline.
#pragma once

#include <cstddef>
#include <cstdint>

#include "arena.h"
#include "streams.h"
#include "worker.h"

namespace grader {
struct ShadowCell;
}

namespace grader::checker {

#if GRADER_CHECKED
void launch_begins(Worker& worker);
void launch_ends();
void block_begins(uint64_t number);
void block_ends();
// Of a cooperative launch: a barrier of the grid; a block stops for others (is it counted?); it goes on.
void phase_begins();
bool block_pauses();
void block_continues(uint64_t number, bool log);
void interval_ends();  // every barrier of a block
void entered(Thread& thread);
void fence(bool wide);
void shared_placed(const SharedSite& site, size_t offset);
void dynamic_shared_placed(const char* name, size_t offset, size_t bytes, size_t element_bytes);
void allocated(Allocation& a, bool initialized);
void released(Allocation& a);
ShadowCell* shadow_of_variable(size_t bytes);
// Reports a refused copy; `from` null means a memset, `why` null that this function finds the reason.
// The sizes are those of the accessed memory on either side.
void refused_copy(void* to, size_t to_bytes, const void* from, size_t from_bytes, uintptr_t pc,
                  const char* why = nullptr);
// Bytes were copied from `from`, or set if it is null.
void set_by_host(void* to, const void* from, size_t bytes);
// Host code got these bytes of device-accessible memory, or put them there: by copies, and by its own
// accesses to pinned and managed memory.
void host_read(size_t bytes);
// The first epoch of the work that is given next, a launch or a copy; and its begin, if it is a copy.
uint32_t next_epoch();
void work_begins();
// A copy of a stream accesses device memory.
void copy_uses(const void* at, size_t bytes, bool write, const streams::Operation& operation, uintptr_t pc);
void freed_in_stream(const Allocation& a, uintptr_t pc);  // by cudaFreeAsync
void host_wrote(size_t bytes);
// `parted`: threads of one warp wait, and others of it have ended.
void left_before_barrier(const Thread& waiting, unsigned arrived, bool parted = false);
// `arrived`: how many threads wait where the first does; 0 if that says nothing.
void broken_rendezvous(const char* message, const Thread& first, uintptr_t other_pc, bool warning, unsigned arrived = 0);
void free_failed(const void* pointer, const char* message, uintptr_t pc);
void atomic(const volatile void* address, size_t bytes, bool replaces, uintptr_t pc);
void next_atomic_is_of_the_block();
void next_atomic_may_lock();
// The running thread releases what it did, and acquires what others did before they passed `key`.
void synchronize(uintptr_t key);
void plain_write(const void* to, size_t bytes, uintptr_t pc);
void copied(const void* to, size_t to_bytes, const void* from, size_t from_bytes, uintptr_t pc);
void call_begins(bool repeat);
void flush(bool after_fault);
#else
inline void launch_begins(Worker&) {}
inline void launch_ends() {}
inline void block_begins(uint64_t) {}
inline void block_ends() {}
inline void phase_begins() {}
inline bool block_pauses() { return false; }
inline void block_continues(uint64_t, bool) {}
inline void interval_ends() {}
inline void entered(Thread&) {}
inline void fence(bool) {}
inline void shared_placed(const SharedSite&, size_t) {}
inline void dynamic_shared_placed(const char*, size_t, size_t, size_t) {}
inline void allocated(Allocation&, bool) {}
inline void released(Allocation&) {}
inline ShadowCell* shadow_of_variable(size_t) { return nullptr; }
inline void refused_copy(void*, size_t, const void*, size_t, uintptr_t, const char* = nullptr) {}
inline void set_by_host(void*, const void*, size_t) {}
inline void host_read(size_t) {}
inline uint32_t next_epoch() { return 0; }
inline void work_begins() {}
inline void copy_uses(const void*, size_t, bool, const streams::Operation&, uintptr_t) {}
inline void freed_in_stream(const Allocation&, uintptr_t) {}
inline void host_wrote(size_t) {}
inline void left_before_barrier(const Thread&, unsigned, bool = false) {}
inline void broken_rendezvous(const char*, const Thread&, uintptr_t, bool, unsigned = 0) {}
inline void free_failed(const void*, const char*, uintptr_t) {}
inline void atomic(const volatile void*, size_t, bool, uintptr_t) {}
inline void next_atomic_is_of_the_block() {}
inline void next_atomic_may_lock() {}
inline void synchronize(uintptr_t) {}
inline void plain_write(const void*, size_t, uintptr_t) {}
inline void copied(const void*, size_t, const void*, size_t, uintptr_t) {}
inline void call_begins(bool) {}
inline void flush(bool) {}
#endif

}  // namespace grader::checker

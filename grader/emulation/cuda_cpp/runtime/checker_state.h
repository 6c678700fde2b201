// The state of the running thread that the hot path reads. The checked build
// has one worker, so these are plain globals, except for what tells its operating-system
// thread from others, which run host code meanwhile.
#pragma once

#include <cstdint>

#include "counters.h"
#include "shadow.h"
#include "worker.h"

namespace grader {

struct Allocation;
struct Finding;

struct CheckerState {
    bool log;             // its block is counted
    volatile int64_t countdown;  // accesses until the next break_point(); volatile: takes no register
    uint64_t me;          // the running thread's stamp
    uint32_t* spins;      // the running thread's
    uint32_t epoch;       // the current epoch
    uint32_t block_first; // the running block's first epoch
    uint32_t launch_first;
    uint32_t unordered_first;  // before it, or equal: from here on work that nothing orders before the launch
    uint32_t shared_first; // writes to shared memory since this epoch are the block's own
    bool block_scope;     // the next atomic is atomic for its block only
    bool fenced;          // a thread has executed a fence in this launch
    bool may_lock;        // the next atomic may take a lock: a CAS or an exchange
    bool locals;          // local variables are filled, to find reads of the filling
    uintptr_t range_begin, range_end;  // of the struct that the accesses copy word by word; 0: none
    volatile uintptr_t probed_from;  // where host code's access is, while its memory is looked at; else 0
    uintptr_t image;      // start of the shared object
    uintptr_t shared_base;
    ShadowCell* shared_shadow;
    uintptr_t stacks_base;
    size_t stacks_bytes;
    counters::Log* thread_log;
    bool order_decides;   // a finding was left out, or is mild, because of the order in which threads ran
    uint64_t read_words, written_words;  // of global memory, first time in this launch
};
// Hidden, so that the hooks access it directly, without the linker's table.
extern CheckerState state __attribute__((visibility("hidden")));
struct Watch {
    bool active;       // a kernel is running, and checked
    bool interleaved;  // a kernel is running with interleaved blocks
};
extern __thread Watch watch __attribute__((visibility("hidden")));  // of this operating-system thread

enum class Space : uint8_t { global, shared };

// One access, for the rules that are not on the hot path.
struct Access {
    uintptr_t address;
    unsigned bytes;
    bool write;
    bool strong;  // atomic or volatile
    bool atomic;
    uintptr_t pc;
};

namespace checker {
void break_point();                                       // when countdown reaches 0
// `known`: the word had a value before this access.
void conflict(const Access& access, Space space, uint64_t other, bool other_write, unsigned other_mask,
              unsigned mask, uint32_t other_pc, bool known);
uintptr_t overflow_behind(uintptr_t address, unsigned access_bytes);  // its program counter, or 0
void uninitialized(const Access& access, Space space);
void local_read(const Access& access);
void local_of_another(const Access& access);              // on a stack, but not near the stack pointer
void outside(const Access& access);                       // in the arena, but not in a live buffer
[[noreturn]] void write_to_input(const Access& access);    // mapped without write access
void outside_shared(const Access& access);
bool elsewhere(const Access& access);                     // neither arena, shared nor stack
void touched_by_host(const Access& access);
void touched_past_heap(const Access& access);              // perhaps: the bytes are the pattern
void host_range(const Access& access);                     // many bytes, by memcpy or memset
void interleave(const Access& access);                     // in place of a check (residents.cpp)
struct VariableShadow {
    ShadowCell* cells;  // null if the address is in no device variable
    uintptr_t begin;
};
VariableShadow variable_shadow(uintptr_t address);
void written_by_host(Allocation& allocation, uintptr_t begin, size_t bytes);
// True if nothing wrote any word of this range of pinned or managed memory.
bool never_written(const Allocation& allocation, uintptr_t begin, size_t bytes);
void strong(const Access& access);
// A write whose finding depends on whether it changes the value.
void resolve_pending();
bool pending_resolved();  // true if there was one
}  // namespace checker

}  // namespace grader

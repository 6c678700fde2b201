// Fibers: stacks that take turns on one operating-system thread.
//
// A waiting CUDA thread needs its own stack. A pool provides stacks; switching
// between two saves only the callee-saved registers, which takes 11-14 ns on
// x86-64. On machines without assembly here, ucontext takes 230-330 ns.
//
// The stacks are adjacent in one reservation, each with an inaccessible page
// below it, so a runaway recursion faults at a known place. Their tops are
// staggered, because equal distances would map all of them to a few cache sets.
#pragma once

// May be defined on the command line, to test the version for other machines.
#if !defined(GRADER_UCONTEXT) && !defined(__x86_64__) && !defined(__aarch64__)
#define GRADER_UCONTEXT 1
#endif

#include <cstddef>
#include <cstdint>

namespace grader {

class Fiber {
public:
    // Saves the running context in `from` and continues in `to`.
    static void switch_to(Fiber& from, Fiber& to);
#if !GRADER_UCONTEXT
    // The same with stacks: the address at which one continues is on its top.
    static void switch_stacks(void** from, void* to);
    void*& stack() { return stack_pointer_; }
#endif

    Fiber* next_free = nullptr;  // the pool's list

private:
    friend class FiberPool;
    void* stack_pointer_ = nullptr;  // or a ucontext_t*, see fiber.cpp
};

class FiberPool {
public:
    static constexpr size_t kStackBytes = 256 * 1024;
    static constexpr size_t kGuardBytes = 16 * 1024;
    static constexpr size_t kDistance = kGuardBytes + kStackBytes;  // from one stack to the next
    static constexpr unsigned kMaxFibers = 1025;  // 1024 waiting threads and one that runs

    // Every fiber starts in `entry`, which never returns.
    explicit FiberPool(void (*entry)()) : entry_(entry) {}
    // The kernel's limit on mappings allows some 30,000 stacks with inaccessible pages below them.
    void leave_out_guards() { guarded_ = false; }
    FiberPool(const FiberPool&) = delete;

    Fiber* take();            // null if memory is exhausted
    void give(Fiber* fiber);  // the fiber is parked inside `entry`
    void reset();             // forgets the state of every fiber

    // True if `address` is in the page that ends some fiber's stack.
    bool in_guard(uintptr_t address) const;
    uintptr_t base() const { return base_; }
    size_t reserved() const { return reserved_; }
    bool in_stacks(uintptr_t address) const { return address - base_ < reserved_; }

private:
    void prepare(unsigned index);

    void (*entry_)();
    bool guarded_ = true;
    uintptr_t base_ = 0;
    size_t reserved_ = 0;
    unsigned made_ = 0;
    Fiber fibers_[kMaxFibers];
    Fiber* free_ = nullptr;
};

}  // namespace grader

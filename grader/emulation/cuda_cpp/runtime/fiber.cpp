#include "fiber.h"

#include <sys/mman.h>

#if GRADER_UCONTEXT
#include <ucontext.h>
#elif defined(__x86_64__)
// grader_switch(void** save, void* next): saves the callee-saved registers on the
// old stack and loads them from the new one. Keeps the SSE and x87 control words.
// Continues by a jump, to the address on the stack: processors expect a `ret` to
// go back where its call was.
asm(R"(
.text
.hidden grader_switch
.globl grader_switch
.type grader_switch, @function
grader_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    leaq 1f(%rip), %rax
    pushq %rax
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %rax
    jmpq *%rax
1:  popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size grader_switch, .-grader_switch
)");
extern "C" void grader_switch(void** save, void* next);
#elif defined(__aarch64__)
asm(R"(
.text
.hidden grader_switch
.globl grader_switch
.type grader_switch, %function
grader_switch:
    sub sp, sp, #176
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #176
    ret
.size grader_switch, .-grader_switch
)");
extern "C" void grader_switch(void** save, void* next);
#endif

namespace grader {

void Fiber::switch_to(Fiber& from, Fiber& to) {
#if GRADER_UCONTEXT
    if (!from.stack_pointer_) from.stack_pointer_ = new ucontext_t;
    swapcontext(static_cast<ucontext_t*>(from.stack_pointer_), static_cast<ucontext_t*>(to.stack_pointer_));
#else
    grader_switch(&from.stack_pointer_, to.stack_pointer_);
#endif
}

#if !GRADER_UCONTEXT
void Fiber::switch_stacks(void** from, void* to) { grader_switch(from, to); }
#endif

// Writes the initial context, so that the first switch continues in entry_.
void FiberPool::prepare(unsigned index) {
    uintptr_t low = base_ + index * kDistance + kGuardBytes;
    uintptr_t top = low + kStackBytes - (index % 32) * 128;
    Fiber& fiber = fibers_[index];
#if GRADER_UCONTEXT
    if (!fiber.stack_pointer_) fiber.stack_pointer_ = new ucontext_t;
    ucontext_t* context = static_cast<ucontext_t*>(fiber.stack_pointer_);
    getcontext(context);
    context->uc_stack.ss_sp = reinterpret_cast<void*>(low);
    context->uc_stack.ss_size = top - low;
    context->uc_link = nullptr;
    makecontext(context, entry_, 0);
#elif defined(__x86_64__)
    void** frame = reinterpret_cast<void**>(top) - 2;
    frame[0] = reinterpret_cast<void*>(entry_);
    frame[1] = nullptr;  // where it would return to
    fiber.stack_pointer_ = frame;
#else
    void** frame = reinterpret_cast<void**>(top - 176);
    for (int i = 0; i < 22; ++i) frame[i] = nullptr;
    frame[11] = reinterpret_cast<void*>(entry_);  // x30
    fiber.stack_pointer_ = frame;
#endif
}

// Makes the pages inaccessible that end a stack.
static bool guard(uintptr_t low) {
    void* const pages = reinterpret_cast<void*>(low);
    constexpr size_t kBytes = FiberPool::kGuardBytes;
    // MADV_GUARD_INSTALL: Linux has it since 6.13, and needs no mapping for it.
    constexpr int kInstall = 102;
    return madvise(pages, kBytes, kInstall) == 0 || mprotect(pages, kBytes, PROT_NONE) == 0;
}

Fiber* FiberPool::take() {
    if (free_) {
        Fiber* fiber = free_;
        free_ = fiber->next_free;
        return fiber;
    }
    if (!base_) {
        size_t bytes = kDistance * kMaxFibers;
        const int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kind, -1, 0);
        if (memory == MAP_FAILED) return nullptr;
        // Most threads use a page of their stacks.
        if (guarded_) madvise(memory, bytes, MADV_NOHUGEPAGE);
        base_ = reinterpret_cast<uintptr_t>(memory);
        reserved_ = bytes;
    }
    if (made_ == kMaxFibers) return nullptr;
    if (guarded_ && !guard(base_ + made_ * kDistance)) return nullptr;
    prepare(made_);
    return &fibers_[made_++];
}

void FiberPool::give(Fiber* fiber) {
    fiber->next_free = free_;
    free_ = fiber;
}

void FiberPool::reset() {
    free_ = nullptr;
    for (unsigned i = made_; i-- > 0;) {
        prepare(i);
        give(&fibers_[i]);
    }
}

bool FiberPool::in_guard(uintptr_t address) const {
    if (!guarded_ || !in_stacks(address)) return false;
    return (address - base_) % kDistance < kGuardBytes;
}

}  // namespace grader

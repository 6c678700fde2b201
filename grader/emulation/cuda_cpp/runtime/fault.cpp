// The signal handler runs on a separate stack, because a fiber may have run out
// of stack, and uses only async-signal-safe functions.
#include "fault.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "arena.h"
#include "checker.h"
#include "checker_state.h"
#include "host_memory.h"
#include "report.h"
#include "worker.h"

// The linker puts it at the first byte of the program.
extern "C" const char __ehdr_start __attribute__((visibility("hidden")));

namespace grader::fault {

namespace {

constexpr size_t kStackBytes = 64 * 1024;
constexpr unsigned kStackWords = 96, kMostPlaces = 6;
constexpr uintptr_t kMostProgramBytes = 64 << 20;
volatile sig_atomic_t handling;

const char* name_of(int signal) {
    switch (signal) {
        case SIGSEGV: return "SIGSEGV";
        case SIGBUS: return "SIGBUS";
        case SIGFPE: return "SIGFPE";
        case SIGILL: return "SIGILL";
        default: return "SIGABRT";
    }
}

uintptr_t program_counter(const void* context) {
#if defined(__x86_64__)
    return static_cast<uintptr_t>(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
    return static_cast<const ucontext_t*>(context)->uc_mcontext.pc;
#else
    (void)context;
    return 0;
#endif
}

const uintptr_t* stack_pointer(const void* context) {
#if defined(__x86_64__)
    return reinterpret_cast<const uintptr_t*>(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RSP]);
#elif defined(__aarch64__)
    return reinterpret_cast<const uintptr_t*>(static_cast<const ucontext_t*>(context)->uc_mcontext.sp);
#else
    (void)context;
    return nullptr;
#endif
}

const char* reason(const siginfo_t& info, uintptr_t address, const Allocation* buffer) {
    const int signal = info.si_signo;
    if (signal == SIGFPE) return "integer division by zero";
    if (signal == SIGABRT) return "the program aborted";
    if (signal != SIGSEGV && signal != SIGBUS) return "illegal instruction";
    if (worker && worker->fibers.in_guard(address)) return "a thread's stack is exhausted";
    if (const host_memory::Array* array = host_memory::find(address))
        return array->holds(address, 1) ? "a read-only input was written" : "an access outside a buffer";
    if (!in_kernel() && arena::contains(address)) return "host code accessed device memory";
    if (buffer && buffer->live && buffer->zone == Zone::read_only && address - buffer->begin < buffer->bytes())
        return "a read-only input was written";
    if (buffer && !buffer->live) return "freed memory was accessed";
    if (buffer) return "an access outside a buffer";
    // The processor names no address for a misaligned vector access.
    if (info.si_code == SI_KERNEL && address == 0) return "a misaligned address was accessed";
    if (address < 4096) return "a null pointer was dereferenced";
    return "an address that belongs to nothing was accessed";
}

void handle(int signal, siginfo_t* info, void* context) {
    if (!handling) {
        handling = 1;
        uintptr_t address = signal == SIGSEGV || signal == SIGBUS ? reinterpret_cast<uintptr_t>(info->si_addr) : 0;
        const Allocation* buffer = arena::find(address);
        uintptr_t pc = program_counter(context);
        // A call of nothing: the caller's place is on the stack.
        const bool called = (address && address == pc) || (signal == SIGSEGV && pc == 0);
#if GRADER_CHECKED
        if (state.probed_from) pc = state.probed_from - 1;
#endif
        if (called && stack_pointer(context)) pc = *stack_pointer(context) - 1;
        ReportLine line("fault");
        line.text("signal", name_of(signal))
            .text("message", called && pc ? address < 4096 ? "a null function pointer is called" : "a pointer that is no function is called"
                                          : reason(*info, address, buffer));
        line.number("address", address).number("pc", program_offset(pc));
        if (buffer) {
            line.text("buffer", buffer->name).number("buffer_bytes", buffer->bytes());
            line.signed_number("offset", static_cast<int64_t>(address - buffer->begin));
        } else if (const host_memory::Array* array = host_memory::find(address)) {
            line.text("buffer", array->name).number("buffer_bytes", array->bytes());
            line.signed_number("offset", static_cast<int64_t>(address - array->begin));
        }
        line.truth("in_kernel", in_kernel());
        if (in_kernel()) {
            line.text("kernel", launch_state.name).triple("block", blockIdx.x, blockIdx.y, blockIdx.z);
            if (worker->knows_thread()) line.triple("thread", threadIdx.x, threadIdx.y, threadIdx.z);
        }
        if (signal != SIGTERM) line.write();  // the caller stops the program: no fault
        checker::flush(true);
    }
    ::signal(signal, SIG_DFL);
    raise(signal);
}

// The judge asks where a call is that exceeds its time limit.
void tell_place(int, siginfo_t*, void* context) {
    const uintptr_t pc = program_counter(context);
    const uintptr_t* stack = stack_pointer(context);
    const uintptr_t begin = reinterpret_cast<uintptr_t>(&__ehdr_start);
    for (unsigned i = 0, told = 0; i <= kStackWords && told < kMostPlaces; ++i) {
        if (i && worker && worker->fibers.in_guard(reinterpret_cast<uintptr_t>(stack + i - 1))) break;
        // In a function of a library or of this runtime, the caller's place is on the stack.
        const uintptr_t place = i == 0 ? pc : stack ? stack[i - 1] : 0;
        if (i != 0 && place - begin >= kMostProgramBytes) continue;
        ReportLine line("place");
        line.number("pc", program_offset(place - (i == 0 ? 0 : 1)));
        if (in_kernel()) line.text("kernel", launch_state.name);
        line.write();
        ++told;
    }
}

}  // namespace

void install() {
    stack_t current;
    if (sigaltstack(nullptr, &current) == 0 && (current.ss_flags & SS_DISABLE)) {
        void* memory = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory != MAP_FAILED) {
            stack_t mine = {};
            mine.ss_sp = memory;
            mine.ss_size = kStackBytes;
            sigaltstack(&mine, nullptr);
        }
    }
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    struct sigaction asked = action;
    asked.sa_sigaction = tell_place;
    asked.sa_flags |= SA_RESTART;
    sigaction(SIGUSR1, &asked, nullptr);
    for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTERM}) sigaction(signal, &action, nullptr);
}

}  // namespace grader::fault

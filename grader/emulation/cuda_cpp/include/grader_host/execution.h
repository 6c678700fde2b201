// Built-in indices, launches, shared memory and barriers.
//
// A launch `k<<<grid, block, shared, stream>>>(a, b)` arrives here as
//     ::grader::Launch(grid, block, shared, stream).grader_named("k", [=](auto&... p) { k(p...); })(a, b)
// so arguments are evaluated once and copied, and the closure with the copies
// is the kernel's parameter space. `__shared__ float t[32];` arrives as
//     typedef float grader_type_t[32];
//     static ::grader::SharedSite grader_site_t = {"t", sizeof(grader_type_t), …};
//     grader_type_t& t = *static_cast<grader_type_t*>(::grader::shared(&grader_site_t));
// with one site per declaration and template instantiation, which the launch
// places in the block's shared memory on first use.
#pragma once

// Real objects, because students may name locals `blockDim`. They are const for
// the student's code: a thread's index never changes, so the checked build does not
// instrument the load. The runtime, which changes them, declares them without const.
#ifndef GRADER_INDEX
#define GRADER_INDEX const
#endif
extern GRADER_INDEX __thread uint3 threadIdx;
extern GRADER_INDEX __thread uint3 blockIdx;
extern GRADER_INDEX uint3 blockDim;  // converts to dim3
extern GRADER_INDEX uint3 gridDim;
static constexpr int warpSize = 32;

namespace grader {

struct SharedSite {
    const char* name;
    size_t bytes;
    size_t element_bytes;
    unsigned long long placed;  // (launch number << 32) | offset in shared memory
};

struct DeviceVariable;

// The length of the rows in which the running kernel's code loops over threads; 0: one thread only.
// A type of its own, so that for g++ no store of a kernel can change it.
enum class RowLength : unsigned {};
// Bits: one core runs all blocks, so that atomics need no lock; and a kernel runs for its whole block,
// so that no thread that spins could let others run.
enum class AtomicMode : unsigned { alone = 1, whole_block = 2 };

// A thread that waits at the block's barrier, and its stack.
struct RoundEntry {
    void* stack;
    uint3 index;
};

}  // namespace grader

extern "C" {
extern __thread char* grader_shared_base;
extern unsigned grader_launch_number;
extern __thread grader::RowLength grader_row_length;
#if !GRADER_CHECKED
extern __thread unsigned long grader_atomics;
extern __thread grader::AtomicMode grader_atomic_mode;
// The threads that pass barriers in turn; without any, null.
extern __thread grader::RoundEntry *grader_round_at, *grader_round_first, *grader_round_last;
#endif
void* grader_place_shared(grader::SharedSite* site);
void* grader_dynamic_shared(const char* name, size_t element_bytes);
void* grader_keep_shared(grader::SharedSite* site);  // at file scope, called once
void* grader_keep_dynamic_shared(const char* name, size_t element_bytes);
void grader_launch(const char* name, dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream,
                   void* parameters, size_t parameter_bytes, void (*body)(void*));
void grader_register_variable(void* address, size_t bytes, size_t element_bytes, const char* name, int managed,
                              int constant);
void grader_syncthreads();
int grader_syncthreads_reduce(int predicate, int operation);  // 0 count, 1 and, 2 or
void grader_named_barrier(unsigned id, unsigned threads, int wait);
void grader_named_barrier_await(unsigned id);
void grader_mbarrier_init(void* at, unsigned count);
unsigned grader_mbarrier_arrive(void* at, unsigned count, int drop);
int grader_mbarrier_test(void* at, unsigned phase, int parity_only);
void grader_mbarrier_wait(void* at, unsigned phase, int parity_only);
void grader_publish(const void* value);
void grader_read_published(unsigned thread, void* to, size_t bytes);
void grader_read_published_of_warp(void* to, size_t bytes);  // of the 32 lanes, one after another
void grader_copy_async(void* to, const void* from, size_t bytes, size_t zeros);
void grader_copies_commit();
void grader_copies_wait(unsigned groups);
void grader_copies_wait_all();
int grader_capture(cudaStream_t stream, const void* call, size_t bytes, void (*run)(void*));
long long grader_clock64();
unsigned long long grader_globaltimer();
int grader_grid_is_valid();
void grader_grid_sync();
void grader_next_launch_is_cooperative();
void grader_fence(int wide);  // 0: for the block
void grader_trap(int error);
void grader_pause(unsigned nanoseconds);
void grader_many_atomics();
void grader_local(const char* name, void* variable, size_t bytes);
}

namespace grader {

template <class T> struct ElementSize { static constexpr size_t value = sizeof(T); };
template <class T, size_t N> struct ElementSize<T[N]> : ElementSize<T> {};
template <class T> struct ElementSize<T[]> : ElementSize<T> {};

#if GRADER_CHECKED
GRADER_INLINE void* shared(SharedSite* site) { return grader_place_shared(site); }
#else
GRADER_INLINE void* shared(SharedSite* site) {
    unsigned long long placed = __atomic_load_n(&site->placed, __ATOMIC_RELAXED);
    if ((placed >> 32) == grader_launch_number) return grader_shared_base + (unsigned)placed;
    return grader_place_shared(site);
}
#endif

template <class Call> void run_call(void* call) { (*static_cast<Call*>(call))(); }

// True if the stream is being captured: then its graph has the call, whose closure holds plain values.
template <class Call> GRADER_INLINE bool captured(cudaStream_t stream, Call call) {
    return stream && grader_capture(stream, &call, sizeof call, run_call<Call>);
}

// Runs the thread whose index is set. In the fast build also those behind it, unless the runtime
// wants one thread or a thread has waited: then other fibers run them (../../runtime/worker.h). g++
// expands the kernel in this loop, and keeps in registers what no thread changes.
#if GRADER_CHECKED
template <class Body> GRADER_INLINE void run_threads(Body& body) { body(); }
#else
template <class Body> GRADER_INLINE void run_threads(const Body& parameters) {
    Body body = parameters;  // which nothing else can change
    uint3& index = const_cast<uint3&>(threadIdx);
    unsigned x = index.x;
    for (;;) {
        do {
            index.x = x;
            body();
        } while (++x < static_cast<unsigned>(grader_row_length));
        if (grader_row_length == RowLength{0}) return;
        x = 0;
        if (++index.y < blockDim.y) continue;
        index.y = 0;
        if (++index.z == blockDim.z) return;
    }
}
#endif

// A kernel with its configuration, waiting for its arguments.
template <class Kernel> struct Configured {
    const char* name;
    dim3 grid, block;
    size_t shared_bytes;
    cudaStream_t stream;
    Kernel kernel;

    // Inline, so that the return address of grader_launch leads to the launch's line.
    template <class... Arguments> GRADER_INLINE void operator()(Arguments... arguments) const {
        auto body = [kernel = kernel, arguments...]() mutable { kernel(arguments...); };
        grader_launch(name, grid, block, shared_bytes, stream, &body, sizeof body,
                      [](void* self) { run_threads(*static_cast<decltype(body)*>(self)); });
    }
};

// The same for braced arguments, `{x, y}`, whose types are those of the kernel's parameters.
template <class... Parameters> struct ConfiguredForBraces : Configured<void (*)(Parameters...)> {
    GRADER_INLINE void operator()(Parameters... arguments) const {
        Configured<void (*)(Parameters...)>::operator()(arguments...);
    }
};

// A configuration with its arguments, waiting for its kernel.
template <class Call> struct Unnamed {
    Call call;
};

struct Launch {
    dim3 grid, block;
    size_t shared_bytes;
    cudaStream_t stream;

    Launch(dim3 g, dim3 b, size_t s = 0, cudaStream_t st = nullptr)
        : grid(g), block(b), shared_bytes(s), stream(st) {}

    // A name that no student's macro has.
    template <class Kernel> Configured<Kernel> grader_named(const char* name, Kernel body) const {
        return {name, grid, block, shared_bytes, stream, body};
    }
    template <class... Parameters>
    ConfiguredForBraces<Parameters...> grader_named(const char* name, void (*kernel)(Parameters...)) const {
        return {{name, grid, block, shared_bytes, stream, kernel}};
    }
    template <class... Arguments> auto operator()(Arguments... arguments) const {
        auto call = [launch = *this, arguments...](auto kernel) {
            launch.grader_named("kernel", [kernel](auto&... parameters) { kernel(parameters...); })(arguments...);
        };
        return Unnamed<decltype(call)>{call};
    }
};

// For a macro with only the configuration: `k ->* ::grader::Launch(grid, block)(a, b)`.
template <class... Parameters, class Call>
void operator->*(void (*kernel)(Parameters...), const Unnamed<Call>& rest) {
    rest.call(kernel);
}

template <class T> struct IsConst { static constexpr bool value = false; };
template <class T> struct IsConst<const T> { static constexpr bool value = true; };

// Registers a __device__ or __constant__ variable with the checker, by name.
struct DeviceVariable {
    template <class T> DeviceVariable(T& variable, const char* name, bool managed = false, bool constant = false) {
        grader_register_variable(const_cast<void*>(static_cast<const volatile void*>(&variable)),
                                 sizeof(T), ElementSize<T>::value, name, managed,
                                 constant || IsConst<T>::value);
    }
};

}  // namespace grader

namespace grader {
template <class T> struct Element { typedef T type; };
template <class T, size_t N> struct Element<T[N]> : Element<T> {};
// A local variable without a value (grader/emulation/cuda_cpp/locals.py).
template <class T> GRADER_INLINE void local(const char* name, T& variable) {
    if constexpr (__is_trivial(typename Element<T>::type))
        grader_local(name, const_cast<void*>(static_cast<const volatile void*>(&variable)), sizeof variable);
}
}  // namespace grader

#define GRADER_NAME(...) GRADER_NAME_(__VA_ARGS__)
#define GRADER_NAME_(...) #__VA_ARGS__

#if !GRADER_CHECKED && defined(__x86_64__) && !GRADER_UCONTEXT
namespace grader {
// Continues on another stack, at the address on its top, until somebody continues on this one.
GRADER_INLINE void swap_stacks(void** from, void* const* to) {
    asm volatile(
        "leaq -128(%%rsp), %%rsp\n\t"  // below lies what a function without calls keeps
        "pushq %%rbp\n\t"
        "leaq 1f(%%rip), %%rax\n\t"
        "pushq %%rax\n\t"
        "movq %%rsp, (%%rdi)\n\t"
        "movq (%%rsi), %%rsp\n\t"
        "popq %%rax\n\t"
        "jmpq *%%rax\n"
        "1:\tpopq %%rbp\n\t"
        "leaq 128(%%rsp), %%rsp"
        : "+D"(from), "+S"(to)
        :
        : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1", "xmm2", "xmm3",
          "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "memory", "cc");
}
}  // namespace grader

// In a round all threads wait at the barrier, except this one: when it waits, the next one is ready, and
// after the last one the first.
GRADER_INLINE void __syncthreads() {
    grader::RoundEntry* const self = grader_round_at;
    if (__builtin_expect(!self, 0)) return grader_syncthreads();
    grader::RoundEntry* const next = self == grader_round_last ? grader_round_first : self + 1;
    grader_round_at = next;
    const_cast<uint3&>(threadIdx) = next->index;
    grader::swap_stacks(&self->stack, &next->stack);
}
#else
GRADER_INLINE void __syncthreads() { grader_syncthreads(); }
#endif
GRADER_INLINE int __syncthreads_count(int predicate) { return grader_syncthreads_reduce(predicate, 0); }
GRADER_INLINE int __syncthreads_and(int predicate) { return grader_syncthreads_reduce(predicate, 1); }
GRADER_INLINE int __syncthreads_or(int predicate) { return grader_syncthreads_reduce(predicate, 2); }
GRADER_INLINE void __threadfence() { grader_fence(1); }
GRADER_INLINE void __threadfence_block() { grader_fence(0); }
GRADER_INLINE void __threadfence_system() { grader_fence(1); }
GRADER_INLINE void __trap() { grader_trap(cudaErrorLaunchFailure); }
GRADER_INLINE void __brkpt() {}
GRADER_INLINE void __nanosleep(unsigned nanoseconds) { grader_pause(nanoseconds); }
GRADER_INLINE void __prof_trigger(int) {}

GRADER_INLINE long long clock64() { return grader_clock64(); }

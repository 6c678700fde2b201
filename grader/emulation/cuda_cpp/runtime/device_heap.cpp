// malloc, free, new and delete of the student's code (cuda_runtime.h renames them).
//
// In a kernel they use the device's heap, of 8 MiB unless the program asks for more; in host code
// they are the host's (host_heap.h). Each piece of the heap is an allocation of the arena, so that its bounds,
// its first values and its end are checked as those of cudaMalloc.
#include <cstdlib>
#include <mutex>
#include <new>

#include "arena.h"
#include "checker.h"
#include "host_heap.h"
#include "worker.h"

namespace grader {

namespace {

std::mutex heap_lock;
size_t heap_limit = size_t(8) << 20, heap_used = 0;

#define GRADER_HERE reinterpret_cast<uintptr_t>(__builtin_return_address(0))

// Null if the heap is full, as on a GPU.
void* allocate(size_t bytes, uintptr_t pc) {
    std::lock_guard<std::mutex> guard(heap_lock);
    if (bytes == 0 || bytes > heap_limit - heap_used) return nullptr;
    Allocation* a = arena::allocate(bytes, Zone::device, Allocation::Origin::heap, "");
    if (!a) return nullptr;
    a->pc = pc;
    heap_used += bytes;
    checker::allocated(*a, false);
    return reinterpret_cast<void*>(a->begin);
}

void* host_malloc(size_t bytes, bool may_be_text) {
#if GRADER_CHECKED
    return host_heap::allocate(bytes, false, may_be_text);
#else
    (void)may_be_text;
    return malloc(bytes);
#endif
}

void host_free(void* pointer) {
#if GRADER_CHECKED
    host_heap::release(pointer);
#else
    free(pointer);
#endif
}

void release(void* pointer, uintptr_t pc) {
    if (!pointer) return;
    if (!in_kernel()) {
        if (arena::contains(reinterpret_cast<uintptr_t>(pointer)))
            checker::free_failed(pointer, "host code frees device memory with free or delete", pc);
        else
            host_free(pointer);
        return;
    }
    std::lock_guard<std::mutex> guard(heap_lock);
    Allocation* a = arena::find(reinterpret_cast<uintptr_t>(pointer));
    if (!a || a->origin != Allocation::Origin::heap || reinterpret_cast<uintptr_t>(pointer) != a->begin) {
        checker::free_failed(pointer, "a kernel frees a pointer that its malloc or new did not return", pc);
        return;
    }
    if (!a->live) {
        checker::free_failed(pointer, "memory of the device's heap is freed twice", pc);
        return;
    }
    heap_used -= a->bytes();
    checker::released(*a);
    arena::release(a);
}

void* host_new(size_t bytes, bool may_be_text) {
    void* memory = host_malloc(bytes ? bytes : 1, may_be_text);
    if (!memory) abort();  // nothing on this machine catches bad_alloc usefully
    return memory;
}

}  // namespace

}  // namespace grader

using namespace grader;

extern "C" {

void* grader_heap_malloc(size_t bytes) { return in_kernel() ? allocate(bytes, GRADER_HERE) : host_malloc(bytes, false); }
void grader_heap_free(void* pointer) { release(pointer, GRADER_HERE); }

void* grader_heap_new(size_t bytes) { return in_kernel() ? allocate(bytes, GRADER_HERE) : host_new(bytes, true); }
void* grader_heap_new_array(size_t bytes) { return in_kernel() ? allocate(bytes, GRADER_HERE) : host_new(bytes, false); }
#if GRADER_CHECKED
void* grader_heap_calloc(size_t count, size_t bytes) {
    size_t all;
    return __builtin_mul_overflow(count, bytes, &all) ? nullptr : host_heap::allocate(all, true, false);
}
void* grader_heap_realloc(void* pointer, size_t bytes) { return host_heap::reallocate(pointer, bytes); }
#endif
void grader_set_heap(size_t bytes) { heap_limit = bytes; }
size_t grader_get_heap() { return heap_limit; }
}

// cudaMalloc and related functions, on top of the arena. The pointers determine the
// direction of a copy; a contradicting direction is an error, as on a GPU.
#include <cstring>
#include <vector>

#include "arena.h"
#include "checker.h"
#include "host_heap.h"
#include "host_memory.h"
#include "pending.h"
#include "trace.h"
#include "variables.h"
#include "worker.h"

using namespace grader;

namespace {

uintptr_t address(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

// Memory that only the device may access.
bool device_side(const void* pointer) {
    if (const variables::Variable* v = variables::at(address(pointer))) return v->given_out && !v->managed;
    const Allocation* a = arena::find(address(pointer));
    return a ? a->zone != Zone::open : arena::contains(address(pointer));
}
bool both_sides(const void* pointer) {
    if (const variables::Variable* v = variables::at(address(pointer))) return v->managed;
    const Allocation* a = arena::find(address(pointer));
    return a && a->zone == Zone::open;
}

bool direction_fits(const void* to, const void* from, cudaMemcpyKind kind) {
    if (kind == cudaMemcpyDefault) return true;
    bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    return (both_sides(to) || device_side(to) == to_device) && (both_sides(from) || device_side(from) == from_device);
}

// A range that starts in a live allocation or a device variable must end in it.
bool stretch_fits(const void* pointer, size_t bytes) {
    const Allocation* a = arena::find(address(pointer));
    uintptr_t p = address(pointer);
    if (const host_memory::Array* array = host_memory::find(p)) return array->holds(p, bytes);
    if (const variables::Variable* v = variables::at(p)) return v->holds(p, bytes);
    if (!a) return !arena::contains(p) && host_heap::bytes_inside(pointer, bytes) == bytes;
    return a->live && p >= a->begin && p <= a->end && bytes <= a->end - p;
}

bool writable(const void* pointer) {
    const Allocation* a = arena::find(address(pointer));
    const host_memory::Array* array = host_memory::find(address(pointer));
    return a ? a->zone != Zone::read_only : !array || array->writable;
}

bool pinned(const void* pointer) {
    const Allocation* a = arena::find(address(pointer));
    return a && a->origin == Allocation::Origin::pinned;
}

bool pageable(const void* pointer) {
    return !device_side(pointer) && !both_sides(pointer) && !host_memory::registered(address(pointer), 1);
}

constexpr size_t kFewBytes = 4096;

struct Copy {
    void* to;
    const void* from;
    size_t bytes;
    streams::Operation operation = {};
};

// Checks the arguments of memcpy: returns success, or the error, which is also reported.
cudaError_t examine(const Copy& copy, cudaMemcpyKind kind, uintptr_t pc) {
    if (!copy.to || !copy.from) return fail(cudaErrorInvalidValue);
    bool fits = direction_fits(copy.to, copy.from, kind);
    if (fits && writable(copy.to) && stretch_fits(copy.to, copy.bytes) && stretch_fits(copy.from, copy.bytes))
        return cudaSuccess;
    checker::refused_copy(copy.to, copy.bytes, copy.from, copy.bytes, pc);
    return fail(fits ? cudaErrorInvalidValue : cudaErrorInvalidMemcpyDirection);
}

streams::Operation begin_copy(const Copy& copy, cudaStream_t stream, uintptr_t pc) {
    const streams::Operation operation = streams::begin(stream, checker::next_epoch());
    checker::work_begins();
    checker::copy_uses(copy.to, copy.bytes, true, operation, pc);
    checker::copy_uses(copy.from, copy.bytes, false, operation, pc);
    return operation;
}

// Makes a copy of bytes whose range has been examined.
void move(void* to, const void* from, size_t bytes) {
    const bool from_host = !device_side(from) && !both_sides(from), to_host = !device_side(to) && !both_sides(to);
    if (to_host && !from_host) checker::host_read(bytes);
    if (from_host && !to_host) checker::host_wrote(bytes);
    checker::set_by_host(to, from, bytes);
    memmove(to, from, bytes);
}

// The direction in words, by where the pointers point.
const char* direction(const void* to, const void* from) {
    const bool to_device = device_side(to) || both_sides(to), from_device = device_side(from) || both_sides(from);
    return to_device ? from_device ? "device to device" : "host to device" : from_device ? "device to host" : "host to host";
}

void make(const Copy& copy) {
    const trace::Span span("copy", direction(copy.to, copy.from), copy.bytes);
    const bool to_device = arena::contains(address(copy.to)), from_device = arena::contains(address(copy.from));
    if (copy.bytes <= kFewBytes && to_device != from_device) {  // students copy element by element
        const arena::SmallOpening opening(to_device ? copy.to : copy.from, copy.bytes);
        return move(copy.to, copy.from, copy.bytes);
    }
    const arena::Opening opening;
    move(copy.to, copy.from, copy.bytes);
}

// The host waits for a copy that reads or writes its memory, and not for others.
void wait_for_copy(bool host_memory) {
    if (host_memory) wait_for(streams::ends(nullptr));
}

// Forgets, or performs, what the host has waited for.
template <class C, class Visit> void drop_waited(std::vector<C>& copies, Visit visit) {
    size_t kept = 0;
    for (const C& copy : copies) {
        if (streams::waited(copy.operation)) visit(copy);
        else copies[kept++] = copy;
    }
    copies.erase(copies.begin() + std::ptrdiff_t(kept), copies.end());
}

std::vector<Copy>& asked_for() {
    static std::vector<Copy> copies;
    return copies;
}
std::vector<unwaited::Copy>& unwaited_copies() {
    static std::vector<unwaited::Copy>& copies = *new std::vector<unwaited::Copy>;  // may be read at exit
    return copies;
}

cudaError_t free_memory(void* pointer, bool pinned, uintptr_t pc) {
    const DeviceTurn turn;
    if (!pointer) return cudaSuccess;
    if (device_lost()) return cudaPeekAtLastError();
    const trace::Span span("memory", pinned ? "cudaFreeHost" : "cudaFree");
    wait_for_device();
    Allocation* a = arena::find(address(pointer));
    const char* problem = nullptr;
    if (!a) problem = "a pointer that no allocation returned is freed";
    else if (!a->live) problem = "memory is freed twice";
    else if (a->begin != address(pointer)) problem = "a pointer into the middle of an allocation is freed";
    else if (a->origin == Allocation::Origin::attached) problem = "a buffer of the caller is freed";
    else if ((a->origin == Allocation::Origin::pinned) != pinned) problem = "memory is freed by the wrong function";
    if (problem) {
        checker::free_failed(pointer, problem, pc);
        return fail(cudaErrorInvalidValue);
    }
    if (streams::inside()) checker::freed_in_stream(*a, pc);
    checker::released(*a);
    arena::release(a);
    return cudaSuccess;
}

}  // namespace

void grader::finish_copies() {
    const DeviceTurn turn;
    if (asked_for().empty()) return;
    for (const Copy& copy : asked_for()) make(copy);
    asked_for().clear();
}

void grader::wait_for_device() {
    const DeviceTurn turn;
    if (streams::inside()) return wait_for(streams::ends(nullptr));
    finish_copies();
    unwaited_copies().clear();
    streams::host_waits_for_all();
}

void grader::wait_for(const streams::Order& order) {
    const DeviceTurn turn;
    streams::host_waits(order);
    drop_waited(asked_for(), make);
    if (!streams::inside()) drop_waited(unwaited_copies(), [](const unwaited::Copy&) {});
}

const unwaited::Copy* unwaited::find(uintptr_t at, uint64_t bytes, bool write) {
    for (const Copy& copy : unwaited_copies())
        if (at < copy.end && copy.begin < at + bytes && (write || copy.writes) && !streams::waited(copy.operation)) return &copy;
    return nullptr;
}

extern "C" {

cudaError_t grader_malloc(void** pointer, size_t bytes, const char* name) {
    const DeviceTurn turn;
    if (!pointer) return fail(cudaErrorInvalidValue);
    if (device_lost()) return cudaPeekAtLastError();
    *pointer = nullptr;
    if (bytes == 0) return cudaSuccess;
    const trace::Span span("memory", "cudaMalloc", bytes);
    Allocation* a = arena::allocate(bytes, Zone::device, Allocation::Origin::malloc, name);
    if (!a) return fail(cudaErrorMemoryAllocation);
    a->pc = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
    checker::allocated(*a, false);
    *pointer = reinterpret_cast<void*>(a->begin);
    return cudaSuccess;
}

cudaError_t grader_malloc_host(void** pointer, size_t bytes, int managed, const char* name) {
    const DeviceTurn turn;
    if (!pointer) return fail(cudaErrorInvalidValue);
    *pointer = nullptr;
    if (bytes == 0) return cudaSuccess;
    const trace::Span span("memory", managed ? "cudaMallocManaged" : "cudaMallocHost", bytes);
    Allocation* a = arena::allocate(bytes, Zone::open,
                                    managed ? Allocation::Origin::managed : Allocation::Origin::pinned, name);
    if (!a) return fail(cudaErrorMemoryAllocation);
    a->pc = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
    checker::allocated(*a, false);
    *pointer = reinterpret_cast<void*>(a->begin);
    return cudaSuccess;
}

cudaError_t cudaFree(void* pointer) {
    return free_memory(pointer, false, reinterpret_cast<uintptr_t>(__builtin_return_address(0)));
}
cudaError_t cudaFreeHost(void* pointer) {
    return free_memory(pointer, true, reinterpret_cast<uintptr_t>(__builtin_return_address(0)));
}

cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height,
                         cudaMemcpyKind kind) {
    const DeviceTurn turn;
    uintptr_t pc = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
    if (device_lost()) return cudaPeekAtLastError();
    if (width == 0 || height == 0) return cudaSuccess;
    if (width > to_pitch || width > from_pitch) {
        checker::refused_copy(to, width, from, width, pc, "a copy's rows are longer than its pitch");
        return fail(cudaErrorInvalidPitchValue);
    }
    if (!to || !from) return fail(cudaErrorInvalidValue);
    size_t to_span = (height - 1) * to_pitch + width, from_span = (height - 1) * from_pitch + width;
    bool sound = direction_fits(to, from, kind) && writable(to) && stretch_fits(to, to_span) && stretch_fits(from, from_span);
    if (!sound) {
        checker::refused_copy(to, to_span, from, from_span, pc);
        return fail(direction_fits(to, from, kind) ? cudaErrorInvalidValue : cudaErrorInvalidMemcpyDirection);
    }
    finish_copies();
    const streams::Operation operation = streams::begin(nullptr, checker::next_epoch());
    checker::work_begins();
    for (size_t row = 0; row < height; ++row) {
        checker::copy_uses(static_cast<char*>(to) + row * to_pitch, width, true, operation, pc);
        checker::copy_uses(static_cast<const char*>(from) + row * from_pitch, width, false, operation, pc);
    }
    const trace::Span span("copy", direction(to, from), width * height);
    arena::Opening opening;
    for (size_t row = 0; row < height; ++row) {
        move(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch, width);
    }
    wait_for_copy(!device_side(to) || !device_side(from));
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    const DeviceTurn turn;
    uintptr_t pc = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
    if (device_lost()) return cudaPeekAtLastError();
    if (bytes == 0) return cudaSuccess;
    if (const cudaError_t refused = examine({to, from, bytes}, kind, pc)) return refused;
    finish_copies();
    begin_copy({to, from, bytes}, nullptr, pc);
    make({to, from, bytes});
    wait_for_copy(!device_side(to) || !device_side(from));
    return cudaSuccess;
}

cudaError_t grader_memcpy_async(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    const DeviceTurn turn;
    uintptr_t pc = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
    if (device_lost()) return cudaPeekAtLastError();
    if (bytes == 0) return cudaSuccess;
    cudaError_t refused = examine({to, from, bytes}, kind, pc);
    if (refused) return refused;
    const streams::Operation operation = begin_copy({to, from, bytes}, stream, pc);
    asked_for().push_back({to, from, bytes, operation});
    if (!pinned(to) && !pinned(from)) finish_copies();  // in the order of the calls
    // A copy to or from pageable memory has ended when the call returns.
    else if (!(pinned(to) ? pageable(from) : pageable(to))) {
        if (pinned(to)) unwaited_copies().push_back({address(to), address(to) + bytes, true, pc, operation});
        if (pinned(from)) unwaited_copies().push_back({address(from), address(from) + bytes, false, pc, operation});
    }
    if (pageable(to)) wait_for(streams::ends(stream));
    return cudaSuccess;
}

cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height) {
    const DeviceTurn turn;
    uintptr_t pc = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
    if (device_lost()) return cudaPeekAtLastError();
    if (width == 0 || height == 0) return cudaSuccess;
    size_t span = (height - 1) * pitch + width;
    if (!(device_side(pointer) || both_sides(pointer)) || !writable(pointer) || !stretch_fits(pointer, span)) {
        checker::refused_copy(pointer, span, nullptr, 0, pc);
        return fail(cudaErrorInvalidValue);
    }
    finish_copies();
    const streams::Operation operation = streams::begin(nullptr, checker::next_epoch());
    checker::work_begins();
    for (size_t row = 0; row < height; ++row)
        checker::copy_uses(static_cast<char*>(pointer) + row * pitch, width, true, operation, pc);
    const trace::Span traced("copy", "cudaMemset", width * height);
    arena::Opening opening;
    for (size_t row = 0; row < height; ++row) {
        memset(static_cast<char*>(pointer) + row * pitch, value, width);
        checker::set_by_host(static_cast<char*>(pointer) + row * pitch, nullptr, width);
    }
    wait_for_copy(both_sides(pointer));
    return cudaSuccess;
}
cudaError_t cudaMemset(void* pointer, int value, size_t bytes) { return cudaMemset2D(pointer, bytes, value, bytes, bytes ? 1 : 0); }

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
    *total_bytes = arena::device_bytes_total();
    *free_bytes = *total_bytes - arena::device_bytes_in_use();
    return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
    const Allocation* a = arena::find(address(pointer));
    *attributes = {cudaMemoryTypeUnregistered, 0, nullptr, const_cast<void*>(pointer)};
    if (host_memory::registered(address(pointer), 1)) {
        attributes->type = cudaMemoryTypeHost;
        attributes->devicePointer = const_cast<void*>(pointer);
    }
    if (const variables::Variable* v = variables::at(address(pointer)); v && (v->managed || v->given_out)) {
        attributes->type = v->managed ? cudaMemoryTypeManaged : cudaMemoryTypeDevice;
        attributes->devicePointer = const_cast<void*>(pointer);
        if (!v->managed) attributes->hostPointer = nullptr;
    }
    if (!a || !a->live) return cudaSuccess;
    attributes->devicePointer = const_cast<void*>(pointer);
    if (a->origin == Allocation::Origin::managed) attributes->type = cudaMemoryTypeManaged;
    else if (a->origin == Allocation::Origin::pinned) attributes->type = cudaMemoryTypeHost;
    else {
        attributes->type = cudaMemoryTypeDevice;
        attributes->hostPointer = nullptr;
    }
    return cudaSuccess;
}

cudaError_t grader_copy_symbol(void* symbol, size_t symbol_bytes, const void* from, void* to, size_t bytes, size_t offset,
                               cudaMemcpyKind) {
    const DeviceTurn turn;
    uintptr_t pc = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
    if (device_lost()) return cudaPeekAtLastError();
    char* place = static_cast<char*>(symbol) + offset;
    const void* other = from ? from : to;
    bool inside = offset <= symbol_bytes && bytes <= symbol_bytes - offset;
    if (!inside || !stretch_fits(other, bytes)) {
        if (from) checker::refused_copy(place, bytes, from, bytes, pc);
        else checker::refused_copy(to, bytes, place, bytes, pc);
        return fail(cudaErrorInvalidValue);
    }
    finish_copies();
    if (from) begin_copy({place, from, bytes}, nullptr, pc);
    else begin_copy({to, place, bytes}, nullptr, pc);
    arena::Opening opening;
    const bool by_host = !device_side(other) && !both_sides(other);
    if (from) {
        if (by_host) checker::host_wrote(bytes);
        memmove(place, from, bytes);
        checker::set_by_host(place, from, bytes);
    } else {
        if (by_host) checker::host_read(bytes);
        memmove(to, place, bytes);
        checker::set_by_host(to, place, bytes);
    }
    wait_for_copy(!device_side(other));
    return cudaSuccess;
}
}

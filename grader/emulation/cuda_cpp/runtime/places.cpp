#include "places.h"

#if GRADER_CHECKED

#include <link.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "arena.h"
#include "checker_state.h"
#include "host_memory.h"

extern "C" const char __ehdr_start __attribute__((visibility("hidden")));
extern "C" void* __tls_get_addr(size_t* module_and_offset);

namespace grader::places {

namespace {

struct SharedVariable {
    const char* name;
    size_t offset, bytes, element_bytes;
};

// Created on first use and never destroyed, because it is read at program exit.
std::vector<SharedVariable>& shared_variables() {
    static std::vector<SharedVariable>& all = *new std::vector<SharedVariable>;  // of the running launch
    return all;
}

// The shared memory of each worker that has run a checked block.
struct Arena {
    uintptr_t base;
    ShadowCell* shadow;
};
std::vector<Arena>& arenas() {
    static std::vector<Arena>& all = *new std::vector<Arena>;
    return all;
}

void mark_valid(ShadowCell* shadow, const SharedVariable& v) {
    for (size_t i = v.offset; i < v.offset + v.bytes; ++i)
        shadow[cell_index(i / 4)].detail |= uint64_t(1) << (detail::kValid + i % 4);
}

uintptr_t tls_begin, tls_end;
uintptr_t image_end, data_begin;

int look_at_object(dl_phdr_info* info, size_t, void*) {
    uintptr_t start = reinterpret_cast<uintptr_t>(&__ehdr_start);
    bool own = false;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& p = info->dlpi_phdr[i];
        if (p.p_type == PT_LOAD && info->dlpi_addr + p.p_vaddr <= start && start < info->dlpi_addr + p.p_vaddr + p.p_memsz) own = true;
    }
    if (!own) return 0;
    uintptr_t relro_end = 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& p = info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + p.p_vaddr, end = begin + p.p_memsz;
        if (p.p_type == PT_LOAD) image_end = std::max(image_end, end);
        if (p.p_type == PT_LOAD && (p.p_flags & PF_W)) data_begin = begin;
        if (p.p_type == PT_GNU_RELRO) relro_end = end;
        if (p.p_type == PT_TLS) tls_end = p.p_memsz;
    }
    // Tables of pointers are constant once the loader is done.
    data_begin = std::max(data_begin, relro_end);
    if (tls_end) {
        // In a library that was loaded late, dlpi_tls_data is null until the first access.
        size_t start_of_block[2] = {info->dlpi_tls_modid, 0};
        tls_begin = reinterpret_cast<uintptr_t>(__tls_get_addr(start_of_block));
        tls_end += tls_begin;
    }
    return 1;
}

// Names the shared variable at an address, or the one that the address has overrun.
const SharedVariable* shared_variable(uintptr_t address) {
    size_t offset = address - state.shared_base;
    const SharedVariable* best = nullptr;
    size_t best_distance = ~size_t(0);
    for (const SharedVariable& v : shared_variables()) {
        size_t distance = offset < v.offset ? v.offset - offset : offset >= v.offset + v.bytes ? offset - v.offset - v.bytes + 1 : 0;
        if (distance < best_distance) best = &v, best_distance = distance;
    }
    return best;
}

}  // namespace

size_t shadow_bytes(size_t bytes) { return (cell_index((bytes + 3) / 4) + 1) * sizeof(ShadowCell); }

ShadowCell* new_shadow(size_t bytes) {
    size_t size = shadow_bytes(bytes);
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    madvise(memory, size, MADV_HUGEPAGE);  // fewer page faults; may fail
    return static_cast<ShadowCell*>(memory);
}

void find_program() {
    state.image = reinterpret_cast<uintptr_t>(&__ehdr_start);
    dl_iterate_phdr(look_at_object, nullptr);
}

void use_shared(const char* memory) {
    const uintptr_t base = reinterpret_cast<uintptr_t>(memory);
    if (base == state.shared_base) return;
    state.shared_base = base;
    for (const Arena& a : arenas()) {
        if (a.base != base) continue;
        state.shared_shadow = a.shadow;
        return;
    }
    state.shared_shadow = new_shadow(kSharedArena);
    arenas().push_back({base, state.shared_shadow});
    for (const SharedVariable& v : shared_variables()) mark_valid(state.shared_shadow, v);
}

void forget_shared() {
    for (const Arena& a : arenas())
        for (const SharedVariable& v : shared_variables())
            for (size_t i = 0; i < (v.bytes + 3) / 4; ++i) a.shadow[cell_index(v.offset / 4 + i)].detail = 0;
    shared_variables().clear();
}

void add_shared(const char* name, size_t offset, size_t bytes, size_t element_bytes) {
    shared_variables().push_back({name, offset, bytes, element_bytes});
    for (const Arena& a : arenas()) mark_valid(a.shadow, shared_variables().back());
}

bool in_program(uintptr_t address) { return address >= state.image && address < image_end; }
bool in_constants(uintptr_t address) { return in_program(address) && address < data_begin; }
bool in_thread_storage(uintptr_t address) { return address - tls_begin < tls_end - tls_begin; }

bool is_mapped(uintptr_t address) {
    unsigned char present;
    uintptr_t page = address & ~uintptr_t(4095);
    return mincore(reinterpret_cast<void*>(page), 1, &present) == 0;
}

void name_variable(Finding& f, const variables::Variable& v) {
    snprintf(f.buffer, sizeof f.buffer, "%s", v.name);
    f.buffer_bytes = v.end - v.begin;
    f.offset = int64_t(f.address - v.begin);
    f.element_bytes = uint32_t(v.element_bytes);
}

void name_shared(Finding& f) {
    f.space = "shared";
    const SharedVariable* v = shared_variable(f.address);
    if (!v) return;
    snprintf(f.buffer, sizeof f.buffer, "%s", v->name);
    f.buffer_bytes = v->bytes;
    f.element_bytes = uint32_t(v->element_bytes);
    f.offset = int64_t(f.address - state.shared_base) - int64_t(v->offset);
}

void name(Finding& f) {
    if (const Allocation* a = arena::find(f.address)) {
        f.space = "global";
        findings::name_buffer(f, *a);
    } else if (f.address - state.shared_base < kSharedArena) {
        name_shared(f);
    } else if (const variables::Variable* v = variables::near(f.address)) {
        f.space = "global";
        name_variable(f, *v);
    } else if (const host_memory::Array* array = host_memory::find(f.address)) {
        f.space = "host";
        snprintf(f.buffer, sizeof f.buffer, "%s", array->name);
        f.buffer_bytes = array->bytes();
        f.offset = int64_t(f.address - array->begin);
    }
}

}  // namespace grader::places

#endif

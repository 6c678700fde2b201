#include "async_copies.h"

#include <cstring>
#include <vector>

#include "checker.h"
#include "worker.h"

namespace grader {

struct AsyncCopies {
    struct Copy {
        void* to;
        const void* from;
        size_t bytes, zeros;
        uint64_t group;
        uintptr_t pc;
    };
    struct Owner {
        uint32_t launch = 0;
        uint64_t block = 0, committed = 0;
        std::vector<Copy> copies;
    };
    Owner owners[kMaxThreads];
};

namespace async_copies {

namespace {

AsyncCopies::Owner& mine() {
    if (!worker->copies) worker->copies = new AsyncCopies;
    AsyncCopies::Owner& owner = worker->copies->owners[worker->running().index];
    if (owner.launch != grader_launch_number || owner.block != block_number()) {
        owner.launch = grader_launch_number;
        owner.block = block_number();
        owner.committed = 0;
        owner.copies.clear();
    }
    return owner;
}

void perform(const AsyncCopies::Copy& c) {
    checker::copied(c.to, c.bytes + c.zeros, c.from, c.bytes, c.pc);
    memmove(c.to, c.from, c.bytes);
    memset(static_cast<char*>(c.to) + c.bytes, 0, c.zeros);
}

void finish_up_to(uint64_t group) {
    if (!worker->copies) return;
    AsyncCopies::Owner& owner = mine();
    size_t done = 0;
    while (done < owner.copies.size() && owner.copies[done].group < group) perform(owner.copies[done++]);
    owner.copies.erase(owner.copies.begin(), owner.copies.begin() + static_cast<long>(done));
}

}  // namespace

void finish_all() { finish_up_to(~uint64_t(0)); }

bool any_into(uintptr_t address) {
    if (!worker->copies) return false;
    const uint64_t block = block_number();
    for (const AsyncCopies::Owner& owner : worker->copies->owners) {
        if (owner.launch != grader_launch_number || owner.block != block) continue;
        for (const AsyncCopies::Copy& c : owner.copies)
            if (address - reinterpret_cast<uintptr_t>(c.to) < c.bytes + c.zeros) return true;
    }
    return false;
}

void finish_before(unsigned groups) {
    if (!worker->copies) return;
    const uint64_t committed = mine().committed;
    finish_up_to(committed > groups ? committed - groups : 0);
}

}  // namespace async_copies
}  // namespace grader

using namespace grader;

extern "C" {

void grader_copy_async(void* to, const void* from, size_t bytes, size_t zeros) {
    if (!in_kernel()) {
        memcpy(to, from, bytes);
        memset(static_cast<char*>(to) + bytes, 0, zeros);
        return;
    }
    AsyncCopies::Owner& owner = async_copies::mine();
    owner.copies.push_back({to, from, bytes, zeros, owner.committed, reinterpret_cast<uintptr_t>(__builtin_return_address(0))});
}
void grader_copies_commit() {
    if (in_kernel()) ++async_copies::mine().committed;
}
// Waits for all groups but the last `groups`.
void grader_copies_wait(unsigned groups) {
    if (in_kernel()) async_copies::finish_before(groups);
}
void grader_copies_wait_all() {
    if (in_kernel()) async_copies::finish_all();
}
}

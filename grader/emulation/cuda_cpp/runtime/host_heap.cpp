#include "host_heap.h"

#if GRADER_CHECKED

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>

namespace grader::host_heap {

namespace {

constexpr size_t kLeastRoom = 32, kMostRoom = 4096;  // a row of a small matrix, and more

std::mutex lock;
// By address. Created on first use and never destroyed: programs free memory at their exit.
std::map<uintptr_t, Block>& blocks() {
    static std::map<uintptr_t, Block>& all = *new std::map<uintptr_t, Block>;
    return all;
}

size_t room_behind(size_t bytes) { return std::clamp(bytes, kLeastRoom, kMostRoom) + sizeof kPattern; }

void* add(void* memory, size_t bytes, bool may_be_text) {
    if (!memory) return nullptr;
    const uintptr_t begin = reinterpret_cast<uintptr_t>(memory), end = begin + bytes;
    const size_t room = room_behind(bytes);
    for (uintptr_t at = end; at < end + room; ++at)
        *reinterpret_cast<char*>(at) = reinterpret_cast<const char*>(&kPattern)[at % sizeof kPattern];
    std::lock_guard<std::mutex> guard(lock);
    // Blocks that a library has freed.
    auto old = blocks().upper_bound(begin);
    if (old != blocks().begin() && std::prev(old)->second.end + std::prev(old)->second.room > begin) --old;
    while (old != blocks().end() && old->first < end + room) old = blocks().erase(old);
    blocks()[begin] = {begin, end, room, may_be_text};
    return memory;
}

void forget(void* pointer) {
    std::lock_guard<std::mutex> guard(lock);
    blocks().erase(reinterpret_cast<uintptr_t>(pointer));
}

}  // namespace

void* allocate(size_t bytes, bool zeroed, bool may_be_text) {
    const size_t room = room_behind(bytes);
    if (bytes > SIZE_MAX - room) return nullptr;
    return add(zeroed ? calloc(bytes + room, 1) : malloc(bytes + room), bytes, may_be_text);
}

void* reallocate(void* pointer, size_t bytes) {
    const size_t room = room_behind(bytes);
    if (bytes > SIZE_MAX - room) return nullptr;
    void* moved = realloc(pointer, bytes + room);
    if (moved && pointer) forget(pointer);
    return add(moved, bytes, false);
}

void release(void* pointer) {
    forget(pointer);
    free(pointer);
}

Block find(uintptr_t address) {
    std::lock_guard<std::mutex> guard(lock);
    auto next = blocks().upper_bound(address);
    if (next == blocks().begin()) return {};
    const Block& block = std::prev(next)->second;
    return address < block.end + block.room ? block : Block{};
}

size_t bytes_inside(const void* at, size_t bytes) {
    const uintptr_t begin = reinterpret_cast<uintptr_t>(at);
    const Block block = find(begin);
    if (!block.begin || begin > block.end || bytes <= block.end - begin) return bytes;
    for (uintptr_t byte = block.end, last = std::min(begin + bytes, block.end + block.room); byte < last; ++byte)
        if (!has_pattern(byte, 1)) return bytes;
    return block.end - begin;
}

}  // namespace grader::host_heap

#endif

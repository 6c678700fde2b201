#include "stream_races.h"

#if GRADER_CHECKED

#include <algorithm>
#include <vector>

#include "checker.h"
#include "checker_state.h"
#include "findings.h"
#include "places.h"
#include "streams.h"
#include "variables.h"

namespace grader {

namespace {

struct StreamCopy {
    uintptr_t begin, end;
    bool write;
    uintptr_t pc;
    streams::Operation operation;
    uint32_t epoch;
    const char* message = stream_races::kMessage;
};
constexpr size_t kMostKept = 256;  // more are put into the shadow at once

std::vector<StreamCopy>& kept_copies() {
    static std::vector<StreamCopy>& all = *new std::vector<StreamCopy>;
    return all;
}

uint32_t last_fence = 0, fence_before = 0;  // epochs: the latest, and that of earlier launches

// The cells of memory that a kernel can access.
struct Cells {
    ShadowCell* first = nullptr;
    uintptr_t begin = 0, end = 0;
    ShadowCell& of(uintptr_t word) const { return first[cell_index((word - begin) / 4)]; }
};
Cells cells_at(uintptr_t address) {
    if (const Allocation* a = arena::find(address)) return a->live ? Cells{a->shadow, a->begin, a->end} : Cells{};
    const variables::Variable* v = variables::at(address);
    return v ? Cells{v->shadow, v->begin, v->end} : Cells{};
}

// Calls visit(cell, mask of bytes, word) for each word of the copy.
template <class Visit> void for_words(const StreamCopy& copy, Visit visit) {
    const Cells cells = cells_at(copy.begin);
    if (!cells.first || copy.begin < cells.begin) return;
    const uintptr_t end = std::min(copy.end, cells.end);
    for (uintptr_t word = copy.begin - (copy.begin - cells.begin) % 4; word < end; word += 4) {
        const unsigned skipped = word < copy.begin ? unsigned(copy.begin - word) : 0;
        const unsigned until = end - word < 4 ? unsigned(end - word) : 4;
        if (!visit(cells.of(word), ((1u << until) - 1) & ~((1u << skipped) - 1), word)) return;
    }
}

void put_into_shadow(const StreamCopy& copy) {
    using namespace detail;
    const uint64_t me = stamp::make(copy.epoch, 0, 0, 0);
    const uint64_t pc = encode_pc(copy.pc - state.image);
    for_words(copy, [&](ShadowCell& cell, unsigned mask, uintptr_t) {
        uint64_t& d = cell.detail;
        if (copy.write) {
            cell.write = me;
            d = (d & ~(kPcMask << kWritePc | uint64_t(15) << kWriteMask)) | uint64_t(mask) << kWriteMask | pc << kWritePc;
        } else {
            cell.other_read = cell.read;
            d = (d & ~(kPcMask << kOtherPc)) | (d >> kReadPc & kPcMask) << kOtherPc;
            cell.read = me;
            d = (d & ~(kPcMask << kReadPc | uint64_t(15) << kReadMask)) | uint64_t(mask) << kReadMask | pc << kReadPc;
        }
        return true;
    });
}

void report_race(const StreamCopy& copy, uintptr_t address, uintptr_t other_pc, bool other_write) {
    Finding f;
    f.kind = Kind::race;
    f.message = copy.message;
    f.pc = copy.pc;
    f.other_pc = other_pc;
    f.write = copy.write;
    f.other_write = other_write;
    f.address = address;
    f.access_bytes = 4;
    places::name(f);
    findings::add(f);
}

// Reports the first access of a kernel that nothing orders before the copy.
void check_against_kernels(const StreamCopy& copy, uint32_t first) {
    for_words(copy, [&](const ShadowCell& cell, unsigned mask, uintptr_t word) {
        const auto races = [&](uint64_t stamp, unsigned other_mask) {
            return stamp::epoch(stamp) >= first && other_mask & mask && !streams::before_latest(streams::at(stamp::epoch(stamp)).operation);
        };
        const uint64_t d = cell.detail;
        const auto found = [&](unsigned pc, bool write) {
            const uintptr_t at = detail::decode_pc(d >> pc & detail::kPcMask);
            report_race(copy, word, at ? state.image + at : 0, write);
            return false;
        };
        if (races(cell.write, detail::nibble(d, detail::kWriteMask))) return found(detail::kWritePc, true);
        if (!copy.write) return true;
        if (races(cell.read, detail::nibble(d, detail::kReadMask))) return found(detail::kReadPc, false);
        if (races(cell.other_read, detail::nibble(d, detail::kReadMask))) return found(detail::kOtherPc, false);
        return true;
    });
}

// Reports what of another stream may run at the same time.
void check_against_all(const StreamCopy& copy) {
    const uint32_t first = streams::first_unordered(UINT32_MAX);
    if (first == UINT32_MAX) return;
    check_against_kernels(copy, first);
    for (const StreamCopy& other : kept_copies()) {
        const bool both = other.begin < copy.end && copy.begin < other.end && (copy.write || other.write);
        if (!both || streams::waited(other.operation) || streams::before_latest(other.operation)) continue;
        report_race(copy, std::max(copy.begin, other.begin), other.pc, other.write);
        break;
    }
}

bool nothing_to_check() {
    return !settings.check || settings.schedule == Schedule::interleaved || !streams::several() || device_lost();
}

}  // namespace

namespace stream_races {

const char* const kMessage = "work of two streams accesses one location, and nothing orders the streams";

bool unordered(uint32_t epoch) {
    // A kernel reads much that one other has written.
    static streams::Found found;
    static uint32_t asked_in = 0;
    static bool before = false;
    if (asked_in != state.launch_first || epoch < found.first || epoch >= found.end) {
        asked_in = state.launch_first;
        found = streams::at(epoch);
        before = streams::before_latest(found.operation);
    }
    if (before) return false;
    return !(state.fenced && fence_before >= streams::first_unwaited());
}

void fenced() { last_fence = state.epoch; }

void launch_begins() {
    fence_before = last_fence;
    std::vector<StreamCopy>& copies = kept_copies();
    size_t left = 0;
    for (const StreamCopy& copy : copies) {
        if (streams::waited(copy.operation)) continue;
        if (streams::before_latest(copy.operation)) copies[left++] = copy;
        else put_into_shadow(copy);
    }
    copies.resize(left);
}

}  // namespace stream_races

void checker::copy_uses(const void* at, size_t bytes, bool write, const streams::Operation& operation, uintptr_t pc) {
    if (nothing_to_check()) return;
    const uintptr_t begin = reinterpret_cast<uintptr_t>(at);
    const StreamCopy copy = {begin, begin + bytes, write, pc, operation, state.epoch};
    if (!cells_at(begin).first) return;
    check_against_all(copy);
    if (kept_copies().size() < kMostKept) kept_copies().push_back(copy);
    else put_into_shadow(copy);
}

void checker::freed_in_stream(const Allocation& a, uintptr_t pc) {
    if (nothing_to_check()) return;
    const streams::Operation operation = streams::begin(nullptr, state.epoch + 1);
    work_begins();
    check_against_all({a.begin, a.end, true, pc, operation, state.epoch,
                       "memory is freed in one stream while another stream may still use it"});
}

}  // namespace grader

#endif

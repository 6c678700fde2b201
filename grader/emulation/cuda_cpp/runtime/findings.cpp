#include "findings.h"

#if GRADER_CHECKED

#include <cstring>

#include "report.h"
#include "worker.h"

namespace grader::findings {

namespace {

constexpr unsigned kMaxFindings = 512;
Finding table[kMaxFindings];
unsigned used = 0;
uint64_t dropped = 0;  // distinct findings beyond the table
const Finding* latest = nullptr;

bool same(const Finding& a, const Finding& b) {
    return a.pc == b.pc && a.other_pc == b.other_pc && a.kind == b.kind && a.warning == b.warning &&
           a.line == b.line && a.file == b.file && a.message == b.message && strcmp(a.buffer, b.buffer) == 0;
}

const char* word(Kind kind) {
    static const char* const words[] = {"out_of_bounds", "misaligned", "race", "uninitialized",
                                        "barrier", "leak", "invalid_copy"};
    return words[static_cast<unsigned>(kind)];
}

void write_one(const Finding& f) {
    ReportLine line("finding");
    line.text("kind", word(f.kind)).text("severity", f.warning ? "warning" : "error").text("message", f.message);
    if (*f.space) line.text("space", f.space);
    if (f.pc) line.number("pc", program_offset(f.pc - 1));
    if (f.file) line.text("file", f.file).number("line", f.line).number("column", f.column);
    if (f.other_pc) line.number("other_pc", program_offset(f.other_pc - 1));
    if (f.kind == Kind::race) line.truth("other_write", f.other_write);
    if (f.access_bytes) line.number("access_bytes", f.access_bytes).truth("write", f.write);
    if (f.address) line.number("address", f.address);
    if (*f.buffer) line.text("buffer", f.buffer);
    if (f.buffer_bytes) line.number("buffer_bytes", f.buffer_bytes).signed_number("offset", f.offset);
    if (f.element_bytes) line.number("element_bytes", f.element_bytes);
    if (f.kernel) {
        if (f.launch_pc) line.number("launch_pc", program_offset(f.launch_pc - 1));
        line.text("kernel", f.kernel).triple("block", f.block[0], f.block[1], f.block[2]);
        line.triple("thread", f.thread[0], f.thread[1], f.thread[2]);
        line.triple("block_size", f.block_size[0], f.block_size[1], f.block_size[2]);
    }
    if (f.kernel && f.other_thread != ~0u) {
        unsigned n = f.other_thread, x = f.block_size[0], y = f.block_size[1];
        line.triple("other_thread", n % x, n / x % y, n / x / y);
    }
    if (f.arrived) line.number("arrived", f.arrived);
    line.number("count", f.count);
    line.write();
}

}  // namespace

void name_buffer(Finding& finding, const Allocation& a) {
    memcpy(finding.buffer, a.name, sizeof finding.buffer);
    finding.buffer_bytes = a.bytes();
    finding.offset = static_cast<int64_t>(finding.address - a.begin);
}

void locate(Finding& f) {
    if (!in_kernel()) return;
    f.kernel = launch_state.name;
    f.launch_pc = launch_state.pc;
    const uint3 block = blockIdx, thread = threadIdx;
    f.block[0] = block.x, f.block[1] = block.y, f.block[2] = block.z;
    f.thread[0] = thread.x, f.thread[1] = thread.y, f.thread[2] = thread.z;
    const dim3 size = launch_state.block;
    f.block_size[0] = size.x, f.block_size[1] = size.y, f.block_size[2] = size.z;
}

void add(const Finding& finding) {
    if (latest && same(*latest, finding)) {
        ++const_cast<Finding*>(latest)->count;
        return;
    }
    for (unsigned i = 0; i < used; ++i) {
        if (!same(table[i], finding)) continue;
        ++table[i].count;
        latest = &table[i];
        return;
    }
    if (used == kMaxFindings) {
        ++dropped;
        return;
    }
    Finding& f = table[used++];
    f = finding;
    f.count = 1;
    if (!f.kernel) locate(f);
    latest = &f;
}

void write() {
    for (unsigned i = 0; i < used; ++i) write_one(table[i]);
    if (dropped) ReportLine("dropped").number("findings", dropped).write();
    used = 0;
    dropped = 0;
    latest = nullptr;
}

}  // namespace grader::findings

#endif

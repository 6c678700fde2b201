#include "report.h"

#include <cerrno>

#include "raw_system.h"

extern "C" const char __ehdr_start __attribute__((weak, visibility("hidden")));

namespace grader {

namespace {
int report_fd = -1;
}

namespace report {
void open(int fd) { report_fd = fd; }
bool is_open() { return report_fd >= 0; }
}  // namespace report

// The linker puts __ehdr_start at the image's first byte, the origin of addr2line's offsets.
uint64_t program_offset(uintptr_t pc) { return pc - reinterpret_cast<uintptr_t>(&__ehdr_start); }

ReportLine::ReportLine(const char* record) {
    put("{\"record\":\"");
    put(record);
    put("\"");
}

// Reserves space for the end of the string, the object and the line.
void ReportLine::put(char c) {
    if (length_ < sizeof buffer_ - 8) buffer_[length_++] = c;
}

void ReportLine::put(const char* plain) {
    while (*plain) put(*plain++);
}

void ReportLine::put_number(uint64_t value) {
    char digits[20];
    int n = 0;
    do digits[n++] = char('0' + value % 10);
    while (value /= 10);
    while (n) put(digits[--n]);
}

void ReportLine::key(const char* name) {
    put(",\"");
    put(name);
    put("\":");
}

ReportLine& ReportLine::text(const char* name, const char* value) {
    key(name);
    put("\"");
    static const char hex[] = "0123456789abcdef";
    for (const char* p = value; *p; ++p) {
        unsigned char c = static_cast<unsigned char>(*p);
        if (c == '"' || c == '\\') {
            put('\\');
            put(char(c));
        } else if (c < 0x20 || c >= 0x7f) {
            // Write bytes beyond ASCII as Latin-1; names are ASCII in practice.
            put("\\u00");
            put(hex[c >> 4]);
            put(hex[c & 15]);
        } else {
            put(char(c));
        }
        if (length_ >= sizeof buffer_ - 16) break;
    }
    buffer_[length_++] = '"';
    return *this;
}

ReportLine& ReportLine::number(const char* name, uint64_t value) {
    key(name);
    put_number(value);
    return *this;
}

ReportLine& ReportLine::signed_number(const char* name, int64_t value) {
    key(name);
    if (value < 0) put('-');
    put_number(value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value));
    return *this;
}

ReportLine& ReportLine::truth(const char* name, bool value) {
    key(name);
    put(value ? "true" : "false");
    return *this;
}

ReportLine& ReportLine::triple(const char* name, unsigned x, unsigned y, unsigned z) {
    key(name);
    put("[");
    put_number(x);
    put(",");
    put_number(y);
    put(",");
    put_number(z);
    put("]");
    return *this;
}

void ReportLine::write() {
    if (report_fd < 0) return;
    buffer_[length_++] = '}';
    buffer_[length_++] = '\n';
    const char* p = buffer_;
    size_t left = length_;
    while (left > 0) {
        const long n = raw::write(report_fd, p, left);
        if (n == -EINTR) continue;
        if (n <= 0) return;
        p += n;
        left -= static_cast<size_t>(n);
    }
}

}  // namespace grader
